"""A wall clock that jumps and an event loop that stalls: latencies stay right, and conversations go on.

The tests run in real time. One that fails is repeated if this machine held the process for longer than the test does.
"""

import asyncio
import os
import time
from pathlib import Path

import numpy as np
import pytest
from support.servers.session_server import (
    Pace,
    RecordingClient,
    ScriptedEngineLoader,
    connected_client,
    encoded,
    eventually,
    in_real_time,
    session_server,
    settings_for,
)

pytestmark = pytest.mark.slow

TEN = "One two three. Four five six. Seven eight nine. Ten."
"""2 s."""

DAY_S = 86_400.0
LOUD_FRAMES = 25


async def speak(client: RecordingClient, *, until: int) -> None:
    """Speaks for half a second, and sends silence in real time until this many responses are done."""
    frames, sending = 0, True

    async def send() -> None:
        nonlocal frames
        loop = asyncio.get_running_loop()
        began_s = loop.time()
        while sending:
            frames += 1
            await asyncio.sleep(max(0.0, began_s + frames * 0.02 - loop.time()))
            loud = frames <= LOUD_FRAMES
            await client.send("input_audio_buffer.append", audio=encoded(np.full(480, 8000 * loud, np.int16)))

    async with asyncio.TaskGroup() as group:
        group.create_task(send())
        await client.until("response.done", until)
        sending = False


@pytest.mark.parametrize("jump_s", [DAY_S, -DAY_S], ids=["forwards", "backwards"])
def test_wall_clock_jump_changes_no_latency(jump_s: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It jumps while the user speaks, and stays there for another turn."""

    async def main(pace: Pace, folder: Path) -> None:
        watching = asyncio.create_task(pace.watch())
        settings = settings_for(folder, "turn.hangover_ms=100")
        async with session_server(ScriptedEngineLoader(settings, os.environ, answers=("Ten.",))) as server:
            async with connected_client(server) as client:
                update = {"type": "realtime", "repartee": {"playout": False}}
                await client.send("session.update", session=update)
                wall, jumped = time.time, asyncio.Event()
                monkeypatch.setattr(time, "time", lambda: wall() + jump_s * jumped.is_set())
                asyncio.get_running_loop().call_later(LOUD_FRAMES * 0.01, jumped.set)
                await speak(client, until=1)
                await eventually(lambda: len(server.records()) == 1)
                await speak(client, until=2)
                await eventually(lambda: len(server.records()) == 2)
            for record in server.records():
                assert record["outcome"] == "answered"
                assert 0 < record["response_latency_ms"] < 20_000
                assert sum(share["ms"] for share in record["stages"].values()) == pytest.approx(
                    record["response_latency_ms"], abs=0.1
                )
        watching.cancel()

    in_real_time(tmp_path, main)


def test_stalled_event_loop_loses_no_turn(tmp_path: Path) -> None:
    """It is stalled while the user speaks, while the reply is made, and while it is sent."""

    async def main(pace: Pace, folder: Path) -> None:
        pace.stall_s = 1.0
        watching = asyncio.create_task(pace.watch())
        settings = settings_for(folder, "turn.hangover_ms=100")
        async with session_server(ScriptedEngineLoader(settings, os.environ, answers=(TEN,))) as server:
            async with connected_client(server) as client:
                loop = asyncio.get_running_loop()
                loop.call_later(0.2, time.sleep, pace.stall_s)
                await speak(client, until=1)
                await client.request_reply("count")
                loop.call_later(0.01, time.sleep, pace.stall_s)
                await client.until("response.created", 2)
                loop.call_soon(time.sleep, pace.stall_s)
                await client.until("response.done", 2)
                assert [event["response"]["status"] for event in client.events_of("response.done")] == ["completed"] * 2
                assert client.sound_ms == 4000
            await eventually(lambda: server.limits.current == 0)
            spoken, typed = server.records()
            assert spoken["outcome"] == "answered"
            assert typed["outcome"] in {"answered", "interrupted"}  # the client leaves about when it has been played
        watching.cancel()

    in_real_time(tmp_path, main)
