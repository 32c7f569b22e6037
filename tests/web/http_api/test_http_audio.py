"""Formats of speech, names of models and voices, and subtitles over HTTP."""

import asyncio
import base64
import io
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import av
import httpx
import numpy as np
import pytest
import soundfile
from openai.types.audio import TranscriptionVerbose
from support.conversations.simulation import ScriptedVoice
from support.engines.scripted_engines import SequenceRecognizer
from support.servers.session_server import ScriptedEngineLoader, session_server, settings_for

from audio.formats.stream_encoder import FileFormat, StreamEncoder
from audio.formats.upload_decoder import decoded
from audio.stt import TokenProbability
from audio.units import MIC_RATE_HZ, REPLY_RATE_HZ
from web.http_api.subtitles import srt, vtt
from web.http_api.transcriptions import Segment

SPEECH = "/v1/audio/speech"
TRANSCRIPTIONS = "/v1/audio/transcriptions"
FORMATS: tuple[FileFormat, ...] = ("mp3", "opus", "flac", "aac")
TYPES = {"mp3": "audio/mpeg", "opus": "audio/ogg", "flac": "audio/flac", "aac": "audio/aac"}


@asynccontextmanager
async def served(folder: Path, *assignments: str, **engines: Any) -> AsyncGenerator[httpx.AsyncClient]:
    """Runs a server, and a client of it, while the block runs."""
    loader = ScriptedEngineLoader(settings_for(folder, *assignments), {}, **engines)
    async with session_server(loader) as server:
        base = f"http://127.0.0.1:{server.port}"
        async with httpx.AsyncClient(trust_env=False, base_url=base, timeout=20) as client:
            yield client


def seconds(content: bytes) -> float:
    """Decodes a file; returns the length of its sound."""
    with av.open(io.BytesIO(content), "r") as file:
        stream = file.streams.audio[0]
        return float(sum(frame.samples for frame in file.decode(stream)) / (stream.rate or 1))


@pytest.mark.parametrize("form", FORMATS)
def test_sound_is_encoded_as_it_comes(form: FileFormat) -> None:
    tone = (8000 * np.sin(np.arange(3 * REPLY_RATE_HZ) * (2 * np.pi * 300 / REPLY_RATE_HZ))).astype(np.int16)
    encoder = StreamEncoder(form)
    parts = [encoder.encode(tone[at : at + 4800]) for at in range(0, len(tone), 4800)]
    assert sum(map(len, parts[:5])) > 200  # within the first second
    whole = b"".join([*parts, encoder.finish()])
    assert seconds(whole) == pytest.approx(3, abs=0.1)
    if form == "flac":
        with av.open(io.BytesIO(whole), "r") as file:
            sound = np.concatenate([frame.to_ndarray()[0] for frame in file.decode(file.streams.audio[0])])
        assert np.array_equal(sound, tone)


@pytest.mark.parametrize("form", FORMATS)
def test_encoded_sound_can_be_uploaded_again(form: FileFormat) -> None:
    tone = (8000 * np.sin(np.arange(3 * REPLY_RATE_HZ) * (2 * np.pi * 300 / REPLY_RATE_HZ))).astype(np.int16)
    encoder = StreamEncoder(form)
    whole = encoder.encode(tone) + encoder.finish()

    async def main() -> int:
        return sum([len(pcm) async for pcm in decoded(whole, 10)])

    assert asyncio.run(main()) == pytest.approx(3 * MIC_RATE_HZ, abs=0.1 * MIC_RATE_HZ)


@pytest.mark.parametrize("form", FORMATS)
async def test_speech_has_the_requested_format(tmp_path: Path, form: FileFormat) -> None:
    async with served(tmp_path) as client:
        body = {"input": "Hello there. How are you?", "response_format": form}
        response = await client.post(SPEECH, json=body)
        assert response.headers["content-type"] == TYPES[form]
        assert seconds(response.content) == pytest.approx(1, abs=0.15)
        streamed = await client.post(SPEECH, json=body | {"stream_format": "sse"})
        events = [json.loads(line.removeprefix("data: ")) for line in streamed.text.split("\n\n") if line]
        sound = b"".join(base64.b64decode(one["audio"]) for one in events[:-1])
        assert seconds(sound) == pytest.approx(1, abs=0.15)


@dataclass
class WaitingVoice(ScriptedVoice):
    """Speaks the second sentence only when it may."""

    may_go_on: asyncio.Event = field(default_factory=asyncio.Event)

    async def speak(self, text: str, speed: float = 1.0, ahead_s: float = 0.0) -> AsyncGenerator[Any]:
        if text.startswith("Second"):
            await self.may_go_on.wait()
        async for chunk in super().speak(text, speed):
            yield chunk


@pytest.mark.parametrize("form", ["mp3", "flac"])
async def test_file_begins_before_the_whole_is_made(tmp_path: Path, form: FileFormat) -> None:
    voice = WaitingVoice()
    async with served(tmp_path, speech=voice) as client:
        text = "First there are many words that take a while to say, and some more of them. Second is this one."
        async with client.stream("POST", SPEECH, json={"input": text, "response_format": form}) as response:
            parts = response.aiter_raw()
            received = b""
            async with asyncio.timeout(10):
                while len(received) < 1500:
                    received += await anext(parts)
                voice.may_go_on.set()
                async for part in parts:
                    received += part
        assert seconds(received) > 3


TAKEN: list[dict[str, Any]] = [
    {"model": "tts-1", "voice": "alloy", "instructions": "Speak slowly."},
    {"model": "repartee", "voice": "repartee"},
    {"model": "scripted voice", "voice": {"id": "scripted voice"}},
    {"voice": "my_voice"},
]
REFUSED: list[tuple[dict[str, Any], int, str]] = [
    ({"model": "gpt-9"}, 404, "model_not_found"),
    ({"model": "whisper-1"}, 404, "model_not_found"),
    ({"voice": "somebody else"}, 400, "invalid_value"),
    ({"voice": {"id": "voice_1234"}}, 400, "invalid_value"),
]


