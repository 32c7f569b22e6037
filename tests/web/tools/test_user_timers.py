"""The user's timers on a server: they ring in one session, survive it, and are not shared with callers and visitors."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

import pytest
from support.servers.session_server import (
    RecordingClient,
    SessionServer,
    connected_client,
    real_engines,
    session_server,
)

from assistant.setup.answering.user_files import timer_keeper
from web.access.client_secrets import PREFIX

pytestmark = [pytest.mark.slow, pytest.mark.calm, pytest.mark.timeout(180)]

RING = "Your 1 second timer is done."


@asynccontextmanager
async def serving_timers(folder: Path, token: str | None = None) -> AsyncGenerator[SessionServer]:
    """Runs a server that keeps timers in the folder."""
    loader = real_engines(folder / "traces")
    problems: list[str] = []
    keeper = timer_keeper(loader.settings, {"XDG_DATA_HOME": str(folder)}, problems.append)
    assert keeper is not None
    loader.make_timers = keeper.timers.join
    keeping = asyncio.create_task(keeper.run())
    try:
        async with session_server(loader, token) as server:
            yield server
    finally:
        keeping.cancel()
        await asyncio.wait([keeping])
    assert problems == []


async def set_timer(client: RecordingClient, said: str = "set a timer for one second") -> None:
    await client.ask(said)


def heard(client: RecordingClient) -> list[str]:
    """Returns what each response has said so far. A ring does not end by itself."""
    texts: dict[str, str] = {}
    for event in client.events_of("response.output_audio_transcript.delta"):
        texts[event["response_id"]] = texts.get(event["response_id"], "") + event["delta"]
    return [text.strip() for text in texts.values()]


async def listen(client: RecordingClient, seconds: float) -> None:
    """Receives what comes within this time."""
    try:
        await client.until("never", within_s=seconds)
    except TimeoutError:
        return


async def test_timer_rings_in_one_of_two_sessions(tmp_path: Path) -> None:
    async with serving_timers(tmp_path) as server, connected_client(server) as one, connected_client(server) as other:
        await set_timer(one)
        await asyncio.gather(listen(one, 3.5), listen(other, 3.5))
        assert [text for client in (one, other) for text in heard(client) if text == RING] == [RING]
        assert heard(one)[-1] == RING


async def test_timer_rings_in_the_next_session_and_after_a_restart(tmp_path: Path) -> None:
    async with serving_timers(tmp_path) as server:
        async with connected_client(server) as one:
            await set_timer(one)
        async with connected_client(server) as two:
            await two.until("response.output_audio_transcript.delta")
            assert heard(two) == [RING]
            await two.request_reply("set a timer for one hour")  # stops the ring
            await two.until("response.done", 2)
    async with serving_timers(tmp_path) as server, connected_client(server) as three:
        await asyncio.sleep(1)
        await set_timer(three, "how much time is left")
        assert heard(three)[-1].endswith("left.")
        assert "hour" in heard(three)[-1]


async def test_timer_rings_in_another_session_while_a_client_is_disconnected(tmp_path: Path) -> None:
    async with serving_timers(tmp_path) as server, connected_client(server) as other:
        async with connected_client(server) as one:
            await set_timer(one)
            one.break_connection()
        await listen(other, 3.5)
        assert heard(other) == [RING]


@pytest.mark.parametrize("query", ["intent", "secret"])
async def test_timers_do_not_ring_for_a_visitor_or_in_a_transcription(tmp_path: Path, query: str) -> None:
    async with serving_timers(tmp_path, "token") as server:
        headers = {"Authorization": "Bearer token"}
        async with connected_client(server, headers) as one:
            await set_timer(one)
        await asyncio.sleep(1.5)
        if query == "intent":
            async with connected_client(server, headers, intent="transcription") as other:
                await listen(other, 2)
                assert other.events_of("response.created") == []
        else:
            secret = await client_secret(server)
            async with connected_client(server, {"Authorization": f"Bearer {secret}"}) as other:
                await set_timer(other, "how much time is left")
                assert heard(other) == ["There is no timer."]
        async with connected_client(server, headers) as one:
            await one.until("response.output_audio_transcript.delta")
            assert heard(one) == [RING]


async def client_secret(server: SessionServer) -> str:
    import httpx  # noqa: PLC0415 - only here

    async with httpx.AsyncClient() as http:
        made = await http.post(
            f"{server.openai}/realtime/client_secrets", headers={"Authorization": "Bearer token"}, json={}
        )
    value = cast("str", made.json()["value"])
    assert value.startswith(PREFIX)
    return value
