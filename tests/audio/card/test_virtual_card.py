"""Microphone and loudspeaker on a private PulseAudio server: audio passes, losses recover."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

import numpy as np
import pytest
from support.sound.virtual_card import (
    MICROPHONE,
    SPEAKER,
    VOICE,
    Recorder,
    VirtualCard,
    found_at,
    noise,
    share_found,
    virtual_card,
    write_wav,
)

from audio.card.microphone import CardMicrophone
from audio.card.speaker import CardSpeaker
from audio.devices import list_devices, pick
from audio.frame import Frame
from audio.sound_id import NamedSound, SoundId

pytestmark = [pytest.mark.slow, pytest.mark.calm, pytest.mark.real_time]


class CardHarness:
    """Both running cards with their frames, playback and reports."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.frames: list[Frame] = []
        self.played: list[tuple[SoundId, int, float, bool]] = []
        self.microphone = CardMicrophone(MICROPHONE, report=self.said.append)
        self.speaker = CardSpeaker(SPEAKER, report=self.said.append)
        self.speaker.on_played = lambda *what: self.played.append(what)

    async def collect_frames(self) -> None:
        async with aclosing(self.microphone.frames()) as frames:
            async for frame in frames:
                self.frames.append(Frame(frame.start, frame.pcm.copy(), frame.is_inserted))

    async def until(self, true: Callable[[], object], within_s: float = 15.0) -> None:
        async with asyncio.timeout(within_s):
            while not true():  # noqa: ASYNC110 - what is waited for has no event
                await asyncio.sleep(0.02)

    @property
    def both_open(self) -> bool:
        return self.microphone.opened is not None and self.speaker.opened is not None

    async def wait_for_audio(self) -> None:
        """Checks that audio arrives, and that a reply is played completely and only by the card."""
        await self.until(lambda: self.both_open and self.frames and not self.frames[-1].is_inserted)
        sound_id = NamedSound(f"reply {len(self.played)}")
        silent = self.speaker.silent_samples
        self.speaker.open(sound_id)
        assert await self.speaker.play_chunk(sound_id, noise(2400))
        self.speaker.end(sound_id)
        await self.until(lambda: self.played and self.played[-1][0] == sound_id and self.played[-1][3])
        assert self.speaker.silent_samples == silent


@asynccontextmanager
async def running() -> AsyncGenerator[CardHarness]:
    harness = CardHarness()
    async with asyncio.TaskGroup() as tasks:
        cards = [tasks.create_task(harness.collect_frames()), tasks.create_task(harness.speaker.run())]
        await harness.until(lambda: harness.both_open)
        yield harness
        await harness.microphone.aclose()
        await harness.speaker.aclose()
        await asyncio.gather(*cards)


@pytest.fixture
def card() -> Generator[VirtualCard]:
    with virtual_card() as card:
        list_devices()  # refreshes the device list
        yield card


