"""Settings of one endpoint, [[llm.endpoints]]: keys of every kind of service, and keys of some kinds only."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Annotated, Literal, get_args

from assistant.config.keys import ConfigSection, has_host
from assistant.config.toml_table import NO_HEADERS, NO_PARAMETERS, Headers, Parameters
from declarations.settings import KeyInfo

EndpointKind = Literal["openai", "tgi", "triton", "grpc", "sagemaker", "bedrock", "local"]
Payload = Literal["auto", "tgi", "lmi-jsonlines", "lmi-sse", "lmi-chat", "djl-0.25"]
BedrockApi = Literal["converse", "invoke"]
BedrockFamily = Literal["auto", "anthropic", "llama"]
BedrockLatency = Literal["standard", "optimized"]
EndpointSize = Literal["any", "small", "large"]
TritonBackend = Literal["vllm", "tensorrt_llm"]

KINDS: tuple[EndpointKind, ...] = get_args(EndpointKind)

RESERVED = ("auto", "skills")
"""Values of `--llm` that are not endpoint names; no endpoint may have one of these names."""

OWN_KEYS: Mapping[EndpointKind, tuple[str, ...]] = MappingProxyType(
    {
        "openai": ("url", "api_key_env", "images"),
        "tgi": ("url", "api_key_env", "template", "bos"),
        "triton": ("url", "api_key_env", "template", "bos", "version", "backend", "echo"),
        "grpc": ("url", "api_key_env", "template", "bos", "version", "backend", "details", "keepalive_s", "ca_file"),
        "sagemaker": ("url", "profile", "template", "bos", "payload", "inference_component", "target_variant"),
        "bedrock": ("url", "profile", "template", "bos", "api", "family", "cache", "latency", "images"),
        "local": ("threads", "context_tokens", "fallback"),
    }
)
"""Keys that each kind accepts besides the common keys. A key that appears nowhere here is common to all kinds."""

NEEDED_KEYS: Mapping[EndpointKind, tuple[str, ...]] = MappingProxyType(
    {
        "openai": ("name", "url", "model"),
        "tgi": ("name", "url", "model", "template"),
        "triton": ("name", "url", "model", "template"),
        "grpc": ("name", "url", "model", "template"),
        "sagemaker": ("name", "model"),
        "bedrock": ("name", "model"),
        "local": ("name", "model"),
    }
)

WITHOUT_FUNCTIONS: tuple[EndpointKind, ...] = ("tgi", "triton", "grpc")
"""Kinds without function calls: they refuse requests that offer functions. So do endpoints with a `template`."""

_SOME_KINDS = frozenset(key for keys in OWN_KEYS.values() for key in keys)
_AWS_REGION = re.compile(r"([a-z]{2,}(-[a-z]+)+-[0-9]+)?")


def accepts(kind: EndpointKind, key: str) -> bool:
    """Returns whether endpoints of this kind accept the key."""
    return key not in _SOME_KINDS or key in OWN_KEYS[kind]


def key_not_accepted(kind: EndpointKind) -> str:
    """Error text for a key that the kind does not accept."""
    return f'kind "{kind}" does not have this key, only {", ".join(OWN_KEYS[kind])} and the keys of every kind'


def key_missing(kind: EndpointKind) -> str:
    """Error text for a missing key that the kind requires."""
    return "is missing" if kind == "openai" else f'is missing: kind "{kind}" needs it'


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointSection(ConfigSection):
    """A service that runs a language model; with several, `llm.policy` decides which one is asked."""

    name: Annotated[
        str, KeyInfo("Name of the endpoint in displays and traces.", pattern=r".*\S.*", form="a text that is not empty")
    ]
    kind: Annotated[
        EndpointKind,
        KeyInfo(
            "Protocol of the service; openai: any OpenAI-compatible service; grpc: Triton over gRPC; local: a model "
            "that this program runs itself."
        ),
    ] = "openai"
    url: Annotated[
        str,
        KeyInfo(
            "Base address, as in https://host/v1; empty for local; empty for sagemaker and bedrock: the region's "
            "address.",
            pattern=r"((https?|grpcs?)://[^\s/?#@]+([/?#]\S*)?)?",
            form="an http:// or https:// address without a user name or password; of grpc also grpc:// or grpcs://",
            private=True,
        ),
    ] = ""
    model: Annotated[
        str,
        KeyInfo(
            "The service's name of the model; for sagemaker the name of its endpoint; for local a name of `repartee "
            "models` or the path of a GGUF file.",
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
    region: Annotated[
        str,
        KeyInfo(
            "Region, only for display; for sagemaker and bedrock the AWS region to use, empty: the region of the "
            "environment or of the profile."
        ),
    ] = ""
    profile: Annotated[str, KeyInfo("Profile in ~/.aws with the credentials; empty: chosen by the environment.")] = ""
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
    version: Annotated[str, KeyInfo("Version of the model; empty: chosen by Triton.")] = ""
    backend: Annotated[TritonBackend, KeyInfo("Triton backend, which defines the inputs of the model.")] = "vllm"
    echo: Annotated[bool, KeyInfo("Whether the backend repeats the prompt before its answer.")] = False
    details: Annotated[bool, KeyInfo("Whether token counts are requested, for Triton's vLLM backend since 24.12.")] = (
        False
    )
    keepalive_s: Annotated[
        float,
        KeyInfo("Interval of pings on an idle connection, if the server permits them; 0: no pings.", unit="s", low=1,
              high=3600, zero=True),
    ] = 0.0  # fmt: skip
    ca_file: Annotated[str, KeyInfo("PEM file of the certificates trusted for TLS; empty: the default ones.")] = ""
    payload: Annotated[
        Payload, KeyInfo("Format of the container's answers; auto: detected from their first bytes.")
    ] = "auto"
    inference_component: Annotated[str, KeyInfo("Name of the model, for SageMaker endpoints with several.")] = ""
    target_variant: Annotated[str, KeyInfo("Name of the SageMaker variant; empty: chosen by SageMaker's weights.")] = ""
    api: Annotated[
        BedrockApi, KeyInfo("Bedrock API; converse: the same format for all models; invoke: the model's own format.")
    ] = "converse"
    family: Annotated[BedrockFamily, KeyInfo("Model family, for api invoke; auto: detected from the model id.")] = (
        "auto"
    )
    cache: Annotated[bool, KeyInfo("Whether the service may cache the instructions for the next request.")] = False
    latency: Annotated[
        BedrockLatency, KeyInfo("Latency class; optimized: the faster variant, if the model and region have one.")
    ] = "standard"
    images: Annotated[
        bool, KeyInfo("Whether the model takes images; only such endpoints are asked about a client's images.")
    ] = False
    threads: Annotated[
        int,
        KeyInfo("Threads of the local model; 0: half of the cores, so that the speech engines keep theirs.", low=1,
                high=256, zero=True),
    ] = 0  # fmt: skip
    context_tokens: Annotated[
        int,
        KeyInfo("Longest prompt and answer of the local model; 0: enough for the history.", unit="tokens", low=512,
                high=1000000, zero=True),
    ] = 0  # fmt: skip
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

    @property
    def takes_functions(self) -> bool:
        """Whether functions can be offered to this model."""
        return self.kind not in WITHOUT_FUNCTIONS and not self.template

    @property
    def placed(self) -> bool:
        """Whether the endpoint's location is set."""
        return bool(self.latitude or self.longitude)

    @property
    def variables(self) -> tuple[str, ...]:
        """Names of the environment variables that the endpoint needs."""
        return ((self.api_key_env,) if self.api_key_env else ()) + self.headers.variables

    @property
    def on_aws(self) -> bool:
        """Whether the endpoint uses AWS credentials and an AWS region."""
        return self.kind in {"sagemaker", "bedrock"}

    @property
    def shown_url(self) -> str:
        """`url` without its query string, which may contain a key."""
        return self.url.partition("?")[0]

    def __post_init__(self) -> None:
        """Raises ValueError with the key and the allowed values."""
        ConfigSection.__post_init__(self)
        for field in fields(self):
            if not accepts(self.kind, field.name) and getattr(self, field.name) != field.default:
                raise ValueError(f"{field.name}: {key_not_accepted(self.kind)}")
        for key in NEEDED_KEYS[self.kind]:
            if not getattr(self, key):
                raise ValueError(f"{key} {key_missing(self.kind)}")
        if self.url and not has_host(self.url):
            raise ValueError("url must be an address with a host and, optionally, a port from 1 to 65535")
        if self.kind != "grpc" and self.url.startswith("grpc"):
            raise ValueError(f'url must begin with http:// or https:// for kind "{self.kind}"')
        self._check_together()

    def _check_together(self) -> None:
        """Checks rules that involve more than one key. Raises ValueError."""
        if self.on_aws and not _AWS_REGION.fullmatch(self.region):
            raise ValueError(f'region must be an AWS region such as eu-central-1, or empty, for kind "{self.kind}"')
        if self.kind == "bedrock" and self.api == "converse" and (self.template or self.family != "auto"):
            named = "template" if self.template else "family"
            raise ValueError(f'{named} needs api = "invoke": set api, or leave it out')
        if self.template and (self.family == "anthropic" or (self.family == "auto" and "anthropic." in self.model)):
            raise ValueError("template is for models that accept a prompt, unlike those of Anthropic; leave it out")
        if self.images and (self.template or self.family == "llama"):
            raise ValueError("images need requests with messages, not with a prompt: leave images or template out")
        if self.bos and not self.template:
            raise ValueError("bos is part of a template: set template, or leave it out")
        if self.details and self.backend != "vllm":
            raise ValueError('details is available only for backend "vllm"; leave it out')