async def test_model_and_voice_are_the_servers_or_refused(tmp_path: Path) -> None:
    async with served(tmp_path, "tts.voice=my_voice") as client:
        for asked in TAKEN:
            response = await client.post(SPEECH, json={"input": "Hello."} | asked)
            assert response.status_code == 200, asked
            assert response.headers["content-type"] == "audio/mpeg"
            assert response.headers["x-repartee-model"] == "scripted voice"
            assert response.headers["x-repartee-voice"] == "my_voice"
        for asked, status, code in REFUSED:
            response = await client.post(SPEECH, json={"input": "Hello."} | asked)
            error = response.json()["error"]
            assert (response.status_code, error["code"], error["param"]) == (status, code, next(iter(asked)))


def recorded(length_s: float) -> bytes:
    file = io.BytesIO()
    tone = 0.3 * np.sin(np.arange(round(length_s * 16_000)) * (2 * np.pi * 300 / 16_000))
    soundfile.write(file, tone, 16_000, format="FLAC")
    return file.getvalue()


@pytest.mark.parametrize("form", ["srt", "vtt"])
async def test_recording_becomes_subtitles(tmp_path: Path, form: str) -> None:
    async with served(tmp_path, transcripts=("one", "two", "three", "four", "five", "six")) as client:
        files = {"file": ("a.flac", recorded(13))}
        fields = {"model": "whisper-1", "response_format": form, "temperature": "0", "chunking_strategy": "auto"}
        response = await client.post(TRANSCRIPTIONS, data=fields, files=files)
        assert response.status_code == 200
        assert response.headers["x-repartee-model"] == "scripted recognizer"
        cues = response.text.count("-->")
        assert cues >= 3  # at most 6 s each
        assert response.text.startswith("WEBVTT\n\n" if form == "vtt" else "1\n00:00:00,000 --> 00:00:0")
        assert "one" in response.text
        assert response.text.endswith("\n")


async def test_hints_of_a_transcription_reach_the_recognizer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prompts: list[str] = []
    monkeypatch.setattr(SequenceRecognizer, "set_prompt", lambda _self, text: prompts.append(text), raising=False)
    monkeypatch.setattr(SequenceRecognizer, "keep_tokens", lambda _self, **_wishes: None, raising=False)
    monkeypatch.setattr(
        SequenceRecognizer, "tokens_of", lambda _self, text: (TokenProbability(text, -0.25),), raising=False
    )
    fields = {
        "prompt": "A call about boats.",
        "keywords[]": ["Repartee", "Ann"],
        "include[]": "logprobs",
        "temperature": "0.4",
        "chunking_strategy[type]": "server_vad",
        "chunking_strategy[silence_duration_ms]": "300",
    }
    async with served(tmp_path, transcripts=("one",)) as client:
        response = await client.post(TRANSCRIPTIONS, data=fields, files={"file": ("a.flac", recorded(1))})
        assert response.json()["logprobs"] == [{"token": "one", "bytes": list(b"one"), "logprob": -0.25}]
    assert prompts == ["Repartee, Ann. A call about boats."]


async def test_words_have_their_times_on_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, bool]] = []
    tokens = (
        TokenProbability(" Hel", -0.1, 0.2, 0.5),
        TokenProbability("lo", -0.1, 0.2, 0.5),
        TokenProbability(",", -0.1, 0.5, 0.6),
        TokenProbability(" Ann", -0.1, 0.7, 0.9),
        TokenProbability(".", -0.1, 0.9, 1.0),
    )
    monkeypatch.setattr(SequenceRecognizer, "keep_tokens", lambda _self, **wishes: asked.append(wishes), raising=False)
    monkeypatch.setattr(SequenceRecognizer, "tokens_of", lambda _self, _text: tokens, raising=False)
    fields = {"response_format": "verbose_json", "timestamp_granularities[]": ["word", "segment"]}
    async with served(tmp_path, transcripts=("Hello, Ann.",)) as client:
        response = await client.post(TRANSCRIPTIONS, data=fields, files={"file": ("a.flac", recorded(1))})
        found = TranscriptionVerbose.model_validate(response.json(), strict=True)
        assert found.words is not None
        assert [(word.word, word.start, word.end) for word in found.words] == [("Hello", 0.2, 0.5), ("Ann", 0.7, 0.9)]
        assert found.segments
    assert asked == [{"enabled": True, "timed": True}]


def test_subtitles_have_their_format() -> None:
    cues = [Segment(0, 24_000, "Hello <you> & me"), Segment(24_000, 48_000, ""), Segment(57_600_000, 57_632_016, "End")]
    assert srt(cues) == (
        "1\n00:00:00,000 --> 00:00:01,500\nHello <you> & me\n\n2\n01:00:00,000 --> 01:00:02,001\nEnd\n"
    )
    assert vtt(cues) == (
        "WEBVTT\n\n00:00:00.000 --> 00:00:01.500\nHello &lt;you&gt; &amp; me\n\n01:00:00.000 --> 01:00:02.001\nEnd\n"
    )


async def test_unknown_model_of_a_transcription_is_refused(tmp_path: Path) -> None:
    async with served(tmp_path) as client:
        answer = await client.post(TRANSCRIPTIONS, data={"model": "tts-1"}, files={"file": ("a.flac", recorded(1))})
        error = answer.json()["error"]
        assert (answer.status_code, error["code"], error["param"]) == (404, "model_not_found", "model")
