"""Makes the client of one [[llm.endpoints]] entry, by its kind. Each client is imported on use."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, TypedDict

from assistant.config.endpoint_settings import EndpointKind, EndpointSection
from assistant.config.llm_settings import LlmSection
from assistant.models.needs import Need, at_hand, lacking_model
from assistant.support.cpu import cores, local_llm_threads
from llm.chat import ChatModel, Message

if TYPE_CHECKING:
    from llm.chat_template import ChatTemplate


INSTRUCTION_TOKENS = 640
"""Room in the context of a local model for the instructions and the tools."""

LOCAL_TIMEOUT_S = 120.0
"""Longest wait for a token of a local model, in seconds: ten times its slowest on a machine that others keep busy. The
process is watched: one that hangs is replaced before."""

CONTEXT_STEP = 512


class CommonArguments(TypedDict):
    """Arguments of every client: timeouts and limits of LlmSection, and the endpoint's own parameters and headers."""

    first_token_timeout_s: float
    token_gap_timeout_s: float
    connect_timeout_s: float
    max_tokens: int
    temperature: float
    parameters: Mapping[str, object]
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _ClientSpec:
    """Input of a client factory.

    Attributes:
        key: The endpoint's API key; None if it has none.
        instructions: System message of the conversations; "" if it is not known yet.
        history_tokens: Longest history.
        is_alone: Whether no other endpoint is configured.
    """

    endpoint: EndpointSection
    key: str | None
    common: CommonArguments
    instructions: str
    history_tokens: int
    is_alone: bool


def model_of(
    endpoint: EndpointSection, settings: LlmSection, environ: Mapping[str, str], *, instructions: str = ""
) -> ChatModel:
    """Returns the client of an endpoint, not loaded yet.

    `instructions`: system message of the conversations, which a local model computes in advance.

    Raises ValueError, in one line with the endpoint and the remedy, if a key or an extra is missing or a setting is
    invalid.
    """
    key = environ.get(endpoint.api_key_env) if endpoint.api_key_env else None
    if endpoint.api_key_env and not key:
        raise ValueError(
            f"endpoint {endpoint.name}: the environment variable {endpoint.api_key_env} is not set; "
            "set it to the key, or remove api_key_env if no key is needed."
        )
    common = CommonArguments(
        first_token_timeout_s=settings.first_token_timeout_s,
        token_gap_timeout_s=settings.token_gap_timeout_s,
        connect_timeout_s=settings.connect_timeout_s,
        max_tokens=settings.max_tokens,
        temperature=settings.temperature,
        parameters=endpoint.parameters.values,
        headers=headers_of(endpoint, environ),
    )
    try:
        return _MAKERS[endpoint.kind](
            _ClientSpec(
                endpoint, key or None, common, instructions, settings.max_history_tokens, len(settings.endpoints) <= 1
            )
        )
    except ImportError as error:
        raise ValueError(f"llm endpoint {endpoint.name!r}: {error}") from error


def clients_of(model: ChatModel | None) -> Sequence[ChatModel]:
    """Returns the clients behind the language model of a conversation: one for each endpoint."""
    if model is None:
        return ()
    from llm.routing.router import Router  # noqa: PLC0415

    return model.models if isinstance(model, Router) else (model,)


def headers_of(endpoint: EndpointSection, environ: Mapping[str, str]) -> dict[str, str]:
    """Returns the endpoint's own headers as they are sent. Raises ValueError for a variable that is not set."""
    try:
        return endpoint.headers.expanded(environ)
    except KeyError as error:
        raise ValueError(
            f"endpoint {endpoint.name}: the environment variable {error.args[0]} is not set; "
            "set it, or remove it from headers."
        ) from None


def address_of(endpoint: EndpointSection) -> str:
    """Returns the endpoint's address with a scheme; on AWS by the region if none is set.

    Raises ValueError if neither is known.
    """
    if endpoint.url or not endpoint.on_aws:
        return endpoint.url
    # Imported on use: other modules of the package look for botocore.
    from llm.aws.request import BEDROCK, SAGEMAKER, region_of  # noqa: PLC0415
    from llm.aws.sdk import demand_sdk  # noqa: PLC0415

    demand_sdk(endpoint.name)
    api = SAGEMAKER if endpoint.kind == "sagemaker" else BEDROCK
    return api.url(region_of(endpoint.name, endpoint.region or None, endpoint.profile or None))


def _openai(spec: _ClientSpec) -> ChatModel:
    from llm.openai.chat import OpenAIChat  # noqa: PLC0415

    endpoint = spec.endpoint
    return OpenAIChat(
        endpoint.name, endpoint.url, endpoint.model, api_key=spec.key, waits_when_busy=spec.is_alone, **spec.common
    )


def _tgi(spec: _ClientSpec) -> ChatModel:
    from llm.tgi.chat import TgiChat  # noqa: PLC0415

    endpoint = spec.endpoint
    return TgiChat(
        endpoint.name,
        endpoint.url,
        model=endpoint.model,
        template=_template(endpoint),
        bos=endpoint.bos,
        now=_local_now,
        api_key=spec.key,
        **spec.common,
    )


