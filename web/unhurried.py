"""uvicorn's WebSocket, read as long as little waits.

uvicorn stops reading a socket after every message and begins again when it was taken: two system calls each, fifty
times a second and conversation, 6 % of the event loop's time. The bound is what matters, not that it is one.
"""

import asyncio
from collections.abc import Callable

from starlette.types import Scope
from uvicorn._types import ASGISendEvent
from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import Frame

MOST_WAITING = 8
"""Messages; a client that sends as fast as sound is made has one or two."""
MOST_BYTES = 1 << 14
"""Of a message that does not count as a small one: after it the socket is not read until it was taken."""

NO_HANDSHAKE = b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
"""To a request that is none for a WebSocket, by its method or a header over 8 kB: uvicorn would answer nothing."""

_ABORT = "repartee.abort"
_TRANSPORT = "repartee.transport"


def abort_of(scope: Scope) -> Callable[[], None]:
    """What cuts a connection off at once, whatever still waits to be sent on it."""
    abort: Callable[[], None] = scope["state"][_ABORT]
    return abort


def transport_of(scope: Scope) -> asyncio.Transport | None:
    """The connection itself; None where it is not known."""
    transport: asyncio.Transport | None = scope.get("state", {}).get(_TRANSPORT)
    return transport


class UnhurriedProtocol(WebSocketsSansIOProtocol):
    """Stops reading when `MOST_WAITING` messages wait, or a large one. Its connections can be cut off (`abort_of`)."""

    _said_something = False  # the client, since its pong was last waited for

    async def run_asgi(self) -> None:
        """The application, for this connection."""
        self.scope["state"][_ABORT] = self.transport.abort
        self.scope["state"][_TRANSPORT] = self.transport
        await super().run_asgi()

    async def send(self, message: ASGISendEvent) -> None:
        """The application's next message. Raises ClientDisconnected."""
        # A lost transport says so to the protocol a little later, and logs what is written to it until then.
        if message["type"] == "websocket.send" and self.transport.is_closing():
            raise ClientDisconnected
        await super().send(message)

    def data_received(self, data: bytes) -> None:
        """Something comes."""
        self._said_something = True
        super().data_received(data)
        if self.conn.handshake_exc is not None and not (self.handshake_initiated or self.transport.is_closing()):
            self.transport.write(NO_HANDSHAKE)
            self.transport.close()

    def handle_cont(self, event: Frame) -> None:
        """Part of a message: of nothing there might be any number, which no limit on its length would end."""
        if event.data or event.fin:
            super().handle_cont(event)

    def handle_ping(self) -> None:
        """The client asks whether anybody is here."""
        if not self.transport.is_closing():
            super().handle_ping()

    def send_keepalive_ping(self) -> None:
        """Is the client still there?"""
        self._said_something = False
        super().send_keepalive_ping()

    def keepalive_timeout(self) -> None:
        """A ping was not answered: the client is gone, unless it speaks, or is not read since it spoke too fast."""
        if self.ping_timeout is not None and (self._said_something or self.read_paused):
            self._said_something = False
            self.pong_timer = self.loop.call_later(self.ping_timeout, self.keepalive_timeout)
        else:
            super().keepalive_timeout()

    def send_receive_event_to_app(self) -> None:
        """A message is complete."""
        large = sum(map(len, self.frames)) > MOST_BYTES
        was_paused, self.read_paused = self.read_paused, True  # then uvicorn does not pause
        super().send_receive_event_to_app()
        self.read_paused = was_paused
        # Once it is closed here nothing is taken any more, and what is read for is the client's own close.
        if not (was_paused or self.close_sent) and (large or self.queue.qsize() >= MOST_WAITING):
            self.read_paused = True
            self.transport.pause_reading()
