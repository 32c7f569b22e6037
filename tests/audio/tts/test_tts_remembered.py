"""A voice that keeps what it has spoken."""

from contextlib import aclosing

import pytest
from support.clocks.virtual_time import run_virtual
from support.conversations.simulation import ScriptedVoice

from audio.errors import TtsError
from audio.tts import Chunk
from audio.tts.remembered import RememberedVoice

pytestmark = pytest.mark.virtual_time

WORD_BYTES = 2 * 4800


async def said(voice: RememberedVoice, text: str, speed: float = 1.0) -> list[Chunk]:
    return [chunk async for chunk in voice.speak(text, speed)]


async def test_text_is_synthesized_once_for_each_speed() -> None:
    scripted = ScriptedVoice()
    voice = RememberedVoice(scripted)
    first = await said(voice, "two words")
    assert await said(voice, "two words") == first
    await said(voice, "two words", 1.5)
    assert scripted.spoken == ["two words", "two words"]


def test_remembered_samples_cannot_be_changed() -> None:
    async def scene() -> list[Chunk]:
        voice = RememberedVoice(ScriptedVoice())
        await said(voice, "two words")
        return await said(voice, "two words")

    for chunk in run_virtual(scene()):
        with pytest.raises(ValueError, match="read-only"):
            chunk.pcm[:] = 0


async def test_interrupted_text_is_synthesized_again() -> None:
    scripted = ScriptedVoice()
    voice = RememberedVoice(scripted)
    async with aclosing(voice.speak("two words")) as audio:
        await anext(audio)
    await said(voice, "two words")
    assert scripted.spoken == ["two words", "two words"]


async def test_failed_text_is_synthesized_again() -> None:
    scripted = ScriptedVoice(fails=True)
    voice = RememberedVoice(scripted)
    with pytest.raises(TtsError):
        await said(voice, "word")
    await voice.load()
    assert len(await said(voice, "word")) == 2


async def test_memory_is_bounded() -> None:
    scripted = ScriptedVoice()
    voice = RememberedVoice(scripted, max_bytes=2 * WORD_BYTES)
    for text in ("one", "two", "one", "three", "one", "two"):
        await said(voice, text)
    assert scripted.spoken == ["one", "two", "three", "two"]


async def test_text_longer_than_the_memory_is_spoken() -> None:
    assert len(await said(RememberedVoice(ScriptedVoice(), max_bytes=WORD_BYTES), "much too long")) == 6
