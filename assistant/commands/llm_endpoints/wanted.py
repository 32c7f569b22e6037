"""The user's description of a new endpoint, which may leave out what its server can be asked for. Pure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from assistant.config.endpoint_settings import KINDS, EndpointKind, EndpointSection
from assistant.config.errors import ConfigError
from assistant.config.keys import Value
from assistant.config.sources import ENDPOINT_KEYS
from assistant.config.words import unknown

_FLAGS = ("name", "kind", "url", "model", "api_key_env")
"""Keys with their own flag or argument."""

_NOTHING: Mapping[str, Value] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class NewEndpoint:
    """The user's description of an endpoint; None for what the server is asked.

    Attributes:
        api_key_env: "" for no key.
        kind: Kind of its service. Only openai lists its models; for others the user must give everything.
        more: Further keys of its table.
    """

    name: str | None = None
    url: str | None = None
    model: str | None = None
    api_key_env: str = ""
    kind: EndpointKind = "openai"
    more: Mapping[str, Value] = field(default_factory=lambda: _NOTHING)

    def section(self) -> EndpointSection:
        """Returns the endpoint, with placeholders for what a server can supply. Raises ValueError if it is invalid."""
        asked = self.kind == "openai"
        make: Callable[..., EndpointSection] = EndpointSection
        return make(
            name=("new" if asked else "") if self.name is None else self.name,
            kind=self.kind,
            url=("http://127.0.0.1/v1" if asked else "") if self.url is None else self.url,
            model=("any" if asked else "") if self.model is None else self.model,
            api_key_env=self.api_key_env,
            **self.more,
        )


def parse_kind(text: str) -> EndpointKind:
    """Parses the kind given by a flag. Raises ConfigError."""
    for kind in KINDS:
        if kind == text:
            return kind
    raise ConfigError([f'--kind "{text}": must be one of {", ".join(KINDS)}'])


def parse_settings(pairs: Sequence[str]) -> Mapping[str, Value]:
    """Parses the --set flags, each "key=value". Raises ConfigError for an unknown key or an invalid value."""
    values: dict[str, Value] = {}
    known = [name for name in ENDPOINT_KEYS if name not in _FLAGS]
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals:
            raise ConfigError(["--set: must be key=value, as in --set template=llama3"])
        if name not in known:
            raise ConfigError([f"--set {name}: {unknown(name, known, listed=True)}"])
        try:
            values[name] = ENDPOINT_KEYS[name].read(text)
        except ValueError as error:
            raise ConfigError([f"--set {name}: {error}"]) from error
    return values
