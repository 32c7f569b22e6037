"""Declares the protocol `local`: a model that the program runs on this machine, with llama.cpp in a child process."""

from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated

from declarations.settings import KeyInfo
from llm.chat import ChatModel
from llm.local.catalogue import CHAT
from llm.protocols.protocol import LlmProtocol
from llm.protocols.request import ClientRequest

INSTRUCTION_TOKENS = 640
"""Room in the context for the instructions and the tools."""

CONTEXT_STEP = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalSettings:
    """Keys of a model on this machine."""

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


def make(request: ClientRequest) -> ChatModel:
    """Returns the client of an endpoint; `load` starts the process. Raises ValueError."""
    from llm.local.chat import LocalChat  # noqa: PLC0415 - on use: httpx takes 80 ms
    from llm.local.process import ServerAddress, ServerSettings  # noqa: PLC0415
    from llm.local.server import ALIAS  # noqa: PLC0415
    from llm.openai.chat import OpenAIChat  # noqa: PLC0415

    endpoint, settings = request.endpoint, request.endpoint.own
    assert isinstance(settings, LocalSettings)
    assert request.model is not None, "each endpoint has a model"

    def client_of(address: ServerAddress) -> ChatModel:
        return OpenAIChat(endpoint.name, address.url, ALIAS, api_key=address.key, **request.options)

    threads = settings.threads or request.threads
    server = ServerSettings(
        request.model,
        context_tokens=settings.context_tokens or context_tokens(request),
        threads=threads,
        prompt_threads=threads,
    )
    return LocalChat(endpoint.name, endpoint.model, server, client_of, instructions=request.instructions)


def context_tokens(request: ClientRequest) -> int:
    """Returns the room for a history, whose tokens are estimated, the instructions and an answer."""
    needed = request.history_tokens * 3 // 2 + request.options["max_tokens"] + INSTRUCTION_TOKENS
    return -(-needed // CONTEXT_STEP) * CONTEXT_STEP


PROTOCOL = LlmProtocol(
    name="local",
    make=make,
    about="a model that this program runs itself",
    settings=LocalSettings,
    chosen_keys=("fallback",),
    notes=MappingProxyType({"model": "a name of `repartee models` or the path of a GGUF file"}),
    is_on_this_machine=True,
    models=CHAT,
    # ten times its slowest token on a machine that others keep busy; a process that hangs is replaced before
    least_timeout_s=120.0,
    packages=MappingProxyType({"xllamacpp": "xllamacpp"}),
    extra="local",
)
