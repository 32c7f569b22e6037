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
from llm.chat import PLAIN, ChatEvent, ChatOptions, Finished, Message, RequestSent, Token
from llm.errors import SPOKEN_EMPTY, LlmBroken, LlmUnreachable
from llm.protocols.protocol import LlmProtocol, UrlScheme
from llm.protocols.request import ClientRequest


@dataclass(frozen=True, slots=True)
class LineSettings:
    """Keys of an endpoint that only this protocol has."""

    encoding: Annotated[Literal["utf-8", "latin-1"], KeyInfo("Encoding of the lines.")] = "utf-8"


class LineChat:
    """Implements `ChatModel`. An empty line ends the answer; each answer has its own connection."""

    def __init__(self, request: ClientRequest) -> None:
        self.name, self._limits = request.endpoint.name, request.options
        self.detail = f"lines at {request.endpoint.url}"
        self._address = urlsplit(request.endpoint.url)
        assert isinstance(request.endpoint.own, LineSettings)
        self._encoding = request.endpoint.own.encoding

    async def load(self) -> None: ...
    async def aclose(self) -> None: ...

    async def stream(self, messages: Sequence[Message], options: ChatOptions = PLAIN) -> AsyncGenerator[ChatEvent]:
        """Yields the lines of the answer. Closing the generator closes the connection, which ends the work."""
        writer = None
        try:
            opening = asyncio.open_connection(self._address.hostname, self._address.port or 4000)
            reader, writer = await asyncio.wait_for(opening, self._limits["connect_timeout_s"])
            writer.write(json.dumps([asdict(message) for message in messages]).encode() + b"\n")
            yield RequestSent(None)
            wait_s = self._limits["first_token_timeout_s"]
            while (line := await asyncio.wait_for(reader.readline(), wait_s)).endswith(b"\n") and line != b"\n":
                yield Token(line.decode(self._encoding).removesuffix("\n"))
                wait_s = self._limits["token_gap_timeout_s"]
            if not line.endswith(b"\n"):
                raise self._broken("ends without an empty line: check the server")
            yield Finished("stop")
        except OSError as error:  # also TimeoutError
            text = f"{self.name} does not answer ({type(error).__name__}): check the server"
            raise LlmUnreachable(self.name, text, spoken=SPOKEN_EMPTY, retryable=True) from error
        except ValueError:  # without its text, which quotes the answer
            raise self._broken("sent a line over 64 KiB, or in another encoding: set encoding") from None
        finally:
            if writer is not None:
                writer.close()

    def _broken(self, what: str) -> LlmBroken:
        return LlmBroken(self.name, f"{self.name} {what}", spoken=SPOKEN_EMPTY, retryable=True)


PROTOCOL = LlmProtocol(
    name="lines",
    make=LineChat,
    about="lines of text over TCP",
    settings=LineSettings,
    chosen_keys=("url",),
    needed_keys=("url",),
    takes_functions=False,
    schemes=(UrlScheme("lines", 4000),),
)
