"""Settings of one endpoint, [[llm.endpoints]]: keys of every kind, keys that kinds choose, and a kind's own keys."""

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from typing import Annotated, Any, Literal

from assistant.config.keys import ConfigSection, Key, check_section, has_host, keys_of
from assistant.config.toml_table import NO_HEADERS, NO_PARAMETERS, Headers, Parameters
from assistant.registry.protocols import PROTOCOLS, default_kind, kind_choices, protocol_of
from declarations.settings import KeyInfo
from llm.protocols.protocol import CHOSEN_KEYS, LlmProtocol

EndpointSize = Literal["any", "small", "large"]

RESERVED = ("auto", "skills")
"""Values of `--llm` that are not endpoint names; no endpoint may have one of these names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointSection(ConfigSection):
    """A service that runs a language model; with several, `llm.policy` decides which one is asked.

    Attributes:
        own: The keys that only its kind has, as its protocol declares them; None on construction: their defaults.
    """

    name: Annotated[
        str, KeyInfo("Name of the endpoint in displays and traces.", pattern=r".*\S.*", form="a text that is not empty")
    ]
    kind: Annotated[
        str, KeyInfo("Protocol of the service (docs/endpoints.md); packages add others.", choices=kind_choices)
    ] = field(default_factory=default_kind)
    url: Annotated[
        str,
        KeyInfo(
            "Base address, as in https://host/v1.",
            pattern=r"([a-z][a-z0-9+.-]*://[^\s/?#@]+([/?#]\S*)?)?",
            form="an http:// or https:// address without a user name or password, or one with a scheme of its kind",
            private=True,
        ),
    ] = ""
    model: Annotated[
        str,
        KeyInfo(
            "The service's name of the model.",
            pattern=r".*\S.*",
            form="a text that is not empty",
        ),
    ]
    api_key_env: Annotated[
        str,
        KeyInfo(
            "Name of the environment variable that contains the API key; empty: no key.",
            pattern=r"([A-Za-z_][A-Za-z0-9_]*)?",
            form="the name of an environment variable that holds the key (not the key itself), or empty",
            private=True,
        ),
    ] = ""
    region: Annotated[str, KeyInfo("Region, for display.")] = ""
    template: Annotated[
        str,
        KeyInfo(
            "Chat template of the model: llama2, llama3, chatml, or a .jinja or .json file; empty: requests contain "
            "messages instead of a prompt."
        ),
    ] = ""
    bos: Annotated[bool, KeyInfo("Whether the prompt begins with the BOS token; most services add it themselves.")] = (
        False
    )
    ca_file: Annotated[str, KeyInfo("PEM file of the certificates trusted for TLS; empty: the default ones.")] = ""
    images: Annotated[
        bool, KeyInfo("Whether the model takes images; only such endpoints are asked about a client's images.")
    ] = False
    fallback: Annotated[
        bool,
        KeyInfo(
            "Whether the local model answers only when no other endpoint can, which is said once; false: `policy` "
            "decides."
        ),
    ] = True
    parameters: Annotated[
        Parameters,
        KeyInfo(
            "Further fields of each request, by the service's names; they replace standard ones (docs/endpoints.md)."
        ),
    ] = NO_PARAMETERS
    headers: Annotated[
        Headers,
        KeyInfo(
            "Further headers of each request; ${NAME} in a value stands for that environment variable, for secrets.",
            private=True,
        ),
    ] = NO_HEADERS
    latitude: Annotated[
        float,
        KeyInfo(
            "Latitude of the endpoint, for policy geo; 0 with longitude 0: not known.", unit="degrees", low=-90, high=90
        ),
    ] = 0.0
    longitude: Annotated[
        float, KeyInfo("Longitude of the endpoint, east positive.", unit="degrees", low=-180, high=180)
    ] = 0.0
    tier: Annotated[
        int,
        KeyInfo(
            "Priority; 1 is asked first, a higher tier only if no endpoint of a lower one is available.", low=1, high=9
        ),
    ] = 1
    size: Annotated[
        EndpointSize,
        KeyInfo("Size of the model; small answers simple requests, large hard ones (docs/endpoints.md); any: both."),
    ] = "any"
    weight: Annotated[
        float,
        KeyInfo(
            "Share of requests under policy weighted; 0: only if no other endpoint is available.", low=0, high=1000
        ),
    ] = 1.0
    patience_s: Annotated[
        float,
        KeyInfo("Wait for its first token before another endpoint is asked; 0: based on its measured times, and "
                "2 s until it has answered once.", unit="s", low=0.1, high=60, zero=True),
    ] = 0.0  # fmt: skip
    price_in_per_million: Annotated[
        float, KeyInfo("Price of a million prompt tokens, in any currency; 0: free or not known.", low=0, high=100000)
    ] = 0.0
    price_out_per_million: Annotated[
        float, KeyInfo("Price of a million answer tokens, in the same currency.", low=0, high=100000)
    ] = 0.0

    own: Any = None

    @property
    def protocol(self) -> LlmProtocol:
        """The protocol of its kind."""
        return protocol_of(self.kind)

    @property
    def takes_functions(self) -> bool:
        """Whether functions can be offered to this model."""
        return self.protocol.takes_functions and not self.template

    @property
    def placed(self) -> bool:
        """Whether the endpoint's location is set."""
        return bool(self.latitude or self.longitude)

    @property
    def variables(self) -> tuple[str, ...]:
        """Names of the environment variables that the endpoint needs."""
        return ((self.api_key_env,) if self.api_key_env else ()) + self.headers.variables

    @property
    def is_on_this_machine(self) -> bool:
        """Whether this program runs the model itself."""
        return self.protocol.is_on_this_machine

    @property
    def can_be_fallback(self) -> bool:
        """Whether its kind has the key `fallback`."""
        return "fallback" in self.protocol.chosen_keys

    @property
    def shown_url(self) -> str:
        """`url` without its query string, which may contain a key."""
        return self.url.partition("?")[0]

    @property
    def shown_place(self) -> str:
        """Place of the model: the address without its query string, else the kind and the region."""
        if self.is_on_this_machine:
            return "on this machine"
        return f"at {self.shown_url or f'{self.kind} {self.region}'.strip()}"

    def __post_init__(self) -> None:
        """Raises ValueError with the key and the allowed values."""
        ConfigSection.__post_init__(self)
        if self.own is None:
            object.__setattr__(self, "own", self.protocol.settings())
        assert isinstance(self.own, self.protocol.settings), "the kind and its own keys belong together"
        check_section(self.own)
        keys = endpoint_keys(self.kind)
        for setting in fields(self):
            if setting.name != "own" and setting.name not in keys and getattr(self, setting.name) != setting.default:
                raise ValueError(f"{setting.name}: {key_not_accepted(self.kind)}")
        for key in needed_keys(self.kind):
            if not getattr(self, key):
                raise ValueError(f"{key} {key_missing(self.kind)}")
        if self.url and not has_host(self.url):
            raise ValueError("url must be an address with a host and, optionally, a port from 1 to 65535")
        if self.url and self.protocol.scheme_of(self.url) is None:
            *most, last = (f"{scheme.name}://" for scheme in self.protocol.schemes)
            begins = f"{', '.join(most)} or {last}" if most else last
            raise ValueError(f'url must begin with {begins} for kind "{self.kind}"')
        if self.images and self.template:
            raise ValueError("images need requests with messages, not with a prompt: leave images or template out")
        if self.bos and not self.template:
            raise ValueError("bos is part of a template: set template, or leave it out")
        self.protocol.check(self)


