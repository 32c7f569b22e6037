"""uvicorn's HTTP, for requests that come in time and connections that have one.

uvicorn waits for ever for the rest of a request, and counts whoever sends none against `limit_concurrency`: a few
hundred connections that say nothing kept everybody else out, with 503. Here they have a limit of their own, beyond
which the oldest is closed, so that a new connection is always let in.
"""

import asyncio
from collections.abc import Iterable

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from web import descriptors

REQUEST_TIMEOUT_S = 10.0
"""From the connection, or the answer before, to a whole request."""

MOST_IDLE = 256
"""Connections without a request, of all clients; a quarter of the file descriptors, where those are fewer."""
MOST_IDLE_OF_PEER = 64
"""Of one address, which may be a proxy's: those that say nothing for `YOUNG_S`."""
YOUNG_S = 1.0
"""A client that has just connected is about to send its request."""

PIECE_BYTES = 1 << 10
"""Of what was read, parsed at a time, until the request is there: a body, which no address takes, is not parsed."""


class TimedHttpProtocol(H11Protocol):
    """Closes a connection on which no request came in time."""

    _due: asyncio.TimerHandle | None = None
    _since_s = 0.0
    _upgraded = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn's own
        """It begins."""
        super().connection_made(transport)
        self._expect()
        thin_out(self.connections, self.loop.time())

    def connection_lost(self, exc: Exception | None) -> None:
        """It is over."""
        self._expect_none()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Something comes."""
        for at in range(0, len(data), PIECE_BYTES):
            if self.transport.is_closing() or self._has_body() or self._upgraded:
                return
            super().data_received(data[at : at + PIECE_BYTES])
        if self._has_body():
            self.cycle.keep_alive = False

    def on_response_complete(self) -> None:
        """A request was answered."""
        super().on_response_complete()
        self._expect()

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        """It is a WebSocket's from here on."""
        self._expect_none()
        self._upgraded = True
        super().handle_websocket_upgrade(event)

    @property
    def idle(self) -> bool:
        """Whether it has no request that is being answered."""
        return self.cycle is None or self.cycle.response_complete

    @property
    def idle_since_s(self) -> float:
        """Since when it waits for a request, by the loop's clock."""
        return self._since_s

    def _has_body(self) -> bool:
        return self.cycle is not None and self.conn.their_state is h11.SEND_BODY

    def _expect(self) -> None:
        self._expect_none()
        self._since_s = self.loop.time()
        self._due = self.loop.call_later(REQUEST_TIMEOUT_S, self._late)

    def _expect_none(self) -> None:
        if self._due is not None:
            self._due.cancel()

    def _late(self) -> None:
        if self.idle:  # else one has come, and is being answered
            self.transport.close()


def thin_out(connections: Iterable[object], now_s: float) -> None:
    """Close the oldest connections without a request where there are too many: of all, and of one address."""
    idle = _idle(connections)
    limit = descriptors.limit()
    most = MOST_IDLE if limit is None else min(MOST_IDLE, limit // 4)
    if len(idle) > most:
        idle[0].transport.close()
    peers: dict[str, list[TimedHttpProtocol]] = {}
    for one in idle:
        if now_s - one.idle_since_s >= YOUNG_S:
            peers.setdefault(one.client[0] if one.client else "", []).append(one)
    for ones in peers.values():
        for one in ones[: max(0, len(ones) - MOST_IDLE_OF_PEER)]:
            one.transport.close()


def close_oldest_idle(connections: Iterable[object]) -> bool:
    """Close the connection that has been without a request for longest; False: there is none."""
    idle = _idle(connections)
    if idle:
        idle[0].transport.close()
    return bool(idle)


def _idle(connections: Iterable[object]) -> list[TimedHttpProtocol]:
    """The oldest first."""
    idle = [
        one for one in connections if isinstance(one, TimedHttpProtocol) and one.idle and not one.transport.is_closing()
    ]
    return sorted(idle, key=lambda one: one.idle_since_s)
