"""Client secrets, models, speech and transcriptions over HTTP: with the unmodified openai SDK, and each refusal."""

import io
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
import soundfile
from openai import APIStatusError, AsyncOpenAI
from openai.types.realtime import RealtimeSessionCreateRequest
from support.servers.session_server import (
    ScriptedEngineLoader,
    SessionServer,
    connected_client,
    session_server,
    settings_for,
)
from websockets.asyncio.client import connect
from websockets.typing import Subprotocol

from audio.units import REPLY_RATE_HZ

TOKEN = "a-token-of-enough-characters"
SECRETS = "/v1/realtime/client_secrets"
SPEECH = "/v1/audio/speech"
TRANSCRIPTIONS = "/v1/audio/transcriptions"


@asynccontextmanager
async def served(
    folder: Path, token: str | None = None, **engines: Any
) -> AsyncGenerator[tuple[SessionServer, ScriptedEngineLoader]]:
    """Runs a server while the block runs."""
    loader = ScriptedEngineLoader(settings_for(folder), {}, **engines)
    async with session_server(loader, token) as server:
        yield server, loader


def sdk(server: SessionServer, key: str = "none") -> AsyncOpenAI:
    return AsyncOpenAI(base_url=server.openai, api_key=key, max_retries=0)


async def asked(server: SessionServer, method: str, path: str, **options: Any) -> httpx.Response:
    async with httpx.AsyncClient(trust_env=False, base_url=f"http://127.0.0.1:{server.port}") as client:
        return await client.request(method, path, timeout=20, **options)


def error_of(response: httpx.Response) -> tuple[int, str, str | None]:
    """Returns status, code and parameter of an error in OpenAI's format."""
    error = response.json()["error"]
    assert error.keys() == {"message", "type", "param", "code"}
    assert response.headers["cache-control"] == "no-store"
    return response.status_code, error["code"], error["param"]


# Client secrets


async def test_client_secret_opens_sessions_with_its_settings(tmp_path: Path) -> None:
    async with served(tmp_path, token=TOKEN) as (server, _):
        async with sdk(server, TOKEN) as client:
            made = await client.realtime.client_secrets.create(
                expires_after={"anchor": "created_at", "seconds": 60},
                session={"type": "realtime", "instructions": "Speak like a pirate.", "output_modalities": ["text"]},
            )
        assert made.value.startswith("ek_")
        assert made.session.type == "realtime"
        assert made.session.instructions == "Speak like a pirate."
        for _ in range(2):  # until it expires
            async with sdk(server, made.value) as page, page.realtime.connect(model="repartee") as connection:
                created = await connection.recv()
                assert created.type == "session.created"
                assert isinstance(created.session, RealtimeSessionCreateRequest)
                assert created.session.instructions == "Speak like a pirate."
                assert created.session.output_modalities == ["text"]
        offered = [Subprotocol("realtime"), Subprotocol(f"openai-insecure-api-key.{made.value}")]
        async with connect(server.url(), subprotocols=offered, proxy=None) as socket:
            assert json.loads(await socket.recv())["session"]["instructions"] == "Speak like a pirate."


async def test_token_in_the_handshake_opens_the_servers_own_session(tmp_path: Path) -> None:
    async with (
        served(tmp_path, token=TOKEN) as (server, loader),
        connected_client(server, {"Authorization": f"Bearer {TOKEN}"}) as client,
    ):
        session = client.events_of("session.created")[0]["session"]
        assert session["instructions"] == loader.settings.assistant.instructions


WRONG_SECRETS: list[tuple[object, str, str]] = [
    ({"expires_after": {"seconds": 9}}, "invalid_value", "expires_after.seconds"),
    ({"expires_after": {"seconds": 7201}}, "invalid_value", "expires_after.seconds"),
    ({"expires_after": {"anchor": "now", "seconds": 60}}, "invalid_value", "expires_after.anchor"),
    ({"expires_in": 60}, "unknown_parameter", "expires_in"),
    ({"session": []}, "invalid_type", "session"),
    ({"session": {"audio": {"output": {"speed": 9}}}}, "invalid_value", "session.audio.output.speed"),
    ({"session": {"tools": [{"type": "mcp"}]}}, "missing_required_parameter", "session.tools[0].server_label"),
]


async def test_session_of_a_client_secret_is_checked(tmp_path: Path) -> None:
    async with served(tmp_path) as (server, _):
        for body, code, param in WRONG_SECRETS:
            assert error_of(await asked(server, "POST", SECRETS, json=body)) == (400, code, param), body


