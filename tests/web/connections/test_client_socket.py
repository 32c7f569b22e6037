"""The queue of messages to a client, and when its writer is woken."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from starlette.types import Message
from starlette.websockets import WebSocket, WebSocketState
from support.protocol.wire_client import Client

from web.connections import client_socket as lines
from web.connections.client_socket import YIELD_EVERY_MESSAGES, ClientSocket
from web.observation.metrics import Metrics
from web.wire.values.session_config import SessionConfig

pytestmark = pytest.mark.virtual_time

APPEND = '{"type":"input_audio_buffer.append","audio":"AAAAAAAA"}'


async def never(*_: object) -> Any:
    raise AssertionError("nothing is read or written here")


def line(
    send: Callable[[Message], Awaitable[None]] = never,
    abort: Callable[[], None] = lambda: None,
    receive: Callable[[], Awaitable[Message]] = never,
) -> ClientSocket:
    client = Client(SessionConfig(instructions="", voice="voice"))
    client.wire.to_send()
    socket = WebSocket({"type": "websocket", "state": {"repartee.abort": abort}}, receive, send)
    socket.client_state = socket.application_state = WebSocketState.CONNECTED
    return ClientSocket(socket, client.wire)


async def test_audio_does_not_wake_the_writer_but_answers_do() -> None:
    one = line()
    one.realtime.receive(APPEND)
    await one.answered()
    assert not one.changed.is_set()
    one.realtime.receive("nonsense")
    await one.answered()
    assert one.changed.is_set()


async def test_response_done_waits_for_the_disk_but_not_for_long(caplog: pytest.LogCaptureFixture) -> None:
    """A slow disk is logged once."""
    loop, sent = asyncio.get_running_loop(), list[tuple[str, float]]()

    async def send(message: Message) -> None:
        sent.append((message["text"], loop.time()))

    one, disk, began_s = line(send), asyncio.Event(), loop.time()
    one.stored = disk.wait  # type: ignore[assignment]
    writing = asyncio.create_task(one.write(Metrics()))
    for kind in ("response.done", "response.created", "response.done"):
        one._waiting.append(f'{{"type":"{kind}"}}')
        one.changed.set()
        await asyncio.sleep(1)
    writing.cancel()
    await asyncio.wait([writing])
    assert [round(at_s - began_s - count, 3) for count, (_, at_s) in enumerate(sent)] == [0.2, 0.0, 0.2]
    assert [record.getMessage() for record in caplog.records] == [
        "the disk is slow: after 200 ms a client is told what is not stored yet"
    ]


class Outbox:
    """A protocol with messages of these kinds."""

    def __init__(self, *kinds: str) -> None:
        self.messages = [f'{{"type":"{kind}","number":{number}}}' for number, kind in enumerate(kinds)]

    def to_send(self) -> list[str]:
        messages, self.messages = self.messages, []
        return messages


async def test_lists_and_timers_wait_for_the_disk_and_sound_does_not() -> None:
    """The newest of the waiting lists is the only one that is sent."""
    loop, sent = asyncio.get_running_loop(), list[tuple[str, float]]()

    async def send(message: Message) -> None:
        sent.append((message["text"], round(loop.time() - began_s, 3)))

    one, disk, began_s = line(send), asyncio.Event(), loop.time()
    one.stored = disk.wait  # type: ignore[assignment]
    one.realtime = Outbox("repartee.lists", "repartee.lists", "repartee.timers", "sound")  # type: ignore[assignment]
    async with asyncio.TaskGroup() as tasks:
        running = [tasks.create_task(one.write(Metrics())), tasks.create_task(one.queue_tables())]
        one.changed.set()
        await asyncio.sleep(0.1)
        disk.set()
        await asyncio.sleep(0.1)
        for task in running:
            task.cancel()
    assert sent == [
        ('{"type":"sound","number":3}', 0.0),
        ('{"type":"repartee.lists","number":1}', 0.1),
        ('{"type":"repartee.timers","number":2}', 0.1),
    ]


async def test_flood_of_messages_lets_other_tasks_run() -> None:
    one, others = line(), 0

    async def other() -> None:
        nonlocal others
        while True:
            others += 1
            await asyncio.sleep(0)

    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(other())
        for _ in range(10 * YIELD_EVERY_MESSAGES):
            one.realtime.receive(APPEND)
            await one.answered()
        task.cancel()
    assert others >= 9


async def test_lost_socket_takes_no_messages_of_the_next_one() -> None:
    one = line()
    one.lost.set()
    one.realtime.receive("nonsense")
    await one.answered()
    assert not one.changed.is_set()
    assert len(one.realtime.to_send()) == 1


async def test_client_that_falls_behind_is_closed_with_reconnect_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "MAX_WAITING_CHARS", 1000)
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    one = line(send)
    for _ in range(50):
        one.realtime.receive("nonsense")
    one.changed.set()
    await one.write(Metrics())
    assert one.lost.is_set()
    await one.close()
    assert [(message["type"], message["code"]) for message in sent] == [("websocket.close", 1011)]


@pytest.mark.parametrize("stuck", [True, False], ids=["client stuck", "client reads"])
async def test_connection_is_aborted_if_close_is_not_read(stuck: bool) -> None:
    sent: list[Message] = []
    cut: list[str] = []

    async def send(message: Message) -> None:
        if stuck:
            await asyncio.Event().wait()
        sent.append(message)

    one = line(send, lambda: cut.append("off"))
    await one.close()
    assert cut == (["off"] if stuck else [])
    assert [message["code"] for message in sent] == ([] if stuck else [1000])


LEFT: Message = {"type": "websocket.disconnect", "code": 1006}
MORE: Message = {"type": "websocket.receive", "text": "more"}


MUCH: Message = {"type": "websocket.receive", "text": "x" * lines.MAX_AHEAD_CHARS}


@pytest.mark.parametrize(
    ("comes", "rested_s"),
    [([], 5), ([MORE], 5), ([LEFT], 1), ([MORE, MORE, LEFT], 3), ([MUCH, LEFT], 5)],
    ids=["nothing comes", "one message", "disconnect", "two messages and disconnect", "large message and disconnect"],
)
async def test_rest_notices_disconnect_and_loses_no_message(comes: list[Message], rested_s: int) -> None:
    coming = list(comes)

    async def receive() -> Message:
        await asyncio.sleep(1)
        if not coming:
            await asyncio.Event().wait()
        return coming.pop(0)

    one, loop = line(receive=receive), asyncio.get_running_loop()
    began_s = loop.time()
    assert await one.rest(5) is (rested_s == 5)
    assert loop.time() - began_s == rested_s
    assert await one.rest(0.5) is (rested_s == 5)
    assert [await one.receive() for _ in comes] == comes


async def test_read_ahead_is_bounded() -> None:
    async def receive() -> Message:
        return {"type": "websocket.receive", "bytes": b"x"}

    one = line(receive=receive)
    assert await one.rest(5)
    assert len(one._read_ahead) == lines.MAX_AHEAD
