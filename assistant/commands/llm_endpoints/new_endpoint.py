"""The user's description of a new endpoint, which may leave out what its server can be asked for. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from assistant.config.endpoint_settings import EndpointSection, endpoint_keys, endpoint_of, problem_with_key
from assistant.config.errors import ConfigError
from assistant.config.keys import Value
from assistant.config.words import unknown
from assistant.registry.protocols import PROTOCOLS, default_kind, protocol_of
from llm.listing import Listing
from llm.protocols.protocol import ListRequest

_FLAGS = ("name", "kind", "url", "model", "api_key_env")
"""Keys with their own flag or argument."""

_NOTHING: Mapping[str, Value] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class NewEndpoint:
    """The user's description of an endpoint; None for what the server is asked.

    Attributes:
        api_key_env: "" for no key.
        kind: Kind of its service. If services of that kind list no models, the user must give everything.
        more: Further keys of its table.
    """

    name: str | None = None
    url: str | None = None
    model: str | None = None
    api_key_env: str = ""
    kind: str = field(default_factory=default_kind)
    more: Mapping[str, Value] = field(default_factory=lambda: _NOTHING)

    @property
    def lists_models(self) -> bool:
        """Whether services of its kind list their models."""
        return protocol_of(self.kind).list_models is not None

    async def list_models(self, request: ListRequest) -> Listing:
        """Returns the models of a service of its kind, which lists them. Raises LlmError, ValueError."""
        listed = protocol_of(self.kind).list_models
        assert listed is not None
        return await listed(request)

    def section(self) -> EndpointSection:
        """Returns the endpoint, with placeholders for what a server can supply. Raises ValueError if it is invalid."""
        asked = self.lists_models
        values: dict[str, object] = {
            "name": ("new" if asked else "") if self.name is None else self.name,
            "kind": self.kind,
            "url": ("http://127.0.0.1/v1" if asked else "") if self.url is None else self.url,
            "model": ("any" if asked else "") if self.model is None else self.model,
            "api_key_env": self.api_key_env,
            **self.more,
        }
        return endpoint_of(values)


def parse_kind(text: str | None) -> str:
    """Parses the kind given by a flag. Raises ConfigError."""
    if text is None:
        return default_kind()
    if text not in PROTOCOLS.names:
        raise ConfigError([f'--kind "{text}": must be one of {", ".join(PROTOCOLS.names)}'])
    if PROTOCOLS.get(text) is None:
        raise ConfigError([f'--kind "{text}": {PROTOCOLS.problem_of(text)}'])
    return text


def parse_settings(pairs: Sequence[str], kind: str) -> Mapping[str, Value]:
    """Parses the --set flags, each "key=value". Raises ConfigError for an unknown key or an invalid value."""
    values: dict[str, Value] = {}
    keys = endpoint_keys(kind)
    known = [name for name in keys if name not in _FLAGS]
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals:
            raise ConfigError(["--set: must be key=value, as in --set template=llama3"])
        if name not in known:
            raise ConfigError([f"--set {name}: {problem_with_key(kind, name) or unknown(name, known, listed=True)}"])
        try:
            values[name] = keys[name].read(text)
        except ValueError as error:
            raise ConfigError([f"--set {name}: {error}"]) from error
    return values
