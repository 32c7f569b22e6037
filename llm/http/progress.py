"""How far a request has come, from httpx's `trace` extension: handshakes done, body out."""

import asyncio
from collections import deque
from collections.abc import Mapping

import httpcore

from llm.chat import RequestSent

NEWS_AHEAD = 8
"""Pieces of a body that wait for the listener before its service is held back."""

News = RequestSent | bytes | Exception | None
"""Of a request: it is on its way, once; its body; what went wrong, or None at its end."""


class Handshakes:
    """The last handshakes and small requests of one service, as an estimate of its round trip."""

    def __init__(self) -> None:
        self._durations_s: deque[float] = deque(maxlen=8)
        self._exchanges_s: deque[float] = deque(maxlen=8)

    def add(self, duration_s: float) -> None:
        """A TCP or TLS handshake took this long."""
        self._durations_s.append(duration_s)

    def exchanged(self, duration_s: float) -> None:
        """From a request that keeps the connection warm to the head of its answer."""
        self._exchanges_s.append(duration_s)

    @property
    def round_trip_s(self) -> float | None:
        """The least exchange: a round trip and what the service needs to answer anything at all. Before there was
        one, the least handshake: a round trip to whoever ends the connection, which may be a proxy nearby."""
        return min(self._exchanges_s, default=None) or min(self._durations_s, default=None)


class Progress:
    """Listens to one request.

    Attributes:
        news: What came of it; Sent is told here, the rest by whoever sends the request.
        connected: A connection was opened for it; False means that a kept one was used.
        socket: The connection opened for it, below TLS.
        settled: Clear from the end of a handshake to the next step, and while an answer is closed. A cancellation in
            between is lost on httpcore 1.0.9: the connection stays open, and in the pool, for ever.
    """

    def __init__(self, handshakes: Handshakes) -> None:
        self.news: asyncio.Queue[News] = asyncio.Queue(NEWS_AHEAD)
        self.connected = False
        self.socket: httpcore.AsyncNetworkStream | None = None
        self.settled = asyncio.Event()
        self.settled.set()
        self._handshakes = handshakes
        self._sending = False
        self._sent = False
        self._is_small = False
        self._sent_at_s = 0.0
        self._handshake_from_s = 0.0

    async def trace(self, name: str, info: Mapping[str, object]) -> None:
        """What httpcore reports."""
        self.settled.set()
        match name:
            case "connection.connect_tcp.started" | "connection.start_tls.started":
                self.connected = True
                self._handshake_from_s = asyncio.get_running_loop().time()
            case "connection.connect_tcp.complete" | "connection.start_tls.complete":
                self._handshakes.add(asyncio.get_running_loop().time() - self._handshake_from_s)
                self.settled.clear()
                stream = info.get("return_value")
                if name == "connection.connect_tcp.complete" and isinstance(stream, httpcore.AsyncNetworkStream):
                    self.socket = stream
            case "http11.response_closed.started":
                self.settled.clear()
            case "http11.send_request_body.started":
                # A proxy's CONNECT goes through the same steps before the request itself.
                request = info.get("request")
                self._sending = isinstance(request, httpcore.Request) and request.method != b"CONNECT"
                self._is_small = isinstance(request, httpcore.Request) and request.method in {b"GET", b"HEAD"}
            case "http11.receive_response_headers.complete" if self._sent and self._is_small:
                self._handshakes.exchanged(asyncio.get_running_loop().time() - self._sent_at_s)
            case "http11.send_request_body.complete" if self._sending and not self._sent:
                self._sent = True
                self._sent_at_s = asyncio.get_running_loop().time()
                self.news.put_nowait(RequestSent(self._handshakes.round_trip_s))
            case _:
                pass
