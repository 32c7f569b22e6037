"""Declares the protocols of AWS: `sagemaker`, a model's own container, and `bedrock`, models that AWS hosts."""

import re
from types import MappingProxyType

from llm.aws.settings import AwsEndpointSettings, BedrockSettings, SageMakerSettings
from llm.chat import ChatModel
from llm.protocols.protocol import LlmProtocol
from llm.protocols.request import ClientRequest, EndpointKeys

_REGION = re.compile(r"([a-z]{2,}(-[a-z]+)+-[0-9]+)?")


def make_sagemaker(request: ClientRequest) -> ChatModel:
    """Returns the client of an endpoint of kind `sagemaker`. Raises ValueError."""
    from llm.aws.sagemaker import SageMakerChat  # noqa: PLC0415 - on use: httpx takes 80 ms

    endpoint, settings = request.endpoint, request.endpoint.own
    assert isinstance(settings, SageMakerSettings)
    template = request.template() if endpoint.template else None
    return SageMakerChat(
        endpoint.name,
        endpoint.model,
        payload=settings.payload,
        prompt=None if template is None else request.prompt(template),
        stops=() if template is None else template.stops,
        inference_component=settings.inference_component or None,
        target_variant=settings.target_variant or None,
        region=endpoint.region or None,
        profile=settings.profile or None,
        url=endpoint.url or None,
        **request.options,
    )


def make_bedrock(request: ClientRequest) -> ChatModel:
    """Returns the client of an endpoint of kind `bedrock`. Raises ValueError."""
    from llm.aws.bedrock import BedrockChat  # noqa: PLC0415 - on use: httpx takes 80 ms

    endpoint, settings = request.endpoint, request.endpoint.own
    assert isinstance(settings, BedrockSettings)
    template = request.template() if endpoint.template else None
    return BedrockChat(
        endpoint.name,
        endpoint.model,
        api=settings.api,
        family=None if settings.family == "auto" else settings.family,
        prompt=None if template is None else request.prompt(template),
        stops=() if template is None else template.stops,
        cache=settings.cache,
        latency=settings.latency,
        region=endpoint.region or None,
        profile=settings.profile or None,
        url=endpoint.url or None,
        **request.options,
    )


def check_region(endpoint: EndpointKeys) -> None:
    """Raises ValueError for a region that AWS cannot have."""
    if not _REGION.fullmatch(endpoint.region):
        raise ValueError("region must be an AWS region such as eu-central-1, or empty")


def check_bedrock(endpoint: EndpointKeys) -> None:
    """Raises ValueError for keys that the API or the model family does not have."""
    settings = endpoint.own
    assert isinstance(settings, BedrockSettings)
    check_region(endpoint)
    if settings.api == "converse" and (endpoint.template or settings.family != "auto"):
        named = "template" if endpoint.template else "family"
        raise ValueError(f'{named} needs api = "invoke": set api, or leave it out')
    is_anthropic = settings.family == "anthropic" or (settings.family == "auto" and "anthropic." in endpoint.model)
    if endpoint.template and is_anthropic:
        raise ValueError("template is for models that accept a prompt, unlike those of Anthropic; leave it out")
    if endpoint.images and settings.family == "llama":
        raise ValueError("images need requests with messages, not with a prompt: leave images or template out")


def address_of(endpoint: EndpointKeys) -> str:
    """Returns the service's address in the endpoint's region. Raises ValueError if no region is known."""
    # Imported on use: other modules of the package look for botocore.
    from llm.aws.request import BEDROCK as BEDROCK_API  # noqa: PLC0415
    from llm.aws.request import SAGEMAKER as SAGEMAKER_API  # noqa: PLC0415
    from llm.aws.request import region_of  # noqa: PLC0415

    assert isinstance(endpoint.own, AwsEndpointSettings)
    api = SAGEMAKER_API if isinstance(endpoint.own, SageMakerSettings) else BEDROCK_API
    return api.url(region_of(endpoint.name, endpoint.region or None, endpoint.own.profile or None))


_REGION_NOTE = "the AWS region to use; without it, that of the environment or of the profile"
_PACKAGES = MappingProxyType({"botocore": "botocore"})

SAGEMAKER = LlmProtocol(
    name="sagemaker",
    make=make_sagemaker,
    about="a model's container on Amazon SageMaker",
    settings=SageMakerSettings,
    chosen_keys=("url", "template", "bos"),
    notes=MappingProxyType(
        {"url": "without it, the address of the region", "model": "the name of its endpoint", "region": _REGION_NOTE}
    ),
    check=check_region,
    default_address=address_of,
    provider="aws.sagemaker",
    credentials="AWS credentials",
    packages=_PACKAGES,
    extra="aws",
)

BEDROCK = LlmProtocol(
    name="bedrock",
    make=make_bedrock,
    about="models on Amazon Bedrock",
    settings=BedrockSettings,
    chosen_keys=("url", "template", "bos", "images"),
    notes=MappingProxyType({"url": "without it, the address of the region", "region": _REGION_NOTE}),
    check=check_bedrock,
    default_address=address_of,
    provider="aws.bedrock",
    credentials="AWS credentials",
    packages=_PACKAGES,
    extra="aws",
)