async def test_client_secrets_of_one_address_are_limited(tmp_path: Path) -> None:
    async with served(tmp_path) as (server, _):
        async with httpx.AsyncClient(trust_env=False, base_url=f"http://127.0.0.1:{server.port}") as client:
            responses = [await client.post(SECRETS, json={}, timeout=20) for _ in range(40)]
        refused = [one for one in responses if one.status_code == 429]
        assert 5 <= len(refused) <= 10
        assert error_of(refused[0]) == (429, "rate_limit_exceeded", None)
        assert int(refused[0].headers["retry-after"]) > 0


# Models


async def test_models_are_listed(tmp_path: Path) -> None:
    async with served(tmp_path) as (server, _), sdk(server) as client:
        names = [one.id for one in (await client.models.list()).data]
        assert names == ["repartee", "scripted model", "scripted recognizer", "scripted voice"]
        for name in names:
            assert (await client.models.retrieve(name)).id == name
        with pytest.raises(APIStatusError) as missing:
            await client.models.retrieve("gpt-9")
        assert (missing.value.status_code, missing.value.code) == (404, "model_not_found")


WRONG_METHODS = [
    ("POST", "/v1/models"),
    ("DELETE", "/v1/models/repartee"),
    ("GET", SECRETS),
    ("PUT", SPEECH),
    ("GET", TRANSCRIPTIONS),
]


async def test_wrong_method_is_405(tmp_path: Path) -> None:
    async with served(tmp_path) as (server, _):
        for method, path in WRONG_METHODS:
            response = await asked(server, method, path)
            assert error_of(response) == (405, "method_not_allowed", None), (method, path)
            assert response.headers["allow"] in {"GET", "POST"}


# Speech


