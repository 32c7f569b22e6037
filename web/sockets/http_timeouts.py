"""Adds timeouts and a limit on idle connections to uvicorn's HTTP protocol.

uvicorn waits forever for the rest of a request, and counts connections without a request against `limit_concurrency`. A
few hundred silent connections would block all other clients with 503. Here idle connections have their own limit.
Beyond it the oldest is closed, so a new connection is always accepted.
"""

import asyncio
from collections.abc import Iterable
from typing import cast

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from web.access.body_limits import takes_body
from web.process import descriptors

REQUEST_TIMEOUT_S = 10.0
"""Time limit from the connection, or the previous response, to a complete request."""

MAX_IDLE = 256
"""Idle connections of all clients; a quarter of the file descriptors if that is fewer."""
MAX_IDLE_OF_PEER = 64
"""Connections of one address, which may be a proxy's, that have been idle for `YOUNG_S`."""
YOUNG_S = 1.0
"""A client that connected more recently is expected to send its request."""

PIECE_BYTES = 1 << 10
"""Bytes parsed at a time until the request's headers are complete."""
BODY_PIECE_BYTES = 1 << 16
"""Bytes of a request body parsed at a time. uvicorn stops reading while the application is behind by as much."""


LINGER_S = 2.0
"""Time limit for reading the response, for a client that still sends a body that is not read."""


class TimedHttpProtocol(H11Protocol):
    """Closes a connection on which no request arrived in time.

    Parses request bodies only where the application takes one (`takes_body`); it limits their size and time itself. A
    connection with an unread body is closed after the response, once the client has had time to read it.
    """

    _timer: asyncio.TimerHandle | None = None
    _since_s = 0.0
    _upgraded = False
    _stopping = False
    _lingering = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn's own
        """Starts the request timeout of a new connection."""
        super().connection_made(transport)
        self._start_timeout()
        thin_out(self.connections, self.loop.time())

    def connection_lost(self, exc: Exception | None) -> None:
        """Stops the request timeout."""
        self._stop_timeout()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parses received data in pieces; ignores request bodies that the application does not take."""
        position = 0
        while position < len(data):
            in_body = self._has_body()
            if self.transport.is_closing() or self._upgraded or self._lingering:
                return
            if in_body and not self._body_is_read():
                return
            size = BODY_PIECE_BYTES if in_body else PIECE_BYTES
            super().data_received(data[position : position + size])
            position += size
            if self.cycle is not None:
                self._keep_or_close()

    def _keep_or_close(self) -> None:
        """Decides what happens to the connection after the response."""
        unread = self._has_body()
        self.cycle.keep_alive = not (unread or self._stopping)
        # uvicorn only writes to it, and closes it.
        self.cycle.transport = cast("asyncio.Transport", _Closing(self)) if unread else self.transport

    def linger(self) -> None:
        """Ends the connection for writing, and drops what still comes for a moment.

        If it was closed at once, the system would discard a response that the client, still sending, has not read.
        """
        if self.transport.is_closing() or not self.transport.can_write_eof():
            self.transport.close()
            return
        self._lingering = True
        self.transport.write_eof()
        self.flow.resume_reading()
        self.loop.call_later(LINGER_S, self.transport.close)

    def shutdown(self) -> None:
        """Closes the connection, after the response if a request is being answered."""
        self._stopping = True
        super().shutdown()

    def on_response_complete(self) -> None:
        """Starts the timeout for the next request."""
        super().on_response_complete()
        self._start_timeout()

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        """Hands the connection over to the WebSocket protocol."""
        self._stop_timeout()
        self._upgraded = True
        super().handle_websocket_upgrade(event)

    @property
    def idle(self) -> bool:
        """Whether no request is being answered."""
        return self.cycle is None or self.cycle.response_complete

    @property
    def idle_since_s(self) -> float:
        """Loop time since when the connection has waited for a request."""
        return self._since_s

    def _has_body(self) -> bool:
        return self.cycle is not None and self.conn.their_state is h11.SEND_BODY

    def _body_is_read(self) -> bool:
        """Returns whether the application takes the body of this request and has not answered yet."""
        return takes_body(self.scope["method"], self.scope["path"]) and not self.cycle.response_complete

    def _start_timeout(self) -> None:
        self._stop_timeout()
        self._since_s = self.loop.time()
        self._timer = self.loop.call_later(REQUEST_TIMEOUT_S, self._on_timeout)

    def _stop_timeout(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _on_timeout(self) -> None:
        if self.idle:  # otherwise a request is being answered
            self.transport.close()


class _Closing:
    """The transport of a connection whose client still sends: `close` lets it read the response first."""

    def __init__(self, protocol: TimedHttpProtocol) -> None:
        self._protocol = protocol
        self.write = protocol.transport.write
        self.is_closing = protocol.transport.is_closing

    def close(self) -> None:
        self._protocol.linger()


def thin_out(connections: Iterable[object], now_s: float) -> None:
    """Closes the oldest idle connections if there are too many in total or of one address."""
    idle = _idle(connections)
    limit = descriptors.limit()
    most = MAX_IDLE if limit is None else min(MAX_IDLE, limit // 4)
    if len(idle) > most:
        idle[0].transport.close()
    peers: dict[str, list[TimedHttpProtocol]] = {}
    for protocol in idle:
        if now_s - protocol.idle_since_s >= YOUNG_S:
            peers.setdefault(protocol.client[0] if protocol.client else "", []).append(protocol)
    for ones in peers.values():
        for protocol in ones[: max(0, len(ones) - MAX_IDLE_OF_PEER)]:
            protocol.transport.close()


def close_oldest_idle(connections: Iterable[object]) -> bool:
    """Closes the connection that has been idle for longest; returns False if there is none."""
    idle = _idle(connections)
    if idle:
        idle[0].transport.close()
    return bool(idle)


def _idle(connections: Iterable[object]) -> list[TimedHttpProtocol]:
    """Returns the idle connections, oldest first."""
    idle = [
        connection
        for connection in connections
        if isinstance(connection, TimedHttpProtocol) and connection.idle and not connection.transport.is_closing()
    ]
    return sorted(idle, key=lambda protocol: protocol.idle_since_s)
