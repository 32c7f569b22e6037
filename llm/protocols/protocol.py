"""Declaration of an LLM protocol: the object that its package offers as an entry point of the group `repartee.llm`."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, get_args
from urllib.parse import urlsplit

from declarations.models import ModelKind
from declarations.settings import NoSettings

if TYPE_CHECKING:
    from llm.chat import ChatModel
    from llm.listing import Listing
    from llm.protocols.request import ClientRequest, EndpointKeys

ChosenKey = Literal["url", "api_key_env", "template", "bos", "ca_file", "images", "fallback"]
"""Keys of [[llm.endpoints]] that the program reads, but that only protocols have which choose them."""

CHOSEN_KEYS: tuple[ChosenKey, ...] = get_args(ChosenKey)

KEYS_OF_ALL = frozenset(
    {
        *("name", "kind", "model", "region", "parameters", "headers", "latitude", "longitude", "tier", "size"),
        *("weight", "patience_s", "price_in_per_million", "price_out_per_million"),
    }
)
"""Keys of [[llm.endpoints]] that every protocol has."""


@dataclass(frozen=True, slots=True)
class UrlScheme:
    """Beginning of the address of a service.

    Attributes:
        name: As in "https".
        port: Port of an address without one.
        has_tls: Whether connections are encrypted.
    """

    name: str
    port: int
    has_tls: bool = False


HTTP = (UrlScheme("http", 80), UrlScheme("https", 443, has_tls=True))


@dataclass(frozen=True, slots=True)
class ListRequest:
    """Input of `LlmProtocol.list_models`.

    Attributes:
        name: Name of the endpoint, for errors.
        url: Its address.
        api_key: Its key; None if it has none.
        timeout_s: Deadline for the whole answer.
        headers: Its configured headers.
    """

    name: str
    url: str
    api_key: str | None
    timeout_s: float
    headers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


ListModels = Callable[[ListRequest], Awaitable["Listing"]]
"""Returns the models of a service. Raises LlmError, ValueError."""


def check_nothing(_endpoint: "EndpointKeys") -> None:
    """Accepts all combinations of keys; for `LlmProtocol.check`."""


def no_address(_endpoint: "EndpointKeys") -> str:
    """Knows no address besides the configured one; for `LlmProtocol.default_address`."""
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LlmProtocol:
    """A protocol of LLM endpoints: a kind of service, or a model that runs on this machine.

    Attributes:
        name: The `kind` of its endpoints; also the name of the entry point.
        make: Returns the client of an endpoint, not loaded yet. It imports the libraries. Raises ValueError, in one
            line with "llm endpoint 'NAME'" and the remedy, for settings that cannot be used.
        about: One clause for the list of kinds.
        settings: Dataclass of its own keys in [[llm.endpoints]], with a `KeyInfo` for each field.
        chosen_keys: Other keys that its endpoints have.
        needed_keys: Keys that an endpoint must set besides name and model.
        notes: What a key that other protocols have too means for this one, as a clause.
        check: Checks keys that depend on each other. Raises ValueError with the key and the remedy.
        is_default: Whether it is the kind of an endpoint that names none. One is.
        takes_functions: Whether functions can be offered; never with a template, which has no place for them.
        schemes: How its addresses may begin.
        default_address: Returns the address of an endpoint that has no `url`; "" if there is none. Raises ValueError.
        provider: Name by OpenTelemetry's conventions (`gen_ai.provider.name`); "": its own name.
        provider_of_domain: Names of providers by the domain of the address.
        list_models: See `ListModels`; None: its services list none.
        credentials: How an endpoint without `api_key_env` proves who asks: "AWS credentials"; "": it has no key.
        is_on_this_machine: Whether the client runs the model itself: nothing leaves the machine.
        models: The models that it runs itself; None: it needs none.
        least_timeout_s: Least timeout of a token, whatever is configured; 0: as configured.
        packages: Distributions that it needs, with the module of each.
        extra: Extra of the program that installs them; "": `pip install` does.
    """

    name: str
    make: "Callable[[ClientRequest], ChatModel]"
    about: str
    settings: type = NoSettings
    chosen_keys: tuple[ChosenKey, ...] = ()
    needed_keys: tuple[ChosenKey, ...] = ()
    notes: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    check: "Callable[[EndpointKeys], None]" = check_nothing
    is_default: bool = False
    takes_functions: bool = True
    schemes: tuple[UrlScheme, ...] = HTTP
    default_address: "Callable[[EndpointKeys], str]" = no_address
    provider: str = ""
    provider_of_domain: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    list_models: ListModels | None = None
    credentials: str = ""
    is_on_this_machine: bool = False
    models: ModelKind | None = None
    least_timeout_s: float = 0.0
    packages: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    extra: str = ""

    def __post_init__(self) -> None:
        """Raises ValueError if a key of its own has the name of one that the program reads."""
        if taken := sorted({setting.name for setting in fields(self.settings)} & {*KEYS_OF_ALL, *CHOSEN_KEYS}):
            raise ValueError(f"its settings may not have the names of other keys: {', '.join(taken)}")

    def scheme_of(self, url: str) -> UrlScheme | None:
        """Returns the scheme of an address; None if it is none of this protocol."""
        name = urlsplit(url).scheme
        return next((scheme for scheme in self.schemes if scheme.name == name), None)

    def provider_at(self, url: str) -> str:
        """Returns the provider's name by OpenTelemetry's conventions for an endpoint at this address."""
        host = f".{urlsplit(url).hostname or ''}"
        domains = self.provider_of_domain
        return next((domains[domain] for domain in domains if host.endswith(f".{domain}")), self.provider or self.name)
