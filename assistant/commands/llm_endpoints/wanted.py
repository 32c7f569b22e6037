"""What a person says of an endpoint to be added: some of it, where its server can be asked for the rest. Pure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from assistant.config.endpoint_settings import KINDS, EndpointKind, EndpointSection
from assistant.config.keys import Value
from assistant.config.loading import ConfigError
from assistant.config.sources import ENDPOINT_KEYS
from assistant.config.words import unknown

_FLAGS = ("name", "kind", "url", "model", "api_key_env")
"""Keys that have a flag or argument of their own."""

_NOTHING: Mapping[str, Value] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class NewEndpoint:
    """What the person said of the endpoint; None is for the servers to say.

    Attributes:
        api_key_env: "" for no key.
        kind: Of its service. Only openai lists its models; of another the person says all there is to say.
        more: Further keys of its table.
    """

    name: str | None = None
    url: str | None = None
    model: str | None = None
    api_key_env: str = ""
    kind: EndpointKind = "openai"
    more: Mapping[str, Value] = field(default_factory=lambda: _NOTHING)

    def section(self) -> EndpointSection:
        """The endpoint, with examples in place of what a server can say. Raises ValueError: what cannot be so."""
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


def kind_of(text: str) -> EndpointKind:
    """The kind that a flag names. Raises ConfigError."""
    for kind in KINDS:
        if kind == text:
            return kind
    raise ConfigError([f'--kind "{text}": must be one of {", ".join(KINDS)}'])


def more_of(pairs: Sequence[str]) -> Mapping[str, Value]:
    """What flags --set say, each "key=value". Raises ConfigError: no such key, or what it may be."""
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