_KEYS = keys_of(EndpointSection)


def endpoint_keys(kind: str) -> dict[str, Key]:
    """Returns the keys of endpoints of a kind, in the order of config.toml: its own keys are the last."""
    protocol = protocol_of(kind)
    common = (key for key in _KEYS if key.name not in CHOSEN_KEYS or key.name in protocol.chosen_keys)
    return {key.name: key for key in (*common, *keys_of(protocol.settings))}


def endpoint_of(values: Mapping[str, Any]) -> EndpointSection:
    """Returns the endpoint with these keys. Raises ValueError with the key and the allowed values."""
    settings = protocol_of(values.get("kind") or default_kind()).settings
    names = {key.name for key in keys_of(settings)}
    own = settings(**{name: value for name, value in values.items() if name in names})
    return EndpointSection(**{name: value for name, value in values.items() if name not in names}, own=own)


def values_of(endpoint: EndpointSection) -> dict[str, Any]:
    """Returns the values of an endpoint's keys."""
    own = {key.name for key in keys_of(type(endpoint.own))}
    return {name: getattr(endpoint.own if name in own else endpoint, name) for name in endpoint_keys(endpoint.kind)}


def defaults_of(kind: str) -> dict[str, object]:
    """Returns the default of each key of a kind that has one."""
    declared = (*fields(EndpointSection), *fields(protocol_of(kind).settings))
    defaults = {setting.name: setting.default for setting in declared if setting.default is not MISSING}
    return {**defaults, "kind": default_kind()}


def needed_keys(kind: str) -> tuple[str, ...]:
    """Returns the keys that endpoints of a kind must set."""
    return ("name", "model", *protocol_of(kind).needed_keys)


def problem_with_key(kind: str, name: str) -> str:
    """Returns why a kind does not accept a key that others have; "" if no kind has it, or this one does."""
    known = name in CHOSEN_KEYS or any(
        key.name == name for protocol in PROTOCOLS.all() for key in keys_of(protocol.settings)
    )
    return key_not_accepted(kind) if known and name not in endpoint_keys(kind) else ""


def key_not_accepted(kind: str) -> str:
    """Error text for a key that the kind does not accept."""
    protocol = protocol_of(kind)
    own = (*protocol.chosen_keys, *(key.name for key in keys_of(protocol.settings)))
    return f'kind "{kind}" does not have this key, only {", ".join(own)} and the keys of every kind'


def key_missing(kind: str) -> str:
    """Error text for a missing key that the kind requires."""
    return "is missing" if kind == default_kind() else f'is missing: kind "{kind}" needs it'
