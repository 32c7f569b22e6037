"""Tracks a request by httpx's `trace` extension: handshakes and the sent body."""

import asyncio
from collections import deque
from collections.abc import Mapping

import httpcore

from llm.chat import RequestSent

MAX_QUEUED = 8
"""Pieces of a body that are queued for the consumer before reading pauses."""

QueueItem = RequestSent | bytes | Exception | None
"""Queue entries of a request: RequestSent once, then pieces of the body, then an error or None at the end."""


class RoundTripEstimate:
    """Estimates the round trip to a service from its recent handshakes and small requests."""

    def __init__(self) -> None:
        self._durations_s: deque[float] = deque(maxlen=8)
        self._exchanges_s: deque[float] = deque(maxlen=8)

    def add_handshake(self, duration_s: float) -> None:
        """Records the duration of a TCP or TLS handshake."""
        self._durations_s.append(duration_s)

    def add_exchange(self, duration_s: float) -> None:
        """Records the time from a small keep-warm request to its response headers."""
        self._exchanges_s.append(duration_s)

    @property
    def round_trip_s(self) -> float | None:
        """The shortest recent exchange: a round trip and the service's minimal processing time.

        Without an exchange, the shortest handshake: a round trip to the peer, which may be a nearby proxy.
        """
        return min(self._exchanges_s, default=None) or min(self._durations_s, default=None)


class Progress:
    """Tracks one request.

    Attributes:
        queue: The queue of its events. RequestSent is put here, the rest by the sender of the request.
        connected: Whether a connection was opened for the request; False: a kept one was used.
        socket: The connection opened for it, below TLS.
        settled: Cleared from the end of a handshake to the next step, and while an answer is closed. httpcore 1.0.9
            loses a cancellation in between: the connection would stay open, and in the pool, forever.
    """

    def __init__(self, handshakes: RoundTripEstimate) -> None:
        self.queue: asyncio.Queue[QueueItem] = asyncio.Queue(MAX_QUEUED)
        self.connected = False
        self.socket: httpcore.AsyncNetworkStream | None = None
        self.settled = asyncio.Event()
        self.settled.set()
        self._round_trip = handshakes
        self._sending = False
        self._sent = False
        self._is_small = False
        self._sent_at_s = 0.0
        self._handshake_from_s = 0.0

    async def trace(self, name: str, info: Mapping[str, object]) -> None:
        """Handles a step that httpcore reports."""
        self.settled.set()
        match name:
            case "connection.connect_tcp.started" | "connection.start_tls.started":
                self.connected = True
                self._handshake_from_s = asyncio.get_running_loop().time()
            case "connection.connect_tcp.complete" | "connection.start_tls.complete":
                self._round_trip.add_handshake(asyncio.get_running_loop().time() - self._handshake_from_s)
                self.settled.clear()
                stream = info.get("return_value")
                if name == "connection.connect_tcp.complete" and isinstance(stream, httpcore.AsyncNetworkStream):
                    self.socket = stream
            case "http11.response_closed.started":
                self.settled.clear()
            case "http11.send_request_body.started":
                # A proxy's CONNECT reports the same steps before the request itself.
                request = info.get("request")
                self._sending = isinstance(request, httpcore.Request) and request.method != b"CONNECT"
                self._is_small = isinstance(request, httpcore.Request) and request.method in {b"GET", b"HEAD"}
            case "http11.receive_response_headers.complete" if self._sent and self._is_small:
                self._round_trip.add_exchange(asyncio.get_running_loop().time() - self._sent_at_s)
            case "http11.send_request_body.complete" if self._sending and not self._sent:
                self._sent = True
                self._sent_at_s = asyncio.get_running_loop().time()
                self.queue.put_nowait(RequestSent(self._round_trip.round_trip_s))
            case _:
                pass
