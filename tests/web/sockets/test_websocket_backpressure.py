"""Reading pauses until messages are taken: uvicorn's protocol without a socket."""

import asyncio
from collections.abc import Callable, Coroutine

import pytest
from support.clocks.virtual_time import run_virtual
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


def run_scene(
    scene: Callable[[_Pipe, Callable[[str], None], Receive], Coroutine[None, None, None]],
    app_send: list[Send] | None = None,
    *,
    ping_s: float | None = None,
) -> None:
    """Runs a scene on an accepted connection. `app_send` gets the application's send function."""

    async def main() -> None:
        accepted, over = asyncio.Event(), asyncio.Event()
        app_receive: list[Receive] = []

        async def app(_scope: object, receive: Receive, send: Send) -> None:
            if app_send is not None:
                app_send.append(send)
            await receive()
            await send({"type": "websocket.accept"})
            app_receive.append(receive)
            accepted.set()
            await over.wait()

        pipe, client = _Pipe(), ClientProtocol(parse_uri("ws://localhost/"))
        config = Config(app, ws=BackpressureProtocol, ws_ping_interval=ping_s, ws_ping_timeout=ping_s, log_config=None)
        config.load()
        server = BackpressureProtocol(config, ServerState(), {})
        server.connection_made(pipe)
        request = client.connect()
        client.send_request(request)
        server.data_received(b"".join(client.data_to_send()))
        await accepted.wait()
        client.state = client.state.OPEN

        def say(text: str) -> None:
            client.send_text(text.encode())
            server.data_received(b"".join(client.data_to_send()))

        await scene(pipe, say, app_receive[0])
        over.set()
        await asyncio.sleep(0.1)

    run_virtual(main())


def test_single_messages_never_pause_reading() -> None:
    async def scene(pipe: _Pipe, say: Callable[[str], None], receive: Receive) -> None:
        for number in range(5 * MAX_WAITING):
            say(f"{number}")
            assert (await receive())["text"] == f"{number}"
        assert pipe.stops == 0

    run_scene(scene)


def test_untaken_messages_pause_reading() -> None:
    async def scene(pipe: _Pipe, say: Callable[[str], None], receive: Receive) -> None:
        for number in range(MAX_WAITING - 1):
            say(f"{number}")
        assert pipe.reading
        say("one more")
        assert not pipe.reading
        say("what was read with it")
        for _ in range(MAX_WAITING):
            await receive()
            assert not pipe.reading
        await receive()
        assert pipe.reading
        assert pipe.stops == 1

    run_scene(scene)


def test_large_message_pauses_reading_at_once() -> None:
    async def scene(pipe: _Pipe, say: Callable[[str], None], receive: Receive) -> None:
        say("x" * (MAX_BYTES + 1))
        assert not pipe.reading
        await receive()
        assert pipe.reading
        say("x" * MAX_BYTES)
        assert pipe.reading

    run_scene(scene)


def test_messages_after_close_do_not_pause_reading() -> None:
    sends: list[Send] = []

    async def scene(pipe: _Pipe, say: Callable[[str], None], _receive: Receive) -> None:
        for number in range(2 * MAX_WAITING):
            say(f"{number}")
        assert not pipe.reading
        await sends[0]({"type": "websocket.close", "code": 1013})
        assert pipe.reading
        say("said before the close arrived")
        say("x" * (MAX_BYTES + 1))
        assert pipe.reading

    run_scene(scene, sends)


def test_lost_connection_is_not_written_to() -> None:
    sends: list[Send] = []

    async def scene(pipe: _Pipe, _say: Callable[[str], None], _receive: Receive) -> None:
        await sends[0]({"type": "websocket.send", "text": "{}"})
        written, pipe.lost = pipe.written, True
        with pytest.raises(ClientDisconnected):
            await sends[0]({"type": "websocket.send", "text": "{}"})
        assert pipe.written == written

    run_scene(scene, sends)


@pytest.mark.parametrize("client", ["is not read", "speaks", "says nothing"])
def test_missing_pong_is_ignored_if_client_sends_or_is_paused(client: str) -> None:
    async def scene(pipe: _Pipe, say: Callable[[str], None], receive: Receive) -> None:
        for _ in range(MAX_WAITING * (client == "is not read")):
            say("sound that comes too fast")
        for _ in range(5):
            await asyncio.sleep(10)
            if client == "speaks":
                say("still here")
                await receive()
        assert pipe.lost == (client == "says nothing")
        if client == "is not read":
            for _ in range(MAX_WAITING):
                await receive()
            assert pipe.reading
            await asyncio.sleep(41)
            assert pipe.lost, "read again, it said nothing"

    run_scene(scene, ping_s=20.0)


