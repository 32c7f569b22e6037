"""The program with a Wyoming address, and real engines: words when the sound ends, a wake word."""

import asyncio
from pathlib import Path

import numpy as np
import pytest
from support.models.installed_model import TINY_EN_FOLDER
from support.programs.program import repartee
from support.programs.serve_program import serving
from support.servers.session_server import WHAT_TIME, settings_for
from support.servers.wyoming_client import WyomingClient, wyoming_client, wyoming_server
from support.sound.speech import sound_of, spoken
from wyoming.asr import Transcribe, Transcript
from wyoming.audio import AudioChunk, AudioStart, AudioStop
from wyoming.client import AsyncClient
from wyoming.info import Describe, Info
from wyoming.wake import Detect, Detection

from assistant.setup.engine_loader import EngineLoader
from audio.tts.espeak.voice import EspeakVoice
from audio.units import MIC_RATE_HZ, REPLY_RATE_HZ, Pcm, samples_of_s
from bench.conversations.recordings import read_pcm

CHUNK_MS = 20

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]


async def send_live(client: WyomingClient, sound: Pcm, rate_hz: int) -> None:
    """Sends sound in real time, without its end."""
    await client.send(AudioStart(rate_hz, 2, 1))
    chunk, loop = rate_hz * CHUNK_MS // 1000, asyncio.get_running_loop()
    began_s = loop.time()
    for number, start in enumerate(range(0, len(sound), chunk)):
        await client.send(AudioChunk(rate_hz, 2, 1, sound[start : start + chunk].tobytes()))
        await asyncio.sleep(max(0.0, began_s + (number + 1) * CHUNK_MS / 1000 - loop.time()))


@pytest.mark.weights
@pytest.mark.real_time
@pytest.mark.skipif(TINY_EN_FOLDER is None, reason="tiny.en is not downloaded: repartee models pull tiny.en")
def test_words_are_ready_when_live_sound_ends(tmp_path: Path) -> None:
    sound = np.concatenate([read_pcm(WHAT_TIME), np.zeros(samples_of_s(0.4), np.int16)])

    async def main() -> float:
        settings = settings_for(tmp_path, f"stt.model={TINY_EN_FOLDER}", "tts.engine=espeak-ng")
        loader = EngineLoader(settings, {})
        async with wyoming_server(tmp_path, loader=loader) as server, wyoming_client(server) as client:
            await client.send(Transcribe(language="en"))
            await send_live(client, sound, MIC_RATE_HZ)
            ended_s = asyncio.get_running_loop().time()
            await client.send(AudioStop())
            transcript = Transcript.from_event(await client.until("transcript"))
            waited_s = asyncio.get_running_loop().time() - ended_s
            assert transcript.text.lower().startswith("what time is it")
            return waited_s

    assert asyncio.run(main()) < 0.1


def test_wake_word_is_detected_by_its_sound(tmp_path: Path) -> None:
    pytest.importorskip("pymicro_wakeword", reason="the extra wake is not installed")
    called = sound_of(spoken(EspeakVoice(), "Okay Nabu"))
    quiet = np.random.default_rng(1).normal(0, 20, REPLY_RATE_HZ).astype(np.int16)

    async def main() -> Detection:
        async with wyoming_server(tmp_path) as server, wyoming_client(server) as client:
            await client.send(Detect(["okay_nabu"]))
            await client.send_sound(np.concatenate([quiet, called, quiet]), REPLY_RATE_HZ)
            return Detection.from_event(await client.until("detection", "not-detected"))

    detection = asyncio.run(main())
    assert detection.name == "okay_nabu"
    assert detection.timestamp == pytest.approx(1000 + len(called) / 24, abs=300)


@pytest.mark.thorough
def test_program_serves_wyoming_and_leaves_no_socket(tmp_path: Path) -> None:
    path = tmp_path / "wyoming.sock"

    async def described() -> Info:
        async with AsyncClient.from_uri(f"unix://{path}") as client:
            await client.write_event(Describe().event())
            event = await client.read_event()
            assert event is not None
            return Info.from_event(event)

    with serving(tmp_path, f"server.wyoming=unix://{path}", "stt.threads=1"):
        info = asyncio.run(described())
        assert info.tts[0].voices
        assert "en" in info.handle[0].models[0].languages
    assert not path.exists()


def test_wrong_wyoming_address_of_the_command_is_one_line() -> None:
    done = repartee("serve", "--port", "0", "--wyoming", "tcp://:10300")
    assert done.returncode == 2
    assert done.stderr.startswith("repartee: --wyoming tcp://:10300: not an address")
    assert len(done.stderr.splitlines()) == 1
