"""Wake words and voice activity for clients of the Wyoming protocol."""

import asyncio
from pathlib import Path

import numpy as np
import pytest
from support.servers.wyoming_client import speech, wyoming_client, wyoming_server
from wyoming.audio import AudioChunk, AudioStart
from wyoming.error import Error
from wyoming.info import Describe, Info
from wyoming.vad import VoiceStarted, VoiceStopped
from wyoming.wake import Detect, Detection

from audio.frame import Frame
from audio.units import MIC_RATE_HZ
from audio.wake import WakeWordDetection
from web.wyoming import connection, detection

WORDS = ("okay_nabu", "alexa")
CHUNK = AudioChunk(MIC_RATE_HZ, 2, 1, bytes(2048))


class LoudWord:
    """Detects the first of its words in the first loud frame."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        self._detected = False

    def process(self, frame: Frame) -> WakeWordDetection | None:
        if self._detected or not np.abs(frame.pcm).max() > 1000:
            return None
        self._detected = True
        return WakeWordDetection(self.names[0], frame.end)


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(detection, "installed_wake_words", lambda: WORDS)
    monkeypatch.setattr(detection, "wake_word_detector", LoudWord)


@pytest.mark.usefixtures("installed")
async def test_wake_word_is_detected(tmp_path: Path) -> None:
    async with wyoming_server(tmp_path) as server, wyoming_client(server) as client:
        await client.send(Describe())
        (program,) = Info.from_event(await client.until("info")).wake
        assert [(model.name, model.phrase) for model in program.models] == [
            ("okay_nabu", "okay nabu"),
            ("alexa", "alexa"),
        ]
        await client.send(Detect(["alexa"], {"satellite": 1}))
        await client.send_sound(speech())
        assert Detection.from_event(await client.until("detection")) == Detection(
            "alexa", 320, context={"satellite": 1}
        )
        await client.send(Detect())
        await client.send_sound(np.zeros(MIC_RATE_HZ, np.int16))
        await client.until("not-detected")
        assert server.limits.current == 0


@pytest.mark.usefixtures("installed")
async def test_stream_that_waits_for_a_wake_word_may_pause(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "SOUND_TIMEOUT_S", 0.1)
    async with wyoming_server(tmp_path) as server, wyoming_client(server) as client:
        await client.send(Detect(), AudioStart(MIC_RATE_HZ, 2, 1), CHUNK)
        await asyncio.sleep(0.4)
        await client.send_sound(speech())
        assert Detection.from_event(await client.until("detection", "error")).name == "okay_nabu"


@pytest.mark.usefixtures("installed")
async def test_unknown_wake_word_is_refused_in_words(tmp_path: Path) -> None:
    async with wyoming_server(tmp_path) as server, wyoming_client(server) as client:
        await client.send(Detect(["computer"]))
        assert "okay_nabu, alexa" in Error.from_event(await client.until("error")).text


@pytest.mark.usefixtures("installed")
async def test_setting_limits_the_wake_words(tmp_path: Path) -> None:
    async with wyoming_server(tmp_path, "server.wake_words=") as server, wyoming_client(server) as client:
        await client.send(Describe())
        assert Info.from_event(await client.until("info")).wake == []
        await client.send(Detect())
        assert "server.wake_words" in Error.from_event(await client.until("error")).text


async def test_chunks_without_a_request_report_voices(tmp_path: Path) -> None:
    async with wyoming_server(tmp_path) as server, wyoming_client(server) as client:
        sound = np.concatenate([speech(silence_s=(0.3, 1.0)), speech(silence_s=(0.0, 0.1))])
        await client.send_sound(sound, has_start=False)
        started = VoiceStarted.from_event(await client.until("voice-started")).timestamp
        stopped = VoiceStopped.from_event(await client.until("voice-stopped")).timestamp
        assert started == pytest.approx(300, abs=60)
        assert stopped == pytest.approx(1300, abs=120)
        await client.until("voice-started")
        await client.until("voice-stopped")


async def test_number_of_listening_streams_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(detection, "MAX_STREAMS", 1)
    async with (
        wyoming_server(tmp_path) as server,
        wyoming_client(server) as first,
        wyoming_client(server) as second,
    ):
        await first.send(CHUNK, Describe())
        await first.until("info")
        await second.send(CHUNK)
        assert Error.from_event(await second.until("error")).code == "server_full"


async def test_file_without_a_request_is_taken_at_a_pace(tmp_path: Path) -> None:
    async with wyoming_server(tmp_path) as server, wyoming_client(server) as client:
        now_s = asyncio.get_running_loop().time
        began_s = now_s()
        await client.send_sound(speech(24.0), has_start=False)
        await client.until("voice-stopped")
        assert 0.9 < now_s() - began_s < 20  # 16 s of it at once, the rest at eight times real time
