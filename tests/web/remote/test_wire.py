"""Connections that fail, end and reconnect; the real server on loopback."""

import asyncio
import contextlib
import itertools
import json
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import pytest
from starlette.websockets import WebSocket
from support.servers.session_server import eventually
from support.servers.web_server import ScriptedEnginePool, running_server
from support.texts.text_cases import text_cases
from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosedError, InvalidStatus
from websockets.frames import Close

from assistant.config.errors import ConfigError
from assistant.config.server_settings import ServerSection
from web.limits import session_acceptor
from web.limits.session_limits import busy
from web.observation.health import EngineState
from web.remote import wire
from web.remote.address import address_of
from web.remote.close_reasons import CloseReason, LastError, closed, last_error, why_not
from web.remote.conversation.conversation import UnsupportedServerError
from web.remote.wire import RemoteWire, ServerLostError, _Connect

TOKEN = "a-token-of-enough-letters"


@dataclass
class EventRecorder:
    """Records the events of a wire."""

    on_event: Callable[[Mapping[str, Any]], None] = lambda _event: None
    events: list[Mapping[str, Any]] = field(default_factory=list)
    endings: list[CloseReason] = field(default_factory=list)
    on_lost: Callable[[CloseReason], None] = lambda _ending: None
    query: dict[str, str] = field(default_factory=dict)

    def event(self, event: Mapping[str, Any]) -> None:
        self.events.append(event)
        self.on_event(event)

    def resume(self) -> Mapping[str, str]:
        return self.query

    def connection_lost(self, ending: CloseReason) -> None:
        self.endings.append(ending)
        self.on_lost(ending)


async def greet_and_echo(websocket: WebSocket) -> None:
    """A conversation that sends a greeting, then echoes every message."""
    await websocket.send_json({"type": "session.created", "query": websocket.url.query})
    while True:
        await websocket.send_text(await websocket.receive_text())


async def refusal(url: str, token: str | None = None) -> str:
    """Returns why connecting failed."""
    with pytest.raises(ServerLostError) as caught:
        await RemoteWire(address_of(url), token, EventRecorder()).run()
    return str(caught.value)


# ---- addresses ----


@text_cases(
    ("text", "url"),
    [
        ("ws://127.0.0.1:8765", "ws://127.0.0.1:8765/v1/realtime?model=repartee"),
        ("127.0.0.1:8765", "ws://127.0.0.1:8765/v1/realtime?model=repartee"),
        ("https://voice.example/", "wss://voice.example/v1/realtime?model=repartee"),
        ("https://voice.example/repartee/", "wss://voice.example/repartee/v1/realtime?model=repartee"),
        ("wss://voice.example/else?model=x", "wss://voice.example/else?model=x"),
        ("ws://[::1]:80", "ws://[::1]:80/v1/realtime?model=repartee"),
    ],
)
def test_address_is_converted_to_url(text: str, url: str) -> None:
    assert address_of(text).url({}) == url


@text_cases("text", ["", "ftp://x", "ws://", "ws://a b", "ws://host:port", "ws://host:99999"])
def test_invalid_address_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="an address looks like"):
        address_of(text)


def test_password_in_address_is_refused_and_not_shown() -> None:
    with pytest.raises(ConfigError, match="REPARTEE_TOKEN") as caught:
        address_of("ws://me:secret@host")
    assert "secret" not in str(caught.value)


# ---- failed connections ----


async def test_refused_connection_is_explained() -> None:
    async with running_server() as server:
        port = server.port
    assert await refusal(f"ws://127.0.0.1:{port}") == (
        f"ws://127.0.0.1:{port}: no server listens there; start `repartee serve`, or check the port."
    )


async def test_unknown_host_is_explained() -> None:
    assert "the host was not found" in await refusal("ws://nobody.invalid")


async def test_wrong_path_is_explained() -> None:
    async with running_server(converse=greet_and_echo) as server:
        said = await refusal(f"ws://127.0.0.1:{server.port}/elsewhere")
    assert said.endswith("has nothing at /elsewhere; the path of `repartee serve` is /v1/realtime.")


async def test_proxy_without_websockets_shows_server_message() -> None:
    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        told = b'{"error": {"code": "no_websocket", "message": "this address accepts WebSocket only"}}'
        writer.write(b"HTTP/1.1 426 Upgrade Required\r\ncontent-length: %d\r\n\r\n%b" % (len(told), told))
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(refuse, "127.0.0.1", 0) as proxy:
        address = f"ws://127.0.0.1:{proxy.sockets[0].getsockname()[1]}"
        assert await refusal(address) == f"{address}: this address accepts WebSocket only."


