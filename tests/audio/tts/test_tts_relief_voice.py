"""A cheap voice speaks while the neural one is too slow or has failed."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

import numpy as np
import pytest

from audio.degradation import Degradation
from audio.engine_lateness import EngineLateness
from audio.errors import TtsError
from audio.machine_load import MachineLoad
from audio.tts import Chunk
from audio.tts.relief_voice import ReliefVoice, relief_of
from audio.tts.remembered import RememberedVoice

SOUND = Chunk(np.ones(10, np.int16))


class FixedLoad:
    """A machine that other programs keep busy."""

    def read(self) -> MachineLoad:
        return MachineLoad(2, 0.2, 1.8, 16)


class FakeVoice:
    """A voice that makes one chunk, or fails before or after it."""

    detail = "fake"

    def __init__(self, name: str, fails: str = "") -> None:
        self.name = name
        self.fails = fails
        self.spoken: list[str] = []
        self.loads = 0

    async def load(self) -> None:
        self.loads += 1

    async def speak(self, text: str, speed: float = 1.0, ahead_s: float = 0.0) -> AsyncGenerator[Chunk]:
        if self.fails == "before":
            raise TtsError("it hung")
        self.spoken.append(text)
        yield SOUND
        if self.fails == "after":
            raise TtsError("it hung")

    async def aclose(self) -> None:
        pass


class Clock:
    """A clock that the test sets."""

    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


async def said(voice: ReliefVoice | RememberedVoice, text: str) -> int:
    async with aclosing(voice.speak(text)) as chunks:
        return len([chunk async for chunk in chunks])


async def test_cheap_voice_speaks_until_machine_is_less_busy(caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    lateness = EngineLateness(FixedLoad(), clock)
    neural, cheap = FakeVoice("piper"), FakeVoice("espeak-ng")
    voice = ReliefVoice(neural, cheap, lateness)
    assert await said(voice, "one") == 1
    lateness.record_job(took_s=8.0, sound_s=2.0)
    assert lateness.level == Degradation.CHEAP_VOICE
    assert await said(voice, "two") == 1
    assert relief_of(voice) == "this machine is busy: other programs use 1.8 of 2 processors"
    clock.now_s = 11.0
    await said(voice, "three")
    assert await said(voice, "four") == 1
    assert (neural.spoken, cheap.spoken) == (["one", "four"], ["two", "three"])
    assert relief_of(voice) == ""
    told = [record.message for record in caplog.records]
    assert sum("engines are late (this machine is busy" in line for line in told) == 1
    assert sum("espeak-ng speaks instead of piper" in line for line in told) == 1


async def test_failed_voice_is_replaced_for_the_text_and_loaded_again() -> None:
    neural, cheap = FakeVoice("piper", "before"), FakeVoice("espeak-ng")
    voice = ReliefVoice(neural, cheap, EngineLateness(FixedLoad()))
    assert await said(voice, "one") == 1
    assert relief_of(voice) == "it hung"
    await asyncio.sleep(0)
    neural.fails = ""
    await asyncio.sleep(0)
    assert neural.loads == 1
    await said(voice, "two")
    assert (neural.spoken, cheap.spoken) == (["two"], ["one"])


async def test_text_that_has_begun_is_not_continued_by_another_voice() -> None:
    cheap = FakeVoice("espeak-ng")
    voice = ReliefVoice(FakeVoice("piper", "after"), cheap, EngineLateness(FixedLoad()))
    with pytest.raises(TtsError):
        await said(voice, "one")
    assert cheap.spoken == []
    await voice.aclose()


async def test_sound_of_cheap_voice_is_not_remembered() -> None:
    neural = FakeVoice("piper", "before")
    voice = RememberedVoice(ReliefVoice(neural, FakeVoice("espeak-ng"), EngineLateness(FixedLoad())))
    await said(voice, "one")
    await asyncio.sleep(0.01)
    neural.fails = ""
    await said(voice, "one")
    await said(voice, "one")
    assert neural.spoken == ["one"]
