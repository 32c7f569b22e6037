"""Time limits of requests: uvicorn's protocol without a socket."""

import asyncio

import pytest
from starlette.responses import Response
from starlette.types import Receive, Scope, Send
from uvicorn.config import Config
from uvicorn.server import ServerState

from web.sockets.http_timeouts import REQUEST_TIMEOUT_S, TimedHttpProtocol
from web.sockets.websocket_backpressure import BackpressureProtocol

pytestmark = pytest.mark.virtual_time

REQUEST = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
ANSWER_S = 3 * REQUEST_TIMEOUT_S
UPGRADE = (
    b"GET /slow HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)


class _Pipe(asyncio.Transport):
    """A transport that records when it was closed."""

    def __init__(self) -> None:
        super().__init__()
        self.said = b""
        self.began_s = asyncio.get_running_loop().time()
        self.closed_s: float | None = None

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.said += data

    def is_closing(self) -> bool:
        return self.closed_s is not None

    def close(self) -> None:
        self.closed_s = asyncio.get_running_loop().time() - self.began_s

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        pass

    def resume_reading(self) -> None:
        pass


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers requests; those to /slow late."""
    if scope["path"] == "/slow":
        await asyncio.sleep(ANSWER_S)
    if scope["type"] == "http":
        await Response("yes")(scope, receive, send)


def new_connection() -> tuple[_Pipe, TimedHttpProtocol]:
    """Returns a new connection: the server's transport and its protocol."""
    pipe = _Pipe()
    config = Config(app, http=TimedHttpProtocol, ws=BackpressureProtocol, ws_ping_interval=None, log_config=None)
    config.load()
    server = TimedHttpProtocol(config, ServerState(), {})
    server.connection_made(pipe)
    return pipe, server


@pytest.mark.parametrize("said", [b"", b"GET /", REQUEST[:-1]], ids=["nothing", "request line", "almost all"])
async def test_incomplete_request_times_out(said: bytes) -> None:
    pipe, server = new_connection()
    if said:
        server.data_received(said)
    await asyncio.sleep(REQUEST_TIMEOUT_S - 0.1)
    assert not pipe.is_closing()
    await asyncio.sleep(0.2)
    assert pipe.closed_s == pytest.approx(REQUEST_TIMEOUT_S)


async def test_slow_bytes_do_not_extend_the_timeout() -> None:
    pipe, server = new_connection()
    server.data_received(REQUEST)  # answered; the next request is slow
    for byte in REQUEST[:20]:
        await asyncio.sleep(0.9)
        server.data_received(bytes([byte]))
    assert pipe.closed_s == pytest.approx(REQUEST_TIMEOUT_S, abs=0.1)


async def test_slow_answer_does_not_time_out() -> None:
    pipe, server = new_connection()
    server.data_received(REQUEST.replace(b"/ ", b"/slow "))
    await asyncio.sleep(ANSWER_S + 1)
    assert pipe.said.endswith(b"yes")
    assert not pipe.is_closing()
    await asyncio.sleep(REQUEST_TIMEOUT_S)
    assert pipe.is_closing()


async def test_websocket_does_not_time_out() -> None:
    pipe, server = new_connection()
    server.data_received(UPGRADE)
    await asyncio.sleep(2 * REQUEST_TIMEOUT_S)
    assert not pipe.is_closing()
    await asyncio.sleep(2 * REQUEST_TIMEOUT_S)