def test_empty_fragments_are_dropped() -> None:
    config = Config(lambda: None, ws=BackpressureProtocol, log_config=None)

    async def main() -> None:
        config.load()
        server = BackpressureProtocol(config, ServerState(), {})
        server.connection_made(_Pipe())
        server.handle_text(Frame(Opcode.TEXT, b"{", fin=False))
        for _ in range(1000):
            server.handle_cont(Frame(Opcode.CONT, b"", fin=False))
        server.handle_cont(Frame(Opcode.CONT, b"}", fin=False))
        assert server.frames == [b"{", b"}"]
        server.handle_cont(Frame(Opcode.CONT, b""))
        assert server.queue.get_nowait() == {"type": "websocket.receive", "text": "{}"}

    run_virtual(main())


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
def test_invalid_handshake_is_answered_and_closed(request_text: str) -> None:
    async def main() -> None:
        config = Config(lambda: None, ws=BackpressureProtocol, log_config=None)
        config.load()
        server, pipe = BackpressureProtocol(config, ServerState(), {}), _Pipe()
        server.connection_made(pipe)
        server.data_received(request_text.encode())
        assert pipe.said.startswith(b"HTTP/1.1 400 Bad Request\r\n")
        assert pipe.lost
        server.data_received(b"more")
        assert pipe.written == 1

    run_virtual(main())


def test_other_headers_of_a_handshake_may_have_any_bytes() -> None:
    async def main() -> None:
        async def app(_scope: object, _receive: Receive, send: Send) -> None:
            await send({"type": "websocket.accept"})

        config = Config(app, ws=BackpressureProtocol, ws_ping_interval=None, log_config=None)
        config.load()
        server, pipe = BackpressureProtocol(config, ServerState(), {}), _Pipe()
        server.connection_made(pipe)
        server.data_received(f"{HANDSHAKE}{UPGRADE}{KEY}Cookie: name=ä\r\n\r\n".encode())
        await asyncio.sleep(1)
        assert pipe.said.startswith(b"HTTP/1.1 101 ")

    run_virtual(main())


def test_frames_before_handshake_answer_wait() -> None:
    async def main() -> None:
        may_accept = asyncio.Event()
        said: list[object] = []

        async def app(_scope: object, receive: Receive, send: Send) -> None:
            await receive()
            await may_accept.wait()
            await send({"type": "websocket.accept"})
            said.append((await receive())["text"])

        pipe, client = _Pipe(), ClientProtocol(parse_uri("ws://localhost/"))
        config = Config(app, ws=BackpressureProtocol, ws_ping_interval=None, log_config=None)
        config.load()
        server = BackpressureProtocol(config, ServerState(), {})
        server.connection_made(pipe)
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

    run_virtual(main())


def test_reading_that_stopped_after_the_close_frame_stays_stopped() -> None:
    """A flood had left a piece that was to be parsed later."""
    sends: list[Send] = []

    async def scene(pipe: _Pipe, _say: Callable[[str], None], _receive: Receive) -> None:
        await sends[0]({"type": "websocket.close", "code": 1013})
        protocol = sends[0].__self__  # type: ignore[attr-defined] # it is a method of the connection's protocol
        protocol.data_received(Frame(Opcode.TEXT, b"").serialize(mask=True) * 40_000)
        protocol.data_received(b"x" * (LINGER_BYTES + 1))
        await asyncio.sleep(2 * PAUSE_S)
        assert not pipe.reading

    run_scene(scene, sends)


def test_empty_messages_after_close_are_parsed_in_pieces() -> None:
    sends: list[Send] = []

    async def scene(pipe: _Pipe, say: Callable[[str], None], _receive: Receive) -> None:
        await sends[0]({"type": "websocket.close", "code": 1013})
        loop = asyncio.get_running_loop()
        began_s = loop.time()
        say("")
        protocol = sends[0].__self__  # type: ignore[attr-defined] # it is a method of the connection's protocol
        protocol.data_received(Frame(Opcode.TEXT, b"").serialize(mask=True) * 40_000)
        assert not pipe.reading
        while not pipe.reading:  # noqa: ASYNC110 - virtual time
            await asyncio.sleep(0.01)
        assert loop.time() - began_s == pytest.approx(40_000 / FRAMES_AT_ONCE * PAUSE_S, rel=0.5)

    run_scene(scene, sends)