async def test_speech_is_synthesized(tmp_path: Path) -> None:
    async with served(tmp_path) as (server, loader):
        async with sdk(server) as client:
            answer = await client.audio.speech.create(
                model="tts-1", voice="alloy", input="Hello there. How are you?", response_format="wav", speed=1.5
            )
            sound, rate_hz = soundfile.read(io.BytesIO(answer.content))
            assert (rate_hz, len(sound)) == (REPLY_RATE_HZ, 5 * REPLY_RATE_HZ // 5)  # 200 ms a word
            raw = await client.audio.speech.create(model="tts-1", voice="alloy", input="Hello.", response_format="pcm")
            assert len(raw.content) == 2 * REPLY_RATE_HZ // 5
        assert " ".join(loader.speech.spoken[:-1]) == "Hello there. How are you?"
        assert set(loader.speech.speeds[:-1]) == {1.5}


async def test_speech_is_streamed_as_events(tmp_path: Path) -> None:
    async with served(tmp_path) as (server, _):
        body = {"input": "Hello there.", "voice": "alloy", "response_format": "pcm", "stream_format": "sse"}
        response = await asked(server, "POST", SPEECH, json=body)
        assert response.headers["content-type"].startswith("text/event-stream")
        events = [json.loads(line.removeprefix("data: ")) for line in response.text.split("\n\n") if line]
        assert [one["type"] for one in events] == ["speech.audio.delta"] * 4 + ["speech.audio.done"]


WRONG_SPEECH: list[tuple[object, str, str]] = [
    ({}, "missing_required_parameter", "input"),
    ({"input": ""}, "invalid_value", "input"),
    ({"input": "…"}, "invalid_value", "input"),
    ({"input": "สวัสดีครับ"}, "invalid_value", "input"),
    ({"input": "a" * 4097}, "invalid_value", "input"),
    ({"input": 7}, "invalid_type", "input"),
    ({"input": "a", "response_format": "midi"}, "invalid_value", "response_format"),
    ({"input": "a", "speed": 5}, "invalid_value", "speed"),
    ({"input": "a", "instructions": 7}, "invalid_type", "instructions"),
    ({"input": "a", "stream_format": "x"}, "invalid_value", "stream_format"),
    ({"input": "a", "pitch": 3}, "unknown_parameter", "pitch"),
]


async def test_invalid_speech_requests_name_the_field(tmp_path: Path) -> None:
    async with served(tmp_path) as (server, _):
        for body, code, param in WRONG_SPEECH:
            assert error_of(await asked(server, "POST", SPEECH, json=body)) == (400, code, param), body


async def test_failed_voice_is_loaded_again(tmp_path: Path) -> None:
    async with served(tmp_path) as (server, loader):
        loader.speech.fails = True
        body = {"input": "Hello.", "voice": "alloy", "response_format": "pcm"}
        assert (await asked(server, "POST", SPEECH, json=body)).status_code == 200
        assert loader.speech.loads == 1


# Transcriptions


def recorded(form: str, seconds: float = 1.0, rate_hz: int = 22_050) -> bytes:
    """Returns a recording of a tone."""
    file = io.BytesIO()
    tone = 0.3 * np.sin(np.arange(round(seconds * rate_hz)) * (2 * np.pi * 300 / rate_hz))
    soundfile.write(file, np.stack([tone, tone], axis=1), rate_hz, format=form)
    return file.getvalue()


async def test_recordings_are_transcribed(tmp_path: Path) -> None:
    async with served(tmp_path) as (server, _), sdk(server) as client:
        for form in ("WAV", "FLAC", "OGG", "MP3"):
            file = (f"a.{form.lower()}", recorded(form))
            made = await client.audio.transcriptions.create(model="whisper-1", file=file, language="en")
            assert made.text == "what time is it"
            assert made.usage is not None
            assert made.usage.type == "duration"
            assert made.usage.seconds == pytest.approx(1.0, abs=0.1)


async def test_long_recording_is_transcribed_in_segments(tmp_path: Path) -> None:
    async with (
        served(tmp_path, transcripts=("one", "two", "three", "four", "five", "six")) as (server, _),
        sdk(server) as client,
    ):
        sound = recorded("FLAC", 40)
        verbose = await client.audio.transcriptions.create(
            model="repartee", file=("a.flac", sound), response_format="verbose_json"
        )
        assert verbose.duration == pytest.approx(40, abs=0.1)
        assert verbose.segments is not None
        assert verbose.segments[0].start == 0
        for one, following in zip(verbose.segments, verbose.segments[1:], strict=False):
            assert one.end == following.start
            assert 8 <= one.end - one.start <= 15
        assert verbose.text == " ".join(one.text for one in verbose.segments)
        text = await client.audio.transcriptions.create(
            model="repartee", file=("a.flac", sound), response_format="text"
        )
        assert text.strip() == verbose.text
        deltas, done = [], None
        async for event in await client.audio.transcriptions.create(
            model="repartee", file=("a.flac", sound), stream=True
        ):
            if event.type == "transcript.text.delta":
                deltas.append(event.delta)
            elif event.type == "transcript.text.done":
                done = event.text
        assert len(deltas) == len(verbose.segments)
        assert "".join(deltas) == done == verbose.text


WRONG_TRANSCRIPTIONS = [
    ({"response_format": "diarized_json"}, "not_supported", "response_format"),
    ({"response_format": "srt", "stream": "true"}, "not_supported", "response_format"),
    ({"chunking_strategy": "words"}, "invalid_value", "chunking_strategy"),
    ({"languages[]": "de"}, "not_supported", "languages"),
    ({"known_speaker_names[]": "Ann"}, "not_supported", "known_speaker_names"),
    ({"language": "de"}, "not_supported", "language"),
    ({"stream": "maybe"}, "invalid_value", "stream"),
    ({"temperature": "warm"}, "invalid_type", "temperature"),
    ({"timestamp_granularities[]": "word"}, "not_supported", "timestamp_granularities"),
    ({"include[]": "words"}, "invalid_value", "include[0]"),
    ({"colour": "red"}, "unknown_parameter", "colour"),
]


async def test_invalid_transcription_requests_name_the_field(tmp_path: Path) -> None:
    async with served(tmp_path) as (server, _):
        for fields, code, param in WRONG_TRANSCRIPTIONS:
            files = {"file": ("a.wav", recorded("WAV"))}
            response = await asked(server, "POST", TRANSCRIPTIONS, data=fields, files=files)
            assert error_of(response) == (400, code, param), fields


@pytest.mark.parametrize("stream", ["true", "false"])
async def test_file_that_is_no_recording_is_refused(tmp_path: Path, stream: str) -> None:
    async with served(tmp_path) as (server, _):
        for content in (b"not a recording", b"RIFF", b"\xff\xfb" + bytes(500), b"ID3" + bytes(100)):
            files = {"file": ("a.wav", content)}
            response = await asked(server, "POST", TRANSCRIPTIONS, data={"stream": stream}, files=files)
            assert error_of(response) == (400, "invalid_value", "file"), content