def _triton(spec: _ClientSpec) -> ChatModel:
    from llm.triton.generate import BACKENDS, TritonChat  # noqa: PLC0415

    endpoint = spec.endpoint
    return TritonChat(
        endpoint.name,
        endpoint.url,
        endpoint.model,
        template=_template(endpoint),
        version=endpoint.version,
        inputs=BACKENDS[endpoint.backend],
        echo=endpoint.echo,
        bos=endpoint.bos,
        now=_local_now,
        api_key=spec.key,
        **spec.common,
    )


def _grpc(spec: _ClientSpec) -> ChatModel:
    from llm.triton.grpc import TritonGrpcChat  # noqa: PLC0415

    endpoint = spec.endpoint
    template = _template(endpoint)
    return TritonGrpcChat(
        endpoint.name,
        endpoint.url,
        endpoint.model,
        prompt=_prompt(template, endpoint),
        stops=template.stops,
        version=endpoint.version,
        backend=endpoint.backend,
        details=endpoint.details,
        keepalive_s=endpoint.keepalive_s or None,
        ca_file=Path(endpoint.ca_file).expanduser() if endpoint.ca_file else None,
        api_key=spec.key,
        **spec.common,
    )


def _sagemaker(spec: _ClientSpec) -> ChatModel:
    from llm.aws.sagemaker import SageMakerChat  # noqa: PLC0415

    endpoint = spec.endpoint
    template = _template(endpoint) if endpoint.template else None
    return SageMakerChat(
        endpoint.name,
        endpoint.model,
        payload=endpoint.payload,
        prompt=None if template is None else _prompt(template, endpoint),
        stops=() if template is None else template.stops,
        inference_component=endpoint.inference_component or None,
        target_variant=endpoint.target_variant or None,
        region=endpoint.region or None,
        profile=endpoint.profile or None,
        url=endpoint.url or None,
        **spec.common,
    )


def _bedrock(spec: _ClientSpec) -> ChatModel:
    from llm.aws.bedrock import BedrockChat  # noqa: PLC0415

    endpoint = spec.endpoint
    template = _template(endpoint) if endpoint.template else None
    return BedrockChat(
        endpoint.name,
        endpoint.model,
        api=endpoint.api,
        family=None if endpoint.family == "auto" else endpoint.family,
        prompt=None if template is None else _prompt(template, endpoint),
        stops=() if template is None else template.stops,
        cache=endpoint.cache,
        latency=endpoint.latency,
        region=endpoint.region or None,
        profile=endpoint.profile or None,
        url=endpoint.url or None,
        **spec.common,
    )


def _local(spec: _ClientSpec) -> ChatModel:
    from llm.local.chat import LocalChat  # noqa: PLC0415
    from llm.local.process import ServerAddress, ServerSettings  # noqa: PLC0415
    from llm.local.server import ALIAS  # noqa: PLC0415
    from llm.openai.chat import OpenAIChat  # noqa: PLC0415

    endpoint = spec.endpoint
    need = Need(endpoint.model, "chat", "language model", "model")
    place = at_hand(need)
    if place is None:
        raise ValueError(f"llm endpoint {endpoint.name!r}: {lacking_model(need)}")
    recommended = {} if need.model is None else need.model.parameters
    common = spec.common
    common["parameters"] = {**recommended, **common["parameters"]}
    common["first_token_timeout_s"] = max(common["first_token_timeout_s"], LOCAL_TIMEOUT_S)
    common["token_gap_timeout_s"] = max(common["token_gap_timeout_s"], LOCAL_TIMEOUT_S)

    def client_of(address: ServerAddress) -> ChatModel:
        return OpenAIChat(endpoint.name, address.url, ALIAS, api_key=address.key, **common)

    settings = ServerSettings(
        place,
        context_tokens=endpoint.context_tokens or _context_tokens(spec),
        threads=local_llm_threads(endpoint.threads, cores()),
        prompt_threads=local_llm_threads(endpoint.threads, cores()),
    )
    return LocalChat(endpoint.name, endpoint.model, settings, client_of, instructions=spec.instructions)


def _context_tokens(spec: _ClientSpec) -> int:
    """Returns the room for a history, whose tokens are estimated, the instructions and an answer."""
    needed = spec.history_tokens * 3 // 2 + spec.common["max_tokens"] + INSTRUCTION_TOKENS
    return -(-needed // CONTEXT_STEP) * CONTEXT_STEP


_MAKERS: Mapping[EndpointKind, Callable[[_ClientSpec], ChatModel]] = MappingProxyType(
    {
        "openai": _openai,
        "tgi": _tgi,
        "triton": _triton,
        "grpc": _grpc,
        "sagemaker": _sagemaker,
        "bedrock": _bedrock,
        "local": _local,
    }
)


def _template(endpoint: EndpointSection) -> "ChatTemplate":
    from llm.chat_template import load_template  # noqa: PLC0415

    named = endpoint.template
    return load_template(endpoint.name, str(Path(named).expanduser()) if "~" in named else named, now=_local_now())


def _prompt(template: "ChatTemplate", endpoint: EndpointSection) -> Callable[[Sequence[Message]], str]:
    return lambda messages: template.prompt(messages, now=_local_now(), bos=endpoint.bos)


def _local_now() -> datetime:
    return datetime.now().astimezone()
