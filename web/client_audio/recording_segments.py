"""Cuts a recording into segments at quiet moments, and recognizes one segment."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

import numpy as np

from audio.stt import Recognizer, SegmentId
from audio.units import MIC_RATE_HZ, Pcm, samples_of_ms, samples_of_s

SEGMENT_S = 14.0
"""Longest segment that is decoded at once. A conversation may have to wait for half a decode of it."""
CUT_FROM_S = 8.0
"""A segment ends in the quietest moment after this."""
QUIET_MS = 200
MIN_SEGMENT_MS = 100
"""A shorter rest has no word."""

SEGMENT_TIMEOUT_S = 600.0
"""Time limit for one segment; conversations are served first, and a busy machine is late."""


async def segment_words(recognizer: Recognizer, start: int, pcm: Pcm) -> str:
    """Returns the words of a segment. Raises EngineError, TimeoutError."""
    if not pcm.any():
        return ""
    segment = recognizer.open(SegmentId(start), lambda _transcript: None)
    try:
        segment.feed(pcm)
        async with asyncio.timeout(SEGMENT_TIMEOUT_S):
            return (await segment.transcript()).text.strip()
    finally:
        segment.cancel()


async def cut(
    parts: AsyncGenerator[Pcm], longest_s: float = SEGMENT_S, from_s: float = CUT_FROM_S
) -> AsyncGenerator[Pcm]:
    """Joins parts of a recording to segments of up to `longest_s`, each cut at the quietest moment after `from_s`."""
    waiting = np.zeros(0, np.int16)
    async with aclosing(parts):
        async for part in parts:
            waiting = np.concatenate([waiting, part])
            while len(waiting) >= samples_of_s(longest_s):
                position = quietest(waiting[: samples_of_s(longest_s)], samples_of_s(from_s))
                yield waiting[:position]
                waiting = waiting[position:]
    if len(waiting) >= samples_of_ms(MIN_SEGMENT_MS):
        yield waiting


def quietest(pcm: Pcm, first: int) -> int:
    """Returns the middle of the quietest 200 ms after a sample."""
    step = MIC_RATE_HZ // 50
    steps = pcm[first:].astype(np.float64)
    steps = steps[: len(steps) // step * step].reshape(-1, step)
    energy = np.convolve(np.mean(steps**2, axis=1), np.ones(samples_of_ms(QUIET_MS) // step), mode="valid")
    return first + int(np.argmin(energy)) * step + samples_of_ms(QUIET_MS) // 2
