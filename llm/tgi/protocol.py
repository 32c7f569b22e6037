"""Declares the protocol `tgi`: Text Generation Inference by its native route, which takes a prompt."""

from llm.chat import ChatModel
from llm.protocols.protocol import LlmProtocol
from llm.protocols.request import ClientRequest


def make(request: ClientRequest) -> ChatModel:
    """Returns the client of an endpoint. Raises ValueError."""
    from llm.tgi.chat import TgiChat  # noqa: PLC0415 - on use: httpx takes 80 ms

    endpoint = request.endpoint
    return TgiChat(
        endpoint.name,
        endpoint.url,
        model=endpoint.model,
        template=request.template(),
        bos=endpoint.bos,
        now=request.now,
        api_key=request.api_key,
        **request.options,
    )


PROTOCOL = LlmProtocol(
    name="tgi",
    make=make,
    about="Text Generation Inference, /generate_stream",
    chosen_keys=("url", "api_key_env", "template", "bos"),
    needed_keys=("url", "template"),
    takes_functions=False,
)
