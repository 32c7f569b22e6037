"""Limits on messages of an MCP server, checked before they are parsed and validated.

Parsing holds the interpreter lock: a result with a million parts would block every conversation for seconds.
"""

from collections.abc import AsyncGenerator, Callable
from types import TracebackType
from typing import Self

import httpx2
from mcp.client._transport import ReadStream
from mcp.shared.message import SessionMessage
from mcp_types import ErrorData, JSONRPCError, JSONRPCResponse, RequestId

MAX_BYTES = 4 << 20
"""Bytes of one message. A picture that a tool returns has one or two megabytes."""

MAX_VALUES = 20_000
"""Commas, brackets and braces in one message, which bound the number of JSON values: about 20 ms of parsing."""

MAX_PARTS = 1000
"""Parts of one result, each of which is validated: about 10 ms."""

TOO_LARGE = -32_098
"""Error code that replaces an answer beyond these limits; one of the codes that JSON-RPC leaves free."""


def excess(data: bytes | bytearray) -> str:
    """Describes which limit a JSON message exceeds; "" if none."""
    if len(data) > MAX_BYTES:
        return f"more than {MAX_BYTES >> 20} MB"
    return f"more than {MAX_VALUES} values" if _values_in(data) > MAX_VALUES else ""


def _values_in(data: bytes | bytearray) -> int:
    return data.count(b",") + data.count(b"[") + data.count(b"{")


def too_large(request: RequestId, what: str) -> SessionMessage:
    """Returns the error that replaces an answer beyond the limits."""
    return SessionMessage(JSONRPCError(jsonrpc="2.0", id=request, error=ErrorData(code=TOO_LARGE, message=what)))


class LimitError(httpx2.StreamError):
    """The body of a response is not read, or not to its end."""


class LimitedBody(httpx2.AsyncByteStream):
    """The body of an HTTP response, read up to the limits. Raises LimitError beyond them."""

    def __init__(self, body: httpx2.AsyncByteStream, *, events: bool, on_excess: Callable[[str], None]) -> None:
        """`events`: a stream of server-sent events, each one message; `on_excess` is called beyond a limit."""
        self._body = body
        self._events = events
        self._on_excess = on_excess

    async def __aiter__(self) -> AsyncGenerator[bytes]:
        """Yields the chunks. Raises LimitError."""
        size_bytes = values = 0
        async for chunk in self._body:
            size_bytes += len(chunk)
            values += _values_in(chunk)
            if size_bytes > MAX_BYTES:
                self._refuse(f"more than {MAX_BYTES >> 20} MB")
            if values > MAX_VALUES:
                self._refuse(f"more than {MAX_VALUES} values")
            yield chunk
            if self._events and any(end in chunk for end in (b"\n\n", b"\r\n\r\n", b"\r\r")):
                size_bytes = values = 0

    async def aclose(self) -> None:
        """Closes the connection, unless the body was read completely."""
        await self._body.aclose()

    def _refuse(self, what: str) -> None:
        self._on_excess(what)
        raise LimitError(what)


class RefusedBody(httpx2.AsyncByteStream):
    """The body of a compressed response, which is not read. Raises LimitError."""

    def __init__(self, body: httpx2.AsyncByteStream) -> None:
        """`body` is closed unread."""
        self._body = body

    async def __aiter__(self) -> AsyncGenerator[bytes]:
        """Raises LimitError."""
        raise LimitError("compressed")
        yield b""  # makes this a generator

    async def aclose(self) -> None:
        """Closes the connection."""
        await self._body.aclose()


class LimitedParts:
    """Messages of a server. A result with more than MAX_PARTS parts becomes an error before it is validated."""

    def __init__(self, messages: ReadStream[SessionMessage | Exception]) -> None:
        """`messages`: the stream of the transport."""
        self._messages = messages

    async def receive(self) -> SessionMessage | Exception:
        """Returns the next message."""
        return _limit_parts(await self._messages.receive())

    async def aclose(self) -> None:
        """Closes the stream."""
        await self._messages.aclose()

    def __aiter__(self) -> Self:
        """Returns itself."""
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        """Returns the next message."""
        return _limit_parts(await anext(self._messages))

    async def __aenter__(self) -> Self:
        """Returns itself."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closes the stream."""
        await self.aclose()

    def __getattr__(self, name: str) -> object:
        """Returns other attributes of the library's streams, such as the sender's context."""
        return getattr(self._messages, name)


def _limit_parts(message: SessionMessage | Exception) -> SessionMessage | Exception:
    answer = message.message if isinstance(message, SessionMessage) else None
    if isinstance(answer, JSONRPCResponse):
        content = answer.result.get("content")
        if isinstance(content, list) and len(content) > MAX_PARTS:
            return too_large(answer.id, f"more than {MAX_PARTS} parts")
    return message
