"""What can be set of one endpoint, [[llm.endpoints]]: keys that every service has, and those of some kinds alone."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Annotated, Literal, get_args

from assistant.config.keys import ConfigSection, KeyInfo, has_host
from assistant.config.toml_table import NO_HEADERS, NO_PARAMETERS, Headers, Parameters

EndpointKind = Literal["openai", "tgi", "triton", "grpc", "sagemaker", "bedrock"]
Payload = Literal["auto", "tgi", "lmi-jsonlines", "lmi-sse", "lmi-chat", "djl-0.25"]
BedrockApi = Literal["converse", "invoke"]
BedrockFamily = Literal["auto", "anthropic", "llama"]
BedrockLatency = Literal["standard", "optimized"]
TritonBackend = Literal["vllm", "tensorrt_llm"]

KINDS: tuple[EndpointKind, ...] = get_args(EndpointKind)

RESERVED = ("auto", "skills")
"""What `--llm` says besides the names of endpoints, so that no endpoint may be called so."""

OWN_KEYS: Mapping[EndpointKind, tuple[str, ...]] = MappingProxyType(
    {
        "openai": ("url", "api_key_env"),
        "tgi": ("url", "api_key_env", "template", "bos"),
        "triton": ("url", "api_key_env", "template", "bos", "version", "backend", "echo"),
        "grpc": ("url", "api_key_env", "template", "bos", "version", "backend", "details", "keepalive_s", "ca_file"),
        "sagemaker": ("url", "profile", "template", "bos", "payload", "inference_component", "target_variant"),
        "bedrock": ("url", "profile", "template", "bos", "api", "family", "cache", "latency"),
    }
)
"""What each kind knows besides the keys that all of them know: whatever no kind names here."""

NEEDED_KEYS: Mapping[EndpointKind, tuple[str, ...]] = MappingProxyType(
    {
        "openai": ("name", "url", "model"),
        "tgi": ("name", "url", "model", "template"),
        "triton": ("name", "url", "model", "template"),
        "grpc": ("name", "url", "model", "template"),
        "sagemaker": ("name", "model"),
        "bedrock": ("name", "model"),
    }
)

WITHOUT_FUNCTIONS: tuple[EndpointKind, ...] = ("tgi", "triton", "grpc")
"""Kinds that know no calls of functions: they refuse whatever offers some. So do those asked by template."""

_SOME_KINDS = frozenset(key for keys in OWN_KEYS.values() for key in keys)
_AWS_REGION = re.compile(r"([a-z]{2,}(-[a-z]+)+-[0-9]+)?")


def knows(kind: EndpointKind, key: str) -> bool:
    """Whether the key means anything to endpoints of the kind."""
    return key not in _SOME_KINDS or key in OWN_KEYS[kind]


def foreign(kind: EndpointKind) -> str:
    """What to say of a key that the kind does not know."""
    return f'kind "{kind}" does not know it, only {", ".join(OWN_KEYS[kind])} and what every kind knows'


def missing(kind: EndpointKind) -> str:
    """What to say of a key that the kind needs."""
    return "is missing" if kind == "openai" else f'is missing: kind "{kind}" needs it'


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointSection(ConfigSection):
    """A service that runs a language model; of several, `llm.policy` says which is asked."""

    name: Annotated[str, KeyInfo("What screen and trace call it.", pattern=r".*\S.*", form="a text, not empty")]
    kind: Annotated[
        EndpointKind, KeyInfo("What it speaks: openai is any OpenAI-compatible service, grpc is Triton's gRPC.")
    ] = "openai"
    url: Annotated[
        str,
        KeyInfo(
            "Base address, as in https://host/v1; of sagemaker and bedrock empty: the region's own.",
            pattern=r"((https?|grpcs?)://[^\s/?#@]+([/?#]\S*)?)?",
            form="an http:// or https:// address without a user name or password; of grpc also grpc:// or grpcs://",
            private=True,
        ),
    ] = ""
    model: Annotated[
        str,
        KeyInfo(
            "Model, as the service names it; of sagemaker the endpoint's name there.",
            pattern=r".*\S.*",
            form="a text, not empty",
        ),
    ]
    api_key_env: Annotated[
        str,
        KeyInfo(
            "Name of the environment variable that holds the key; empty: no key.",
            pattern=r"([A-Za-z_][A-Za-z0-9_]*)?",
            form="the name of an environment variable that holds the key (not the key itself), or empty",
            private=True,
        ),
    ] = ""
    region: Annotated[
        str,
        KeyInfo(
            "Where it stands, for the reader; of sagemaker and bedrock the AWS region that is asked, empty: the "
            "environment's or the profile's."
        ),
    ] = ""
    profile: Annotated[str, KeyInfo("Profile of ~/.aws with the credentials; empty: the environment's choice.")] = ""
    template: Annotated[
        str,
        KeyInfo(
            "The model's chat template: llama2, llama3, chatml, or a .jinja or .json file; empty: the service is asked "
            "with messages."
        ),
    ] = ""
    bos: Annotated[
        bool, KeyInfo("Whether the prompt begins with the token for the beginning; most services add it themselves.")
    ] = False
    version: Annotated[str, KeyInfo("Version of the model; empty: Triton's choice.")] = ""
    backend: Annotated[TritonBackend, KeyInfo("Triton's backend, whose inputs the model has.")] = "vllm"
    echo: Annotated[bool, KeyInfo("Whether the backend repeats the prompt before the answer.")] = False
    details: Annotated[bool, KeyInfo("Ask for token counts too: Triton's vLLM backend from 24.12 on.")] = False
    keepalive_s: Annotated[
        float,
        KeyInfo("Between pings of the idle connection, where the server permits them; 0: none.", unit="s", low=1,
              high=3600, zero=True),
    ] = 0.0  # fmt: skip
    ca_file: Annotated[str, KeyInfo("PEM file of the certificates to trust for TLS; empty: the usual ones.")] = ""
    payload: Annotated[Payload, KeyInfo("Format of the container's answers; auto: told by their first bytes.")] = "auto"
    inference_component: Annotated[str, KeyInfo("Which model, where the SageMaker endpoint has several.")] = ""
    target_variant: Annotated[str, KeyInfo("Which variant, where weights shall not decide.")] = ""
    api: Annotated[BedrockApi, KeyInfo("converse is the same for all models, invoke the model's own format.")] = (
        "converse"
    )
    family: Annotated[BedrockFamily, KeyInfo("Whose format, for api invoke; auto: told by the model's id.")] = "auto"
    cache: Annotated[bool, KeyInfo("Mark the instructions as worth keeping for the next request.")] = False
    latency: Annotated[
        BedrockLatency, KeyInfo("optimized asks for the quicker variant, where model and region have one.")
    ] = "standard"
    parameters: Annotated[
        Parameters,
        KeyInfo("Further fields of each request, as the service names them; they go before ours (docs/endpoints.md)."),
    ] = NO_PARAMETERS
    headers: Annotated[
        Headers,
        KeyInfo(
            "Further headers of each request; ${NAME} in a value is an environment variable, for secrets.",
            private=True,
        ),
    ] = NO_HEADERS
    latitude: Annotated[
        float,
        KeyInfo("Where it stands, for policy geo; 0 with longitude 0: not known.", unit="degrees", low=-90, high=90),
    ] = 0.0
    longitude: Annotated[float, KeyInfo("As latitude, eastward.", unit="degrees", low=-180, high=180)] = 0.0
    tier: Annotated[
        int, KeyInfo("1 is asked first; a higher one where nobody of the lower can be asked.", low=1, high=9)
    ] = 1
    weight: Annotated[
        float, KeyInfo("Its share under policy weighted; 0: only where nobody else can be asked.", low=0, high=1000)
    ] = 1.0
    patience_s: Annotated[
        float,
        KeyInfo("How long it is waited for before another is asked in its place; 0: as its own times say, and 2 s "
                "until it has answered once.", unit="s", low=0.1, high=60, zero=True),
    ] = 0.0  # fmt: skip
    price_in_per_million: Annotated[
        float, KeyInfo("Price of a million prompt tokens, in any currency; 0: free, or not known.", low=0, high=100000)
    ] = 0.0
    price_out_per_million: Annotated[float, KeyInfo("Price of a million tokens of answers.", low=0, high=100000)] = 0.0

    @property
    def takes_functions(self) -> bool:
        """Whether the model can be offered functions by it."""
        return self.kind not in WITHOUT_FUNCTIONS and not self.template

    @property
    def placed(self) -> bool:
        """Whether it is known where it stands."""
        return bool(self.latitude or self.longitude)

    @property
    def variables(self) -> tuple[str, ...]:
        """The environment variables it needs."""
        return ((self.api_key_env,) if self.api_key_env else ()) + self.headers.variables

    @property
    def on_aws(self) -> bool:
        """Whether it is reached with AWS's credentials, in one of AWS's regions."""
        return self.kind in {"sagemaker", "bedrock"}

    @property
    def shown_url(self) -> str:
        """`url` for people: some services take their key as a parameter of the address."""
        return self.url.partition("?")[0]

    def __post_init__(self) -> None:
        """Raises ValueError: the key, and what is allowed."""
        ConfigSection.__post_init__(self)
        for field in fields(self):
            if not knows(self.kind, field.name) and getattr(self, field.name) != field.default:
                raise ValueError(f"{field.name}: {foreign(self.kind)}")
        for key in NEEDED_KEYS[self.kind]:
            if not getattr(self, key):
                raise ValueError(f"{key} {missing(self.kind)}")
        if self.url and not has_host(self.url):
            raise ValueError("url must be an address with a host and, if any, a port from 1 to 65535")
        if self.kind != "grpc" and self.url.startswith("grpc"):
            raise ValueError(f'url must begin with http:// or https:// for kind "{self.kind}"')
        self._check_together()

    def _check_together(self) -> None:
        """What one key asks of another."""
        if self.on_aws and not _AWS_REGION.fullmatch(self.region):
            raise ValueError(f'region must be an AWS region such as eu-central-1, or empty, for kind "{self.kind}"')
        if self.kind == "bedrock" and self.api == "converse" and (self.template or self.family != "auto"):
            named = "template" if self.template else "family"
            raise ValueError(f'{named} is for api "invoke": set api, or leave it out')
        if self.template and (self.family == "anthropic" or (self.family == "auto" and "anthropic." in self.model)):
            raise ValueError("template is for models that take a prompt, which Anthropic's do not: leave it out")
        if self.bos and not self.template:
            raise ValueError("bos is part of a template: set template, or leave it out")
        if self.details and self.backend != "vllm":
            raise ValueError('details are known of backend "vllm" only: leave them out')
