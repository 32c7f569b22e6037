"""Declares the protocols of Triton: `triton`, its generate extension over HTTP, and `grpc`, its streaming gRPC call."""

from pathlib import Path
from types import MappingProxyType

from llm.chat import ChatModel
from llm.protocols.protocol import LlmProtocol, UrlScheme
from llm.protocols.request import ClientRequest, EndpointKeys
from llm.triton.settings import GenerateSettings, GrpcSettings


def make_generate(request: ClientRequest) -> ChatModel:
    """Returns the client of an endpoint of kind `triton`. Raises ValueError."""
    from llm.triton.generate import BACKENDS, TritonChat  # noqa: PLC0415 - on use: httpx takes 80 ms

    endpoint, settings = request.endpoint, request.endpoint.own
    assert isinstance(settings, GenerateSettings)
    return TritonChat(
        endpoint.name,
        endpoint.url,
        endpoint.model,
        template=request.template(),
        version=settings.version,
        inputs=BACKENDS[settings.backend],
        echo=settings.echo,
        bos=endpoint.bos,
        now=request.now,
        api_key=request.api_key,
        **request.options,
    )


def make_grpc(request: ClientRequest) -> ChatModel:
    """Returns the client of an endpoint of kind `grpc`. Raises ValueError."""
    from llm.triton.grpc import TritonGrpcChat  # noqa: PLC0415 - on use: grpcio takes 100 ms

    endpoint, settings = request.endpoint, request.endpoint.own
    assert isinstance(settings, GrpcSettings)
    template = request.template()
    return TritonGrpcChat(
        endpoint.name,
        endpoint.url,
        endpoint.model,
        prompt=request.prompt(template),
        stops=template.stops,
        version=settings.version,
        backend=settings.backend,
        details=settings.details,
        keepalive_s=settings.keepalive_s or None,
        ca_file=Path(endpoint.ca_file).expanduser() if endpoint.ca_file else None,
        api_key=request.api_key,
        **request.options,
    )


def check_grpc(endpoint: EndpointKeys) -> None:
    """Raises ValueError for token counts of a backend that has none."""
    settings = endpoint.own
    assert isinstance(settings, GrpcSettings)
    if settings.details and settings.backend != "vllm":
        raise ValueError('details is available only for backend "vllm"; leave it out')


GENERATE = LlmProtocol(
    name="triton",
    make=make_generate,
    about="Triton's generate extension",
    settings=GenerateSettings,
    chosen_keys=("url", "api_key_env", "template", "bos"),
    needed_keys=("url", "template"),
    takes_functions=False,
)

GRPC = LlmProtocol(
    name="grpc",
    make=make_grpc,
    about="Triton over gRPC",
    settings=GrpcSettings,
    chosen_keys=("url", "api_key_env", "template", "bos", "ca_file"),
    needed_keys=("url", "template"),
    notes=MappingProxyType({"url": "also grpc:// or grpcs://"}),
    check=check_grpc,
    takes_functions=False,
    schemes=(
        UrlScheme("grpc", 8001),
        UrlScheme("grpcs", 443, has_tls=True),
        UrlScheme("http", 8001),
        UrlScheme("https", 443, has_tls=True),
    ),
    provider=GENERATE.name,
    packages=MappingProxyType({"grpcio": "grpc", "protobuf": "google.protobuf"}),
    extra="grpc",
)
