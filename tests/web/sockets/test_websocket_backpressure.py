"""Reading pauses until messages are taken: uvicorn's protocol without a socket."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest
from uvicorn.config import Config
from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.server import ServerState
from websockets.client import ClientProtocol
from websockets.frames import Frame, Opcode
from websockets.uri import parse_uri

from web.sockets.websocket_backpressure import (
    FRAMES_AT_ONCE,
    LINGER_BYTES,
    MAX_BYTES,
    MAX_WAITING,
    PAUSE_S,
    BackpressureProtocol,
)

pytestmark = pytest.mark.virtual_time

Receive = Callable[[], Coroutine[None, None, dict[str, object]]]
Send = Callable[[dict[str, object]], Coroutine[None, None, None]]


class _Pipe(asyncio.Transport):
    """A transport that drops written data and counts pauses of reading."""

    def __init__(self) -> None:
        super().__init__()
        self.reading = True
        self.stops = 0
        self.written = 0
        self.lost = False
        self.said = b""

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written += 1
        self.said += data

    def pause_reading(self) -> None:
        self.reading = False
        self.stops += 1

    def resume_reading(self) -> None:
        self.reading = True

    def is_closing(self) -> bool:
        return self.lost

    def close(self) -> None:
        self.lost = True


@dataclass(frozen=True, slots=True)
class _Connection:
    """An accepted connection.

    Attributes:
        pipe: The server's transport.
        protocol: The server's protocol.
        client: The client's end.
        receive: Receives as the application.
        send: Sends as the application.
    """

    pipe: _Pipe
    protocol: BackpressureProtocol
    client: ClientProtocol
    receive: Receive
    send: Send

    def say(self, text: str) -> None:
        """Sends a text as the client."""
        self.client.send_text(text.encode())
        self.protocol.data_received(b"".join(self.client.data_to_send()))


@asynccontextmanager
async def accepted(*, ping_s: float | None = None) -> AsyncGenerator[_Connection]:
    """Opens a connection, which the application accepts."""
    begun, over = asyncio.Event(), asyncio.Event()
    ends: list[tuple[Receive, Send]] = []

    async def app(_scope: object, receive: Receive, send: Send) -> None:
        await receive()
        await send({"type": "websocket.accept"})
        ends.append((receive, send))
        begun.set()
        await over.wait()

    protocol, pipe = protocol_of(app, ping_s)
    client = ClientProtocol(parse_uri("ws://localhost/"))
    client.send_request(client.connect())
    protocol.data_received(b"".join(client.data_to_send()))
    await begun.wait()
    client.state = client.state.OPEN
    yield _Connection(pipe, protocol, client, *ends[0])
    over.set()
    await asyncio.sleep(0.1)


def protocol_of(app: object, ping_s: float | None = None) -> tuple[BackpressureProtocol, _Pipe]:
    """Returns the protocol of a new connection, and its transport."""
    config = Config(app, ws=BackpressureProtocol, ws_ping_interval=ping_s, ws_ping_timeout=ping_s, log_config=None)  # type: ignore[arg-type]
    config.load()
    protocol, pipe = BackpressureProtocol(config, ServerState(), {}), _Pipe()
    protocol.connection_made(pipe)
    return protocol, pipe


async def test_single_messages_never_pause_reading() -> None:
    async with accepted() as connection:
        for number in range(5 * MAX_WAITING):
            connection.say(f"{number}")
            assert (await connection.receive())["text"] == f"{number}"
        assert connection.pipe.stops == 0


async def test_untaken_messages_pause_reading() -> None:
    async with accepted() as connection:
        for number in range(MAX_WAITING - 1):
            connection.say(f"{number}")
        assert connection.pipe.reading
        connection.say("one more")
        assert not connection.pipe.reading
        connection.say("what was read with it")
        for _ in range(MAX_WAITING):
            await connection.receive()
            assert not connection.pipe.reading
        await connection.receive()
        assert connection.pipe.reading
        assert connection.pipe.stops == 1


async def test_large_message_pauses_reading_at_once() -> None:
    async with accepted() as connection:
        connection.say("x" * (MAX_BYTES + 1))
        assert not connection.pipe.reading
        await connection.receive()
        assert connection.pipe.reading
        connection.say("x" * MAX_BYTES)
        assert connection.pipe.reading


async def test_messages_after_close_do_not_pause_reading() -> None:
    async with accepted() as connection:
        for number in range(2 * MAX_WAITING):
            connection.say(f"{number}")
        assert not connection.pipe.reading
        await connection.send({"type": "websocket.close", "code": 1013})
        assert connection.pipe.reading
        connection.say("said before the close arrived")
        connection.say("x" * (MAX_BYTES + 1))
        assert connection.pipe.reading


async def test_lost_connection_is_not_written_to() -> None:
    async with accepted() as connection:
        await connection.send({"type": "websocket.send", "text": "{}"})
        written, connection.pipe.lost = connection.pipe.written, True
        with pytest.raises(ClientDisconnected):
            await connection.send({"type": "websocket.send", "text": "{}"})
        assert connection.pipe.written == written


@pytest.mark.parametrize("client", ["is not read", "speaks", "says nothing"])
async def test_missing_pong_is_ignored_if_client_sends_or_is_paused(client: str) -> None:
    async with accepted(ping_s=20.0) as connection:
        for _ in range(MAX_WAITING * (client == "is not read")):
            connection.say("sound that comes too fast")
        for _ in range(5):
            await asyncio.sleep(10)
            if client == "speaks":
                connection.say("still here")
                await connection.receive()
        assert connection.pipe.lost == (client == "says nothing")
        if client == "is not read":
            for _ in range(MAX_WAITING):
                await connection.receive()
            assert connection.pipe.reading
            await asyncio.sleep(41)
            assert connection.pipe.lost, "read again, it said nothing"


async def test_empty_fragments_are_dropped() -> None:
    server, _ = protocol_of(lambda: None)
    server.handle_text(Frame(Opcode.TEXT, b"{", fin=False))
    for _ in range(1000):
        server.handle_cont(Frame(Opcode.CONT, b"", fin=False))
    server.handle_cont(Frame(Opcode.CONT, b"}", fin=False))
    assert server.frames == [b"{", b"}"]
    server.handle_cont(Frame(Opcode.CONT, b""))
    assert server.queue.get_nowait() == {"type": "websocket.receive", "text": "{}"}


HANDSHAKE = "GET / HTTP/1.1\r\nHost: x\r\nSec-WebSocket-Version: 13\r\n"
KEY = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
UPGRADE = "Connection: Upgrade\r\nUpgrade: websocket\r\n"


@pytest.mark.parametrize(
    "request_text",
    [
        "POST / HTTP/1.1\r\nHost: x\r\n\r\n",
        f"GET / HTTP/1.1\r\nHost: x\r\nCookie: {'x' * 9000}\r\n\r\n",
        f"{HANDSHAKE}{UPGRADE}{KEY}Sec-WebSocket-Protocol: realtime, ä\r\n\r\n",
        f"{HANDSHAKE}{UPGRADE}{KEY}SEC-WEBSOCKET-EXTENSIONS: ä\r\n\r\n",
        f"{HANDSHAKE}{UPGRADE}Sec-WebSocket-Key: ä\r\n\r\n",
        f"{HANDSHAKE}{KEY}Upgrade: websocket\r\nConnection: Upgrade, ä\r\n\r\n",
    ],
    ids=["post", "long header", "subprotocol", "extension", "key", "connection"],
)
async def test_invalid_handshake_is_answered_and_closed(request_text: str) -> None:
    server, pipe = protocol_of(lambda: None)
    server.data_received(request_text.encode())
    assert pipe.said.startswith(b"HTTP/1.1 400 Bad Request\r\n")
    assert pipe.lost
    server.data_received(b"more")
    assert pipe.written == 1


async def test_other_headers_of_a_handshake_may_have_any_bytes() -> None:
    async def app(_scope: object, _receive: Receive, send: Send) -> None:
        await send({"type": "websocket.accept"})

    server, pipe = protocol_of(app)
    server.data_received(f"{HANDSHAKE}{UPGRADE}{KEY}Cookie: name=ä\r\n\r\n".encode())
    await asyncio.sleep(1)
    assert pipe.said.startswith(b"HTTP/1.1 101 ")


async def test_frames_before_handshake_answer_wait() -> None:
    may_accept = asyncio.Event()
    said: list[object] = []

    async def app(_scope: object, receive: Receive, send: Send) -> None:
        await receive()
        await may_accept.wait()
        await send({"type": "websocket.accept"})
        said.append((await receive())["text"])

    server, pipe = protocol_of(app)
    client = ClientProtocol(parse_uri("ws://localhost/"))
    client.send_request(client.connect())
    server.data_received(b"".join(client.data_to_send()))
    await asyncio.sleep(0.1)
    client.state = client.state.OPEN
    client.send_ping(b"early")
    client.send_text(b"hello")
    server.data_received(b"".join(client.data_to_send()))
    await asyncio.sleep(0.1)
    assert (pipe.said, pipe.reading) == (b"", False)
    may_accept.set()
    await asyncio.sleep(0.1)
    assert pipe.said.startswith(b"HTTP/1.1 101")
    assert pipe.said.endswith(b"early")
    assert said == ["hello"]
    assert pipe.reading


async def test_reading_that_stopped_after_the_close_frame_stays_stopped() -> None:
    """A flood had left a piece that was to be parsed later."""
    async with accepted() as connection:
        await connection.send({"type": "websocket.close", "code": 1013})
        connection.protocol.data_received(Frame(Opcode.TEXT, b"").serialize(mask=True) * 40_000)
        connection.protocol.data_received(b"x" * (LINGER_BYTES + 1))
        await asyncio.sleep(2 * PAUSE_S)
        assert not connection.pipe.reading


async def test_empty_messages_after_close_are_parsed_in_pieces() -> None:
    async with accepted() as connection:
        await connection.send({"type": "websocket.close", "code": 1013})
        loop = asyncio.get_running_loop()
        began_s = loop.time()
        connection.say("")
        connection.protocol.data_received(Frame(Opcode.TEXT, b"").serialize(mask=True) * 40_000)
        assert not connection.pipe.reading
        while not connection.pipe.reading:  # noqa: ASYNC110 - virtual time
            await asyncio.sleep(0.01)
        assert loop.time() - began_s == pytest.approx(40_000 / FRAMES_AT_ONCE * PAUSE_S, rel=0.5)
