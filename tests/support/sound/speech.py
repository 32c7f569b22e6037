"""Speech of a voice for a text, and checks that hold for every text."""

import asyncio
from contextlib import aclosing
from itertools import pairwise

import numpy as np

from audio.tts import Chunk, Voice, WordMark
from audio.tts.text_pieces import words
from audio.units import Pcm, reply_samples_of_ms


async def said(voice: Voice, text: str, speed: float = 1.0) -> list[Chunk]:
    """Returns what a loaded voice says."""
    async with aclosing(voice.speak(text, speed)) as chunks:
        return [chunk async for chunk in chunks]


def spoken(voice: Voice, text: str, speed: float = 1.0) -> list[Chunk]:
    """Loads a voice, and returns what it says."""

    async def once() -> list[Chunk]:
        await voice.load()
        try:
            return await said(voice, text, speed)
        finally:
            await voice.aclose()

    return asyncio.run(once())


def sound_of(chunks: list[Chunk]) -> Pcm:
    """Returns the samples of all chunks."""
    return np.concatenate([np.zeros(0, np.int16), *(chunk.pcm for chunk in chunks)])


def marks_of(chunks: list[Chunk]) -> list[WordMark]:
    """Returns the word marks of all chunks."""
    return [mark for chunk in chunks for mark in chunk.marks]


def check_chunks(spoken_text: str, chunks: list[Chunk]) -> None:
    """Checks that chunks are short, that every word comes once and in order, and each mark with the chunk it begins in.

    Args:
        spoken_text: The text without what the voice leaves out.
        chunks: All chunks of the text. None: it has no sound.
    """
    marks = marks_of(chunks)
    if chunks:
        assert [(mark.text_start, mark.text_end) for mark in marks] == list(words(spoken_text))
    given = 0
    for chunk in chunks:
        assert 0 < chunk.pcm.size <= reply_samples_of_ms(200)
        assert chunk.pcm.dtype == np.int16
        begin, given = given, given + chunk.pcm.size
        assert all(begin <= mark.start < given or mark.start == mark.end == given for mark in chunk.marks)
    assert all(mark.start <= mark.end <= given for mark in marks)
    assert all(one.end <= two.start for one, two in pairwise(marks))
