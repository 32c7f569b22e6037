"""uvicorn's WebSocket, read as long as little waits.

uvicorn stops reading a socket after every message and begins again when it was taken: two system calls each, fifty
times a second and conversation, 6 % of the event loop's time. The bound is what matters, not that it is one.
"""

from collections.abc import Callable

from starlette.types import Scope
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

MOST_WAITING = 8
"""Messages; a client that sends as fast as sound is made has one or two."""
MOST_BYTES = 1 << 14
"""Of a message that does not count as a small one: after it the socket is not read until it was taken."""

_ABORT = "repartee.abort"


def abort_of(scope: Scope) -> Callable[[], None]:
    """What cuts a connection off at once, whatever still waits to be sent on it."""
    abort: Callable[[], None] = scope["state"][_ABORT]
    return abort


class UnhurriedProtocol(WebSocketsSansIOProtocol):
    """Stops reading when `MOST_WAITING` messages wait, or a large one. Its connections can be cut off (`abort_of`)."""

    async def run_asgi(self) -> None:
        """The application, for this connection."""
        self.scope["state"][_ABORT] = self.transport.abort
        await super().run_asgi()

    def send_receive_event_to_app(self) -> None:
        """A message is complete."""
        large = sum(map(len, self.frames)) > MOST_BYTES
        was_paused, self.read_paused = self.read_paused, True  # then uvicorn does not pause
        super().send_receive_event_to_app()
        self.read_paused = was_paused
        if not was_paused and (large or self.queue.qsize() >= MOST_WAITING):
            self.read_paused = True
            self.transport.pause_reading()
