"""Clients that vanish at each step of the protocol leave nothing behind: no slot, no task, no descriptor."""

import asyncio
import os
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from support.servers.session_server import (
    RecordingClient,
    ScriptedEngineLoader,
    SessionServer,
    connected_client,
    encoded,
    eventually,
    session_server,
    settings_for,
)
from websockets.asyncio.client import connect

from web.connections import connection

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="descriptors are counted in /proc"),
]

TEN = "One two three. Four five six. Seven eight nine. Ten."
LOUD = np.full(4800, 8000, np.int16)
TRACED = {"type": "realtime", "repartee": {"events": True}}
MANUAL = {"type": "realtime", "audio": {"input": {"turn_detection": None}}}

Farewell = Literal["reset", "end of stream"]


@dataclass
class Vanishing:
    """A client that is about to vanish."""

    server: SessionServer
    farewell: Farewell

    def vanish(self, client: RecordingClient) -> None:
        """Ends the connection without a close frame."""
        if self.farewell == "reset":
            client.break_connection()
        else:
            client.socket.transport.close()

    @asynccontextmanager
    async def connected(self, **query: str) -> AsyncGenerator[RecordingClient]:
        """Connects a client, which vanishes at the end of the block."""
        async with connected_client(self.server, None, **query) as client:
            yield client
            self.vanish(client)


Step = Callable[[Vanishing], Awaitable[None]]


async def within_handshake(client: Vanishing) -> None:
    _, writer = await asyncio.open_connection("127.0.0.1", client.server.port)
    writer.write(b"GET /v1/realtime?model=repartee HTTP/1.1\r\nhost: 127.0.0.1\r\nupgrade: webs")
    await writer.drain()
    writer.transport.abort()


async def after_handshake(client: Vanishing) -> None:
    async with connect(client.server.url(), compression=None) as socket:
        socket.transport.abort()  # before the session was announced


async def after_session_created(client: Vanishing) -> None:
    async with client.connected():
        pass


async def after_session_update(client: Vanishing) -> None:
    async with client.connected() as caller:
        await caller.send("session.update", session=TRACED)
        await caller.until("session.updated")


async def after_first_append(client: Vanishing) -> None:
    async with client.connected() as caller:
        await caller.send_audio(LOUD)


async def within_append(client: Vanishing) -> None:
    async with client.connected() as caller:
        await caller.send_audio(LOUD)
        text = f'{{"type": "input_audio_buffer.append", "audio": "{encoded(LOUD)}"}}'.encode()
        # A masked text frame that announces its whole length, of which only a half is sent.
        head = bytes([0x81, 0x80 | 126, *len(text).to_bytes(2, "big"), 0, 0, 0, 0])
        caller.socket.transport.write(head + text[: len(text) // 2])


async def after_speech_started(client: Vanishing) -> None:
    async with client.connected() as caller:
        await caller.send_audio(np.tile(LOUD, 2))
        await caller.until("input_audio_buffer.speech_started")


async def after_commit(client: Vanishing) -> None:
    async with client.connected() as caller:
        await caller.send("session.update", session=MANUAL)
        await caller.send_audio(np.tile(LOUD, 3))
        await caller.send("input_audio_buffer.commit")
        await caller.until("input_audio_buffer.committed")


async def within_response_created(client: Vanishing) -> None:
    async with client.connected() as caller:
        await caller.ask("count", until="response.created")


async def within_audio(client: Vanishing) -> None:
    async with client.connected() as caller:
        await caller.ask("count", until="response.output_audio.delta", count=2)


async def within_out_of_band_response(client: Vanishing) -> None:
    async with client.connected() as caller:
        await caller.send("response.create", response={"conversation": "none"})
        await caller.until("response.created")


async def while_resuming(client: Vanishing) -> None:
    async with client.connected() as caller:
        await caller.ask("count", until="response.output_audio.delta")
    async with connect(client.server.url(resume=caller.token), compression=None) as again:
        again.transport.abort()


async def after_resuming(client: Vanishing) -> None:
    async with client.connected() as caller:
        await caller.ask("count", until="response.output_audio.delta")
    async with client.connected(resume=caller.token):
        pass


STEPS: tuple[Step, ...] = (
    within_handshake,
    after_handshake,
    after_session_created,
    after_session_update,
    after_first_append,
    within_append,
    after_speech_started,
    after_commit,
    within_response_created,
    within_audio,
    within_out_of_band_response,
    while_resuming,
    after_resuming,
)


def descriptors() -> int:
    """Returns the number of open descriptors of this process."""
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


async def answered(server: SessionServer) -> None:
    """Checks that a client is answered."""
    async with connected_client(server) as caller:
        await caller.request_reply("hello")
        done = await caller.until("response.done")
        assert done["response"]["status"] == "completed"


def leavings(server: SessionServer, tasks: int, before: int) -> str:
    """Returns what is left of a client, beyond this number of tasks and descriptors; "" for nothing."""
    counts = {
        "slots": server.limits.current,
        "conversations that wait for their clients": len(server.connections.waiting),
        "tasks": len(asyncio.all_tasks()) - tasks,
        "descriptors": descriptors() - before,
    }
    return ", ".join(f"{count} {name}" for name, count in counts.items() if count > 0)


@pytest.mark.parametrize("farewell", ["reset", "end of stream"])
async def test_vanished_client_leaves_nothing(
    farewell: Farewell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At any step, and with a single slot: what is left of one client would refuse the next."""
    monkeypatch.setattr(connection, "REFILL_AFTER_S", 0.02)
    settings = settings_for(tmp_path, "turn.hangover_ms=100", "server.max_sessions=1", "server.resume_s=0.1")
    async with session_server(ScriptedEngineLoader(settings, os.environ, answers=(TEN,))) as server:
        await answered(server)
        await eventually(lambda: server.limits.current == 0)
        tasks, before = len(asyncio.all_tasks()), descriptors()
        for step in STEPS:
            await step(Vanishing(server, farewell))
            by_s = asyncio.get_running_loop().time() + 20
            while left := leavings(server, tasks, before):
                assert asyncio.get_running_loop().time() < by_s, f"{step.__name__} left {left}"
                await asyncio.sleep(0.01)
        await answered(server)