@pytest.mark.alone
async def test_microphone_and_loudspeaker_pass_audio(card: VirtualCard, tmp_path: Path) -> None:
    voice, reply = noise(16_000 * 3), noise(24_000 * 2, seed=9)
    began_s = 0.0  # of the spoken audio
    async with running() as harness:
        loop = asyncio.get_running_loop()
        await asyncio.sleep(0.5)
        with Recorder(card) as recorder:
            began_s = loop.time()
            speaking = card.speak(write_wav(tmp_path / "voice.wav", voice, 16_000))
            harness.speaker.open(NamedSound("reply"))
            await harness.speaker.play_chunk(NamedSound("reply"), reply)
            harness.speaker.end(NamedSound("reply"))
            assert await asyncio.to_thread(speaking.wait) == 0
            await asyncio.sleep(0.3)
        assert share_found(recorder.pcm, reply, 24_000) >= 0.85
        heard_at, _ = found_at(recorder.pcm, reply)
        # The recorder's first block was late by its own length, and what it had buffered: both within these 40 ms.
        assert harness.played[0][2] - recorder.began_s == pytest.approx(heard_at / 24_000, abs=0.04)
    line = np.concatenate([frame.pcm for frame in harness.frames])
    assert share_found(line, voice, 16_000) >= 0.9
    spoken_at, _ = found_at(line, voice)
    assert not any(frame.is_inserted for frame in harness.frames[spoken_at // 320 :])
    # Captured at playback: paplay needs up to 0.3 s to start.
    assert -0.02 < harness.microphone.clock.to_loop_s(harness.frames[0].start) + spoken_at / 16_000 - began_s < 0.5
    assert (harness.played[-1][1], harness.played[-1][3]) == (48_000, True)
    assert (harness.microphone.overflows, harness.said) == (0, [])


def test_comparison_detects_gaps_and_missing_audio() -> None:
    said = noise(16_000 * 3)
    gap, half = np.zeros(160, np.int16), len(said) // 2
    assert share_found(np.concatenate([gap, said]), said, 16_000) == 1.0
    assert share_found(np.concatenate([gap, said[:half], gap, said[half:]]), said, 16_000) >= 11 / 12
    assert share_found(np.concatenate([said[: half + 2000], said[half + 2160 :], gap]), said, 16_000) == 11 / 12
    assert share_found(np.concatenate([said[:half], np.zeros(half, np.int16)]), said, 16_000) == 0.5
    assert share_found(np.concatenate([noise(half, seed=1), said[half:]]), said, 16_000) == 0.5


def test_virtual_card_is_listed(card: VirtualCard) -> None:
    devices = list_devices()
    assert pick(devices, "", "input").name == "default"
    assert {MICROPHONE, SPEAKER} <= {device.name for device in devices}


async def test_removed_and_restored_devices_recover(card: VirtualCard) -> None:
    async with running() as harness:
        await harness.wait_for_audio()
        for name in (SPEAKER, VOICE):
            await asyncio.to_thread(card.unplug, name)
        await harness.until(lambda: harness.speaker.opened is None and harness.microphone.opened is None)
        heard = len(harness.frames)
        await asyncio.sleep(1.0)
        assert len(harness.frames) - heard == pytest.approx(50, abs=10)
        assert harness.frames[-1].is_inserted
        for name in (SPEAKER, VOICE):
            await asyncio.to_thread(card.plug, name)
        await harness.wait_for_audio()
    said = harness.said
    for name in (MICROPHONE, SPEAKER):
        assert any(f'"{name}" is gone' in line for line in said)
        assert any(f'"{name}" is back' in line for line in said)


@pytest.mark.thorough  # tests/audio/card/test_microphone.py and test_speaker.py say it of lost cards
async def test_restarted_server_is_recovered(card: VirtualCard) -> None:
    async with running() as harness:
        await harness.wait_for_audio()
        harness.speaker.open(NamedSound("long"))
        await harness.speaker.play_chunk(NamedSound("long"), noise(36_000))
        harness.speaker.end(NamedSound("long"))
        await asyncio.to_thread(card.kill)
        await harness.until(lambda: harness.played[-1][:2] == (NamedSound("long"), 36_000), 5)  # in silence
        assert harness.speaker.silent_samples > 20_000
        await asyncio.to_thread(card.start)
        await harness.wait_for_audio()
    assert any("no loudspeaker was found" in line or "is gone" in line for line in harness.said)


@pytest.mark.thorough
async def test_hanging_server_is_recovered(card: VirtualCard) -> None:
    async with running() as harness:
        await harness.wait_for_audio()
        await asyncio.sleep(3.0)
        card.hang()
        await harness.until(lambda: harness.speaker.opened is None and harness.microphone.opened is None)
        heard = len(harness.frames)
        await asyncio.sleep(1.0)
        assert len(harness.frames) - heard == pytest.approx(50, abs=10)
        card.wake()
        await harness.wait_for_audio()
