"""Limits on what an MCP server may answer, checked before it is parsed and validated.

Parsing holds the interpreter lock: a result with a million parts would stop every conversation for seconds.
"""

from collections.abc import AsyncGenerator, Callable
from types import TracebackType
from typing import Self

import httpx2
from mcp.client._transport import ReadStream
from mcp.shared.message import SessionMessage
from mcp_types import ErrorData, JSONRPCError, JSONRPCResponse, RequestId

MOST_BYTES = 4 << 20
"""Of one message: a picture that a tool returns has one or two megabytes."""

MOST_VALUES = 20_000
"""Commas, brackets and braces in one message, which bound the JSON values in it: some 20 ms of parsing."""

MOST_PARTS = 1000
"""Parts of one result, each of which is validated: some 10 ms."""

TOO_LARGE = -32_098
"""The code of the error that takes the place of an answer beyond these limits, of those that JSON-RPC leaves free."""


def excess(data: bytes | bytearray) -> str:
    """What of one message in JSON is beyond the limits, in words; "" for nothing."""
    if len(data) > MOST_BYTES:
        return f"more than {MOST_BYTES >> 20} MB"
    return f"more than {MOST_VALUES} values" if _values_in(data) > MOST_VALUES else ""


def _values_in(data: bytes | bytearray) -> int:
    return data.count(b",") + data.count(b"[") + data.count(b"{")


def too_large(request: RequestId, what: str) -> SessionMessage:
    """The answer to a request whose own answer is beyond the limits."""
    return SessionMessage(JSONRPCError(jsonrpc="2.0", id=request, error=ErrorData(code=TOO_LARGE, message=what)))


class LimitError(httpx2.StreamError):
    """The body of an answer is not read, or not to its end."""


class LimitedBody(httpx2.AsyncByteStream):
    """The body of an HTTP answer, read as far as the limits permit. Raises LimitError beyond them."""

    def __init__(self, body: httpx2.AsyncByteStream, *, events: bool, tell: Callable[[str], None]) -> None:
        """`events`: a stream of server-sent events, each of which is one message; `tell` hears what is too much."""
        self._body = body
        self._events = events
        self._tell = tell

    async def __aiter__(self) -> AsyncGenerator[bytes]:
        """Raises LimitError."""
        size_bytes = values = 0
        async for chunk in self._body:
            size_bytes += len(chunk)
            values += _values_in(chunk)
            if size_bytes > MOST_BYTES:
                self._refuse(f"more than {MOST_BYTES >> 20} MB")
            if values > MOST_VALUES:
                self._refuse(f"more than {MOST_VALUES} values")
            yield chunk
            if self._events and any(end in chunk for end in (b"\n\n", b"\r\n\r\n", b"\r\r")):
                size_bytes = values = 0

    async def aclose(self) -> None:
        """Close the connection, unless all was read."""
        await self._body.aclose()

    def _refuse(self, what: str) -> None:
        self._tell(what)
        raise LimitError(what)


class RefusedBody(httpx2.AsyncByteStream):
    """The body of an answer that is not read at all, because it is compressed. Raises LimitError."""

    def __init__(self, body: httpx2.AsyncByteStream) -> None:
        """`body` is closed unread."""
        self._body = body

    async def __aiter__(self) -> AsyncGenerator[bytes]:
        """Raises LimitError."""
        raise LimitError("compressed")
        yield b""  # makes this a generator

    async def aclose(self) -> None:
        """Close the connection."""
        await self._body.aclose()


class LimitedParts:
    """Messages of a server; a result of more than MOST_PARTS parts becomes an error before it is validated."""

    def __init__(self, messages: ReadStream[SessionMessage | Exception]) -> None:
        """`messages` as the transport gives them."""
        self._messages = messages

    async def receive(self) -> SessionMessage | Exception:
        """The next message."""
        return _with_few_parts(await self._messages.receive())

    async def aclose(self) -> None:
        """Close the stream."""
        await self._messages.aclose()

    def __aiter__(self) -> Self:
        """Itself."""
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        """The next message."""
        return _with_few_parts(await anext(self._messages))

    async def __aenter__(self) -> Self:
        """Itself."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the stream."""
        await self.aclose()

    def __getattr__(self, name: str) -> object:
        """What else the library's own streams have, such as the context of whoever sent."""
        return getattr(self._messages, name)


def _with_few_parts(message: SessionMessage | Exception) -> SessionMessage | Exception:
    answer = message.message if isinstance(message, SessionMessage) else None
    if isinstance(answer, JSONRPCResponse):
        content = answer.result.get("content")
        if isinstance(content, list) and len(content) > MOST_PARTS:
            return too_large(answer.id, f"more than {MOST_PARTS} parts")
    return message
