"""Transcription sessions of the unmodified openai SDK: by address and by client secret."""

import asyncio
import base64
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from openai import AsyncOpenAI
from openai.resources.realtime.realtime import AsyncRealtimeConnection
from support.servers.session_server import ScriptedEngineLoader, SessionServer, session_server, settings_for

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

DELTA = "conversation.item.input_audio_transcription.delta"
COMPLETED = "conversation.item.input_audio_transcription.completed"


async def until(connection: AsyncRealtimeConnection, kind: str) -> list[Any]:
    """Returns the events up to the first of this kind."""
    events: list[Any] = []
    async with asyncio.timeout(30):
        while not events or events[-1].type != kind:
            events.append(await connection.recv())
    return events


async def speak(connection: AsyncRealtimeConnection) -> None:
    """Sends 0.6 s of speech and 1 s of silence, faster than real time."""
    for loud in [True] * 30 + [False] * 50:
        sound = np.full(480, 8000 * loud, "<i2").tobytes()
        await connection.input_audio_buffer.append(audio=base64.b64encode(sound).decode())
        await asyncio.sleep(0.01)


@asynccontextmanager
async def a_server(folder: Path) -> AsyncGenerator[tuple[SessionServer, ScriptedEngineLoader]]:
    settings = settings_for(folder, "assistant.greeting=Hello.")
    engine_loader = ScriptedEngineLoader(settings, {}, transcripts=("what time is it", "thank you"))
    async with session_server(engine_loader) as server:
        yield server, engine_loader


def check_no_replies(events: list[Any], engine_loader: ScriptedEngineLoader) -> None:
    assert not [event.type for event in events if event.type.startswith(("response.", "error"))]
    assert [model.asked for model in engine_loader.models] == [[]] * len(engine_loader.models)


async def test_address_asks_for_a_transcription_session(tmp_path: Path) -> None:
    async with (
        a_server(tmp_path) as (server, engine_loader),
        AsyncOpenAI(base_url=server.openai, api_key="none") as client,
        client.realtime.connect(extra_query={"intent": "transcription"}) as connection,
    ):
        detection: Any = {"type": "server_vad", "threshold": 0.5, "silence_duration_ms": 350}
        audio: Any = {"input": {"transcription": {"model": "gpt-4o-transcribe"}, "turn_detection": detection}}
        await connection.session.update(session={"type": "transcription", "audio": audio})
        events = await until(connection, "session.updated")
        assert [event.session.type for event in events] == ["transcription"] * 2
        assert server.limits.current == 1  # admitted as any session
        for words in ("what time is it", "thank you"):
            await speak(connection)
            events = await until(connection, COMPLETED)
            check_no_replies(events, engine_loader)
            assert events[-1].transcript == words
            assert "".join(event.delta for event in events if event.type == DELTA) == words
        await connection.response.create(event_id="mine")
        refused = (await until(connection, "error"))[-1].error
        assert (refused.code, refused.event_id) == ("not_supported", "mine")


async def test_client_secret_of_a_transcription_session(tmp_path: Path) -> None:
    async with (
        a_server(tmp_path) as (server, engine_loader),
        AsyncOpenAI(base_url=server.openai, api_key="none") as client,
    ):
        audio: Any = {"input": {"turn_detection": None}}
        made = await client.realtime.client_secrets.create(session={"type": "transcription", "audio": audio})
        assert made.session.type == "transcription"
        async with (
            AsyncOpenAI(base_url=server.openai, api_key=made.value) as browser,
            browser.realtime.connect() as connection,
        ):
            created = (await until(connection, "session.created"))[-1]
            assert created.session.type == "transcription"
            await speak(connection)
            await connection.input_audio_buffer.commit()
            events = await until(connection, COMPLETED)
            check_no_replies(events, engine_loader)
            assert events[-1].transcript == "what time is it"


async def test_dead_recognizer_delays_no_commit_of_fixed_silence(tmp_path: Path) -> None:
    async with (
        a_server(tmp_path) as (server, engine_loader),
        AsyncOpenAI(base_url=server.openai, api_key="none") as client,
        client.realtime.connect(extra_query={"intent": "transcription"}) as connection,
    ):
        detection: Any = {"type": "server_vad", "silence_duration_ms": 350}
        await connection.session.update(
            session={"type": "transcription", "audio": {"input": {"turn_detection": detection}}}
        )
        await until(connection, "session.updated")
        engine_loader.recognizers[-1].delay_ms = 60_000.0
        await speak(connection)
        await speak(connection)
        events = await until(connection, "input_audio_buffer.committed")
        events += await until(connection, "input_audio_buffer.committed")
    kinds = [event.type.rpartition(".")[2] for event in events if event.type.startswith("input_audio_buffer.")]
    assert kinds == ["speech_started", "speech_stopped", "committed"] * 2
    stops = [event.audio_end_ms for event in events if event.type == "input_audio_buffer.speech_stopped"]
    assert stops == [pytest.approx(600, abs=40), pytest.approx(2200, abs=40)]
