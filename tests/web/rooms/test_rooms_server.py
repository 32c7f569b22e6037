"""Rooms at the real server, in real time: who answers the wake word, and where a timer rings."""

import asyncio
from pathlib import Path

import numpy as np
import pytest
from support.servers.session_server import (
    Pace,
    RecordingClient,
    SessionServer,
    connected_client,
    in_real_time,
    real_engines,
    scripted_server,
    session_server,
)

from assistant.setup.build import local_now
from assistant.skills.timers.user_timers import SharedTimers

pytestmark = [pytest.mark.slow, pytest.mark.real_time, pytest.mark.timeout(120)]

BLOCK = 480


async def enter(client: RecordingClient, room: str) -> None:
    await client.send("session.update", session={"type": "realtime", "repartee": {"room": room}})
    await client.until("session.updated")


async def hear(pace: Pace, levels: list[tuple[RecordingClient, int]], ms: int) -> None:
    """Sends sound of these levels in real time."""
    due_s = asyncio.get_running_loop().time()
    for _ in range(ms // 20):
        for client, level in levels:
            await client.send_audio(np.full(BLOCK, level, np.int16))
        due_s += 0.02
        await pace.until(due_s)


def test_louder_satellite_answers_the_wake_word_of_both(tmp_path: Path) -> None:
    async def converse(pace: Pace, folder: Path) -> None:
        async with (
            scripted_server(folder) as (server, _),
            connected_client(server) as kitchen,
            connected_client(server) as hall,
        ):
            await enter(kitchen, "Kitchen")
            await enter(hall, "Hall")
            await hear(pace, [(kitchen, 0), (hall, 0)], 200)
            await hall.send("repartee.wake_word.heard", level_dbfs=-40, audio_end_ms=200)
            await kitchen.send("repartee.wake_word.heard", level_dbfs=-20, audio_end_ms=200)
            await hear(pace, [(kitchen, 8000), (hall, 3000)], 600)
            await hear(pace, [(kitchen, 0), (hall, 0)], 1500)
            await kitchen.until("response.done")
            assert (await hall.until("repartee.wake_word.yielded"))["room"] == "Kitchen"
            await hall.send("input_audio_buffer.clear")
            await hall.until("input_audio_buffer.cleared")
            assert hall.events_of("response.created") == []
            assert hall.events_of("error") == kitchen.events_of("error") == []

    in_real_time(tmp_path, converse)


def test_timer_rings_in_its_room_and_elsewhere_with_the_name_of_the_room(tmp_path: Path) -> None:
    async def ring(server: SessionServer) -> None:
        async with connected_client(server) as hall:
            await enter(hall, "Hall")
            async with connected_client(server) as kitchen:
                await enter(kitchen, "Kitchen")
                await kitchen.ask("set a timer for two seconds")
                await hall.ask("what time is it")  # the user has spoken last here
                rung = await kitchen.until("response.output_audio_transcript.delta", 2)
                assert "Kitchen" not in rung["delta"]
                assert len(hall.events_of("response.created")) == 1
                await kitchen.ask("stop", until="response.created", count=3)
                await kitchen.ask("set a timer for two seconds", until="response.created", count=4)
                await asyncio.sleep(0.5)
            rung = await hall.until("response.output_audio_transcript.delta", 2)
            assert rung["delta"].startswith("Kitchen: ")

    async def converse(_pace: Pace, folder: Path) -> None:
        loader = real_engines(folder)
        loader.make_timers = SharedTimers(local_now, lambda *_missed: "", lambda: "", stored=False).join
        async with session_server(loader) as server:
            await ring(server)

    in_real_time(tmp_path, converse)