async def test_other_web_server_is_explained() -> None:
    async def page(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 2\r\n\r\nhi")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(page, "127.0.0.1", 0) as other:
        address = f"ws://127.0.0.1:{other.sockets[0].getsockname()[1]}"
        said = f"{address} is a web server, but not `repartee serve`; check the address (200)."
        assert await refusal(address) == said


async def test_token_is_requested_and_accepted() -> None:
    engine_pool = ScriptedEnginePool([EngineState("stt", "ready", "scripted")])
    async with running_server(engine_pool, greet_and_echo, token=TOKEN) as server:
        assert "requires its token: set REPARTEE_TOKEN" in await refusal(server.ws)
        assert "does not accept this token" in await refusal(server.ws, "not-the-token-of-it")
        recorder = EventRecorder()
        wire = RemoteWire(address_of(server.ws), TOKEN, recorder)
        recorder.on_event = lambda _event: wire.leave()
        await wire.run()
        assert recorder.events[0]["type"] == "session.created"


async def test_tls_to_plain_port_is_explained() -> None:
    async with running_server(converse=greet_and_echo) as server:
        assert "does not use TLS" in await refusal(f"wss://127.0.0.1:{server.port}")


async def test_non_http_server_is_explained() -> None:
    async def gibberish(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 mail.example ESMTP\r\n")
        writer.close()

    async with await asyncio.start_server(gibberish, "127.0.0.1", 0) as other:
        port = other.sockets[0].getsockname()[1]
        assert "is not a WebSocket server" in await refusal(f"ws://127.0.0.1:{port}")


async def test_silent_server_times_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("web.remote.wire.FIRST_EVENT_TIMEOUT_S", 0.05)

    async def silent(websocket: WebSocket) -> None:
        await websocket.receive_text()

    async with running_server(converse=silent) as server:
        assert "does not answer" in await refusal(server.ws)


async def test_foreign_realtime_server_is_explained() -> None:
    async with running_server(converse=greet_and_echo) as server:
        recorder = EventRecorder()

        def refuse(_event: Mapping[str, Any]) -> None:
            raise UnsupportedServerError("it is not a Repartee server.")

        recorder.on_event = refuse
        with pytest.raises(ServerLostError, match="answers, but it is not a Repartee server"):
            await RemoteWire(address_of(server.ws), None, recorder).run()


INVALID_MESSAGES = (
    "[" * 100_000,
    '{"type":"error","error":"boom"}',
    '{"type":"error","error":["boom"]}',
    '{"type":"x","audio_end_ms":NaN}',
    '{"type":"x","audio_end_ms":-Infinity}',
    '{"type":"x","audio_end_ms":1e999}',
    '{"type":"x","audio_end_ms":1' + "0" * 400 + "}",
    '{"type":"x","audio_end_ms":1' + "0" * 5000 + "}",
    "nonsense",
    "7",
)


async def test_invalid_messages_do_not_end_the_connection() -> None:
    async def odd(websocket: WebSocket) -> None:
        await websocket.send_json({"type": "session.created"})
        for message in INVALID_MESSAGES:
            await websocket.send_text(message)
        await websocket.send_json({"type": "last"})
        with contextlib.suppress(Exception):
            await websocket.receive_text()

    async with running_server(converse=odd) as server:
        recorder = EventRecorder()
        wire = RemoteWire(address_of(server.ws), None, recorder)
        recorder.on_event = lambda event: wire.leave() if event["type"] == "last" else None
        await wire.run()
    assert recorder.endings == []
    assert [event["type"] for event in recorder.events] == ["session.created", "error", "error", "last"]


async def test_missing_socks_package_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOCKS_PROXY", "socks5h://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", "")
    assert "the environment names a SOCKS proxy" in await refusal("ws://voice.invalid")


# ---- retries ----


async def test_retries_slow_down_if_server_dies_after_greeting() -> None:
    connections: list[float] = []

    async def dies(websocket: WebSocket) -> None:
        connections.append(asyncio.get_running_loop().time())
        await websocket.send_json({"type": "session.created"})
        await websocket.close(1011)

    async with running_server(converse=dies) as server:
        recorder = EventRecorder()
        wire = RemoteWire(address_of(server.ws), None, recorder)
        recorder.on_lost = lambda _ending: wire.leave() if len(recorder.endings) == 4 else None
        await wire.run()
    gaps = [later - earlier for earlier, later in itertools.pairwise(connections)]
    assert gaps[0] < gaps[1] < gaps[2]
    assert gaps[2] > 0.7


async def test_full_server_is_retried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_acceptor, "SLOT_TIMEOUT_S", 0.2)
    async with running_server(converse=greet_and_echo, section=ServerSection(port=0, max_sessions=1)) as server:
        first = RemoteWire(address_of(server.ws), None, EventRecorder())
        recorder = EventRecorder()
        second = RemoteWire(address_of(server.ws), None, recorder)
        recorder.on_lost = lambda _ending: first.leave()
        recorder.on_event = lambda event: second.leave() if event["type"] == "session.created" else None
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(first.run())
            await eventually(lambda: first.open)
            tasks.create_task(second.run())
    assert [ending.sentence for ending in recorder.endings] == [
        f"{address_of(server.ws).place} is full: all its sessions are in use."
    ]


async def test_lost_connection_reconnects_with_resume_parameters() -> None:
    connections: list[str] = []

    async def breaks_once(websocket: WebSocket) -> None:
        connections.append(websocket.url.query)
        await websocket.send_json({"type": "session.created"})
        if len(connections) == 1:
            await websocket.close(1011)
        with contextlib.suppress(Exception):
            await websocket.receive_text()

    async with running_server(converse=breaks_once) as server:
        recorder = EventRecorder(query={})
        wire = RemoteWire(address_of(server.ws), None, recorder)

        def greeted(_event: Mapping[str, Any]) -> None:
            recorder.query = {"resume": "abc"}
            if len(connections) == 2:
                wire.leave()

        recorder.on_event = greeted
        await wire.run()
    assert connections == ["model=repartee", "model=repartee&resume=abc"]
    assert [ending.again for ending in recorder.endings] == [True]


async def test_queued_messages_are_sent_before_hanging_up() -> None:
    heard: list[str] = []

    async def listens(websocket: WebSocket) -> None:
        await websocket.send_json({"type": "session.created"})
        while True:
            heard.append(await websocket.receive_text())

    async with running_server(converse=listens) as server:
        recorder = EventRecorder()
        wire = RemoteWire(address_of(server.ws), None, recorder)

        def greeted(_event: Mapping[str, Any]) -> None:
            assert wire.send(json.dumps({"type": "last"}))
            wire.leave()

        recorder.on_event = greeted
        await wire.run()
    assert heard == ['{"type": "last"}']
    assert not wire.send("too late")


async def test_leave_does_not_wait_for_silent_server() -> None:
    """For example a firewall that drops packets, or a server that never answers."""

    async def says_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    async with await asyncio.start_server(says_nothing, "127.0.0.1", 0) as other:
        port = other.sockets[0].getsockname()[1]
        wire = RemoteWire(address_of(f"ws://127.0.0.1:{port}"), None, EventRecorder())
        async with asyncio.timeout(4), asyncio.TaskGroup() as tasks:
            tasks.create_task(wire.run())
            await asyncio.sleep(0.2)
            wire.leave()


async def test_leave_after_end_does_not_hide_the_reason() -> None:
    """Closing the rest of the conversation must not hide why it ended."""
    async with running_server() as server:
        port = server.port
    wire = RemoteWire(address_of(f"ws://127.0.0.1:{port}"), None, EventRecorder())
    with pytest.raises(ServerLostError, match="no server listens there"):
        await wire.run()
    wire.leave()


async def test_unsent_audio_is_dropped_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("web.remote.wire.MAX_WAITING_SOUND", 3)
    async with running_server(converse=greet_and_echo) as server:
        recorder = EventRecorder()
        wire = RemoteWire(address_of(server.ws), None, recorder)

        def greeted(event: Mapping[str, Any]) -> None:
            if event["type"] == "session.created":
                assert [wire.sound('{"type":"x"}') for _ in range(5)] == [True, True, True, False, False]
                assert wire.send('{"type":"control"}')
            if event["type"] == "control":
                wire.leave()

        recorder.on_event = greeted
        await wire.run()
        assert wire.dropped == 2


# ---- texts ----


@pytest.mark.parametrize(
    ("reason", "farewell", "said", "again"),
    [
        ("session_idle: x", "", "nothing for too long", False),
        ("", "server_draining", "is shutting down", True),
        ("", "", "was lost", True),
    ],
    ids=["close reason", "close event", "neither"],
)
def test_close_reason_is_explained(reason: str, farewell: str, said: str, again: bool) -> None:
    error = ConnectionClosedError(Close(1012, reason), None)
    ending = closed(error, address_of("ws://h"), LastError(farewell))
    assert said in ending.sentence
    assert ending.again is again


def test_busy_server_reason_and_retry_time_are_kept() -> None:
    reason = "event loop lag p99 is 61 ms, limit 50 ms"
    event = busy(reason, 9.5).event("event_1")
    ending = closed(ConnectionClosedError(Close(1013, "server_busy: x"), None), address_of("ws://h"), last_error(event))
    assert reason in ending.sentence
    assert (ending.again, ending.retry_after_s) == (True, 10)


@pytest.mark.parametrize(
    ("named", "kept_s"),
    [(5, 5.0), (-1, 0.0), (1e9, 60.0), (10**400, 60.0), ("soon", 0.0), (None, 0.0)],
    ids=lambda value: str(value)[:9],
)
def test_retry_time_of_server_is_bounded(named: object, kept_s: float) -> None:
    assert last_error({"error": {"code": "server_busy", "retry_after_s": named}}).retry_after_s == kept_s
    assert last_error({"error": "no object"}) == LastError()


def test_temporary_failure_is_retried_only_after_conversation() -> None:
    for error in (ConnectionRefusedError(), TimeoutError(), OSError(101, "Network is unreachable")):
        assert not why_not(error, address_of("ws://h")).again
        assert why_not(error, address_of("ws://h"), connected_before=True).again


@pytest.mark.parametrize(
    ("host", "followed"), [("127.0.0.1", True), ("localhost", False)], ids=["same host", "other host"]
)
async def test_redirect_to_another_origin_is_not_followed(host: str, followed: bool) -> None:
    asked: list[str] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append((await reader.readuntil(b"\r\n\r\n")).decode().split()[1])
        port = writer.get_extra_info("sockname")[1]
        location = f"ws://{host}:{port}/elsewhere"
        head = f"HTTP/1.1 302 Found\r\nLocation: {location}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        writer.write((head if len(asked) == 1 else "HTTP/1.1 404 X\r\nContent-Length: 0\r\n\r\n").encode())
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    url = f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1/realtime"
    with pytest.raises(InvalidStatus):
        await _Connect(url, proxy=None)
    server.close()
    assert len(asked) == (2 if followed else 1)


async def test_connection_that_died_while_the_machine_slept_is_renewed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server has left, and nothing tells the client: its ping is not answered."""
    slept_s = itertools.count(0.0, 60.0)
    monkeypatch.setattr(wire, "WATCH_S", 0.05)
    monkeypatch.setattr(wire, "AWAKE_PONG_S", 0.1)
    monkeypatch.setattr(wire, "suspended_s", lambda: next(slept_s))

    async def silent(_socket: ClientConnection) -> asyncio.Future[float]:
        return asyncio.get_running_loop().create_future()

    monkeypatch.setattr(ClientConnection, "ping", silent)
    async with running_server(converse=greet_and_echo) as server:
        recorder = EventRecorder()
        one = RemoteWire(address_of(server.ws), None, recorder)

        def greeted(_event: Mapping[str, Any]) -> None:
            if len(recorder.events) == 2:
                one.leave()

        recorder.on_event = greeted
        await one.run()
    assert [ending.sentence for ending in recorder.endings] == [
        f"the connection to {address_of(server.ws).place} was lost."
    ]


async def test_connection_that_answers_after_a_sleep_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    slept_s = itertools.count(0.0, 60.0)
    monkeypatch.setattr(wire, "WATCH_S", 0.02)
    monkeypatch.setattr(wire, "suspended_s", lambda: next(slept_s))
    async with running_server(converse=greet_and_echo) as server:
        recorder = EventRecorder()
        one = RemoteWire(address_of(server.ws), None, recorder)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(one.run())
            await eventually(lambda: next(slept_s) > 600)
            one.leave()
    assert recorder.endings == []


async def test_second_address_of_a_name_is_tried_if_the_first_leads_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """As with IPv6 that is announced and does not work."""
    async with running_server(converse=greet_and_echo) as server:
        connect_to, port = asyncio.get_running_loop().sock_connect, urlsplit(server.ws).port

        async def hang_if_first(sock: socket.socket, address: tuple[str, int]) -> None:
            if address[0] == "192.0.2.1":
                await asyncio.sleep(30)
            await connect_to(sock, address)

        def both(*_: object, **__: object) -> list[tuple[object, ...]]:
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (host, port)) for host in ("192.0.2.1", "127.0.0.1")]

        monkeypatch.setattr(asyncio.get_running_loop(), "sock_connect", hang_if_first)
        monkeypatch.setattr("socket.getaddrinfo", both)
        recorder = EventRecorder()
        one = RemoteWire(address_of(f"ws://localhost:{port}"), None, recorder)
        recorder.on_event = lambda _event: one.leave()
        async with asyncio.timeout(3):
            await one.run()
    assert recorder.events[0]["type"] == "session.created"
