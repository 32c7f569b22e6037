"""How much of a client's messages is read before it is taken: uvicorn's protocol without a socket."""

import asyncio
from collections.abc import Callable, Coroutine

from uvicorn.config import Config
from uvicorn.server import ServerState
from virtual_time import run_virtual
from websockets.client import ClientProtocol
from websockets.uri import parse_uri

from web.unhurried import MOST_BYTES, MOST_WAITING, UnhurriedProtocol

Receive = Callable[[], Coroutine[None, None, dict[str, object]]]


class _Pipe(asyncio.Transport):
    """What the server says reaches nobody; whether it reads is counted."""

    def __init__(self) -> None:
        super().__init__()
        self.reading = True
        self.stops = 0

    def write(self, data: bytes | bytearray | memoryview) -> None:
        pass

    def pause_reading(self) -> None:
        self.reading = False
        self.stops += 1

    def resume_reading(self) -> None:
        self.reading = True

    def is_closing(self) -> bool:
        return False

    def close(self) -> None:
        pass


def perform(scene: Callable[[_Pipe, Callable[[str], None], Receive], Coroutine[None, None, None]]) -> None:
    """A scene on an accepted connection: what the client sends, and what the app takes."""

    async def main() -> None:
        accepted, over = asyncio.Event(), asyncio.Event()
        app_receive: list[Receive] = []

        async def app(_scope: object, receive: Receive, send: Callable[[object], Coroutine[None, None, None]]) -> None:
            await receive()
            await send({"type": "websocket.accept"})
            app_receive.append(receive)
            accepted.set()
            await over.wait()

        pipe, client = _Pipe(), ClientProtocol(parse_uri("ws://localhost/"))
        config = Config(app, ws=UnhurriedProtocol, ws_ping_interval=None, log_config=None)
        config.load()
        server = UnhurriedProtocol(config, ServerState(), {})
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


def test_a_message_at_a_time_never_stops_the_reading() -> None:
    async def scene(pipe: _Pipe, say: Callable[[str], None], receive: Receive) -> None:
        for number in range(5 * MOST_WAITING):
            say(f"{number}")
            assert (await receive())["text"] == f"{number}"
        assert pipe.stops == 0

    perform(scene)


def test_what_is_not_taken_stops_the_reading_until_it_is() -> None:
    async def scene(pipe: _Pipe, say: Callable[[str], None], receive: Receive) -> None:
        for number in range(MOST_WAITING - 1):
            say(f"{number}")
        assert pipe.reading
        say("one more")
        assert not pipe.reading
        say("what was read with it")
        for _ in range(MOST_WAITING):
            await receive()
            assert not pipe.reading
        await receive()
        assert pipe.reading
        assert pipe.stops == 1

    perform(scene)


def test_a_large_message_stops_the_reading_at_once() -> None:
    async def scene(pipe: _Pipe, say: Callable[[str], None], receive: Receive) -> None:
        say("x" * (MOST_BYTES + 1))
        assert not pipe.reading
        await receive()
        assert pipe.reading
        say("x" * MOST_BYTES)
        assert pipe.reading

    perform(scene)
