"""Declares the protocol `openai`: OpenAI's chat completions, which most services and servers have."""

from types import MappingProxyType
from typing import TYPE_CHECKING

from llm.chat import ChatModel
from llm.protocols.protocol import ListRequest, LlmProtocol
from llm.protocols.request import ClientRequest

if TYPE_CHECKING:
    from llm.listing import Listing


def make(request: ClientRequest) -> ChatModel:
    """Returns the client of an endpoint. Raises ValueError."""
    from llm.openai.chat import OpenAIChat  # noqa: PLC0415 - on use: httpx takes 80 ms

    endpoint = request.endpoint
    return OpenAIChat(
        endpoint.name,
        endpoint.url,
        endpoint.model,
        api_key=request.api_key,
        waits_when_busy=request.is_alone,
        **request.options,
    )


async def list_models(request: ListRequest) -> "Listing":
    """Returns the models of a service. Raises LlmError, ValueError."""
    from llm.listing import ask  # noqa: PLC0415 - on use: httpx takes 80 ms

    return await ask(
        request.name, request.url, api_key=request.api_key, timeout_s=request.timeout_s, headers=request.headers
    )


PROTOCOL = LlmProtocol(
    name="openai",
    make=make,
    about="any OpenAI-compatible service",
    chosen_keys=("url", "api_key_env", "images"),
    needed_keys=("url",),
    is_default=True,
    provider_of_domain=MappingProxyType({"azure.com": "azure.ai.openai"}),
    list_models=list_models,
)
