"""Speech to text for clients of the Wyoming protocol."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import numpy as np
import pytest
from support.conversations.simulation import LoudnessVad
from support.engines.scripted_engines import SequenceRecognizer
from support.servers.session_server import ScriptedEngineLoader
from support.servers.wyoming_client import WyomingClient, speech, wyoming_client, wyoming_server
from wyoming.asr import Transcribe, Transcript
from wyoming.audio import AudioChunk, AudioStart, AudioStop
from wyoming.error import Error
from wyoming.ping import Ping

from audio.errors import EngineLoadError
from audio.units import MIC_RATE_HZ, Pcm


async def transcript_of(client: WyomingClient, sound: Pcm, rate_hz: int = MIC_RATE_HZ, channels: int = 1) -> str:
    await client.send(Transcribe())
    await client.send_sound(sound, rate_hz, channels)
    text = Transcript.from_event(await client.until("transcript", "error")).text
    await client.until("transcript-stop")
    return text


async def test_speech_becomes_a_transcript(tmp_path: Path) -> None:
    async with wyoming_server(tmp_path) as server, wyoming_client(server) as client:
        assert await transcript_of(client, speech()) == "what time is it"
        assert client.types == ["transcript-start", "transcript-chunk", "transcript", "transcript-stop"]
        assert client.events[2].data["language"] == "en"
        assert await transcript_of(client, speech()) == "what time is it"  # a second request on the connection


async def test_sound_with_a_start_needs_no_request(tmp_path: Path) -> None:
    async with wyoming_server(tmp_path) as server, wyoming_client(server) as client:
        await client.send_sound(speech())
        assert Transcript.from_event(await client.until("transcript", "error")).text == "what time is it"
        assert server.limits.current == 0


@pytest.mark.parametrize(("rate_hz", "channels"), [(8000, 1), (22_050, 1), (44_100, 2), (48_000, 2)])
async def test_sound_of_any_format_is_recognized(tmp_path: Path, rate_hz: int, channels: int) -> None:
    sound = np.repeat(speech(rate_hz=rate_hz)[:, None], channels, axis=1)
    async with wyoming_server(tmp_path) as server, wyoming_client(server) as client:
        assert await transcript_of(client, sound, rate_hz, channels) == "what time is it"


async def test_live_sound_is_recognized_before_its_end(tmp_path: Path) -> None:
    async with wyoming_server(tmp_path) as server, wyoming_client(server) as client:
        await client.send(Transcribe(), AudioStart(MIC_RATE_HZ, 2, 1))
        sound = speech(0.3)
        for start in range(0, len(sound), 640):
            await client.send(AudioChunk(MIC_RATE_HZ, 2, 1, sound[start : start + 640].tobytes()))
            await asyncio.sleep(0.02)
        recognizer = server.connections.engine_pool.engine_loader.recognizers[-1]  # type: ignore[attr-defined]
        assert recognizer._heard == {}
        await client.send(AudioStop())
        assert Transcript.from_event(await client.until("transcript")).text == "what time is it"


async def test_long_recording_is_recognized_in_parts(tmp_path: Path) -> None:
    transcripts = ("first", "second", "third", "fourth", "fifth")
    async with wyoming_server(tmp_path, transcripts=transcripts) as server, wyoming_client(server) as client:
        words = (await transcript_of(client, speech(70.0))).split()
        assert words == list(transcripts[: len(words)])
        assert len(words) > 2


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        (Transcribe(language="xx"), "language_not_supported"),
        (Transcribe(name="another"), "model_not_found"),
    ],
)
async def test_wrong_wish_is_refused_in_words(tmp_path: Path, request_: Transcribe, code: str) -> None:
    async with wyoming_server(tmp_path) as server, wyoming_client(server) as client:
        await client.send(request_)
        await client.send_sound(speech())  # is ignored
        assert Error.from_event(await client.until("error")).code == code
        assert await client.receive() is None  # a client that knows no errors does not wait for ever


@pytest.mark.parametrize("start", [AudioStart(16_000, 4, 1), AudioStart(100, 2, 1), AudioStart(16_000, 2, 99)])
async def test_unusable_sound_is_refused_in_words(tmp_path: Path, start: AudioStart) -> None:
    async with wyoming_server(tmp_path) as server, wyoming_client(server) as client:
        await client.send(Transcribe(), start)
        assert Error.from_event(await client.until("error")).code == "invalid_audio"
        assert server.limits.current == 0


async def test_recognizer_is_closed_if_the_detector_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with wyoming_server(tmp_path) as server, wyoming_client(server) as client:

        def failing(_loader: ScriptedEngineLoader) -> LoudnessVad:
            raise EngineLoadError("its model is missing")

        monkeypatch.setattr(ScriptedEngineLoader, "detector", failing)
        closed: list[object] = []
        monkeypatch.setattr(SequenceRecognizer, "aclose", _noted(closed))
        await client.send(Transcribe())
        assert Error.from_event(await client.until("error")).code == "internal_error"
        assert closed
        assert server.limits.current == 0


def _noted(closed: list[object]) -> Callable[[object], Awaitable[None]]:
    async def aclose(recognizer: object) -> None:
        closed.append(recognizer)

    return aclose


async def test_full_server_refuses_in_words_and_frees_slots(tmp_path: Path) -> None:
    async with (
        wyoming_server(tmp_path, "server.max_sessions=1") as server,
        wyoming_client(server) as first,
        wyoming_client(server) as second,
        wyoming_client(server) as third,
    ):
        await first.send(Transcribe(), Ping())
        await first.until("pong")
        assert server.limits.current == 1
        await second.send(Transcribe())
        assert "its only session is in use" in Error.from_event(await second.until("error")).text
        await first.client.disconnect()
        assert await transcript_of(third, speech()) == "what time is it"


async def test_several_clients_are_served_at_once(tmp_path: Path) -> None:
    async with wyoming_server(tmp_path) as server:

        async def one() -> str:
            async with wyoming_client(server) as client:
                return await transcript_of(client, speech())

        assert await asyncio.gather(*(one() for _ in range(6))) == ["what time is it"] * 6
