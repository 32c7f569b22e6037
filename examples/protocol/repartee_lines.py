"""A protocol of its own package: the messages are sent as a line of JSON over TCP, and the answer comes in lines.

To use it: `pip install ./examples/protocol`, then add to your configuration:

    [[llm.endpoints]]
    name = "near"
    kind = "lines"
    url = "lines://127.0.0.1:4000"
    model = "any"
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Literal
from urllib.parse import urlsplit

from declarations.settings import KeyInfo
from llm.chat import PLAIN, ChatEvent, ChatModel, ChatOptions, Finished, Message, RequestSent, Token
from llm.errors import LlmBroken, LlmUnreachable
from llm.protocols.protocol import LlmProtocol, UrlScheme
from llm.protocols.request import ClientRequest

SCHEME = UrlScheme("lines", 4000)
SPOKEN = "I cannot ask my language model."


@dataclass(frozen=True, slots=True)
class LineSettings:
    """Keys of an endpoint that only this protocol has."""

    encoding: Annotated[Literal["utf-8", "latin-1"], KeyInfo("Encoding of the lines.")] = "utf-8"


class LineChat:
    """Implements `ChatModel`. An empty line ends the answer."""

    def __init__(self, request: ClientRequest, encoding: str) -> None:
        self.name = request.endpoint.name
        self.detail = f"lines at {request.endpoint.url}"
        address = urlsplit(request.endpoint.url)
        self._host, self._port = address.hostname, address.port or SCHEME.port
        self._encoding, self._limits = encoding, request.options

    async def load(self) -> None:
        """Prepares nothing."""

    async def stream(self, messages: Sequence[Message], options: ChatOptions = PLAIN) -> AsyncGenerator[ChatEvent]:
        """Yields the lines of the answer. Closing the generator closes the connection, which ends the work."""
        writer = None
        try:
            opening = asyncio.open_connection(self._host, self._port)
            reader, writer = await asyncio.wait_for(opening, self._limits["connect_timeout_s"])
            writer.write(json.dumps([asdict(message) for message in messages]).encode() + b"\n")
            yield RequestSent(None)
            wait_s = self._limits["first_token_timeout_s"]
            while (line := await asyncio.wait_for(reader.readline(), wait_s)) != b"\n":
                if not line:
                    raise LlmBroken(self.name, f"{self.name}: no end: check the server", spoken=SPOKEN, retryable=True)
                yield Token(line.decode(self._encoding).removesuffix("\n"))
                wait_s = self._limits["token_gap_timeout_s"]
            yield Finished("stop")
        except OSError as error:  # also TimeoutError
            text = f"{self.name} does not answer ({type(error).__name__}): check the server"
            raise LlmUnreachable(self.name, text, spoken=SPOKEN, retryable=True) from error
        finally:
            if writer is not None:
                writer.close()

    async def aclose(self) -> None:
        """Closes nothing: each answer has its own connection."""


def make(request: ClientRequest) -> ChatModel:
    """Returns the client of an endpoint."""
    assert isinstance(request.endpoint.own, LineSettings)
    return LineChat(request, request.endpoint.own.encoding)


PROTOCOL = LlmProtocol(
    name="lines",
    make=make,
    about="lines of text over TCP",
    settings=LineSettings,
    chosen_keys=("url",),
    needed_keys=("url",),
    takes_functions=False,
    schemes=(SCHEME,),
)
