"""uvicorn's HTTP, for requests that come in time.

uvicorn waits for ever for the rest of a request, and counts whoever sends none against `limit_concurrency`: a few
hundred connections that say nothing kept everybody else out, with 503.
"""

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

REQUEST_TIMEOUT_S = 10.0
"""From the connection, or the answer before, to a whole request."""


class PunctualProtocol(H11Protocol):
    """Closes a connection on which no request came in time."""

    _due: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn's own
        """It begins."""
        super().connection_made(transport)
        self._expect()

    def connection_lost(self, exc: Exception | None) -> None:
        """It is over."""
        self._expect_none()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        """A request was answered."""
        super().on_response_complete()
        self._expect()

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        """It is a WebSocket's from here on."""
        self._expect_none()
        super().handle_websocket_upgrade(event)

    def _expect(self) -> None:
        self._expect_none()
        self._due = self.loop.call_later(REQUEST_TIMEOUT_S, self._late)

    def _expect_none(self) -> None:
        if self._due is not None:
            self._due.cancel()

    def _late(self) -> None:
        if self.cycle is None or self.cycle.response_complete:  # else one has come, and is being answered
            self.transport.close()
