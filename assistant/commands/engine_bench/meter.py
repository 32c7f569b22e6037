"""How long one segment takes to be heard, and one unit to be spoken. Time is the event loop's."""

import asyncio
from contextlib import aclosing
from dataclasses import dataclass

from audio.stt import Recognizer, SegmentId, Transcript
from audio.tts import Voice
from audio.units import FRAME_MS, FRAME_SAMPLES, Pcm, Samples, s_of_reply_samples, s_of_samples, samples_of_s

TIMEOUT_S = 60.0
"""For one answer: a setting that needs longer is no setting for a conversation."""

AT_ONCE_S = 4.0
"""Sound handed in at once: a recognizer's lane may be bounded at 5 s."""


@dataclass(frozen=True, slots=True)
class RecognitionTiming:
    """One segment, heard at the pace of real time.

    Attributes:
        words: The final ones.
        final_ms: From the last frame to them.
        first_partial_ms: From the first speech to the first partial that has words; None: there was none.
    """

    words: Transcript
    final_ms: float
    first_partial_ms: float | None


@dataclass(frozen=True, slots=True)
class SynthesisTiming:
    """One unit.

    Attributes:
        first_ms: From the call to its first chunk.
        whole_ms: To its last.
        sound_s: How long it sounds.
    """

    first_ms: float
    whole_ms: float
    sound_s: float


async def hear(transcriber: Recognizer, pcm: Pcm, onset: Samples, segment: SegmentId) -> RecognitionTiming:
    """A segment frame by frame, as a microphone gives them; speech begins at `onset`. Raises SttError, TimeoutError."""
    loop = asyncio.get_running_loop()
    began_s = loop.time()
    partials_s: list[float] = []

    def on_partial(words: Transcript) -> None:
        if words.text:
            partials_s.append(loop.time())

    hearing = transcriber.open(segment, on_partial)
    try:
        for frame, at in enumerate(range(0, len(pcm), FRAME_SAMPLES), start=1):
            await asyncio.sleep(max(0.0, began_s + frame * FRAME_MS / 1000 - loop.time()))
            hearing.feed(pcm[at : at + FRAME_SAMPLES])
        asked_s = loop.time()
        async with asyncio.timeout(TIMEOUT_S):
            words = await hearing.transcript()
        final_ms = (loop.time() - asked_s) * 1000
    finally:
        hearing.close()
    speech_s = began_s + s_of_samples(onset)
    return RecognitionTiming(words, final_ms, (partials_s[0] - speech_s) * 1000 if partials_s else None)


async def real_time_factor(transcriber: Recognizer, pcm: Pcm, segment: SegmentId) -> float:
    """Seconds to the words per second of sound, of at most `AT_ONCE_S` of it at once. Raises SttError, TimeoutError."""
    loop = asyncio.get_running_loop()
    pcm = pcm[: samples_of_s(AT_ONCE_S)]
    hearing = transcriber.open(segment, lambda _words: None)
    try:
        began_s = loop.time()
        hearing.feed(pcm)
        async with asyncio.timeout(TIMEOUT_S):
            await hearing.transcript()
        return (loop.time() - began_s) / s_of_samples(len(pcm))
    finally:
        hearing.cancel()


async def speak(voice: Voice, text: str) -> SynthesisTiming:
    """A unit, taken as fast as it is made. Raises TtsError, TimeoutError."""
    loop = asyncio.get_running_loop()
    began_s, first_s, samples = loop.time(), None, 0
    async with asyncio.timeout(TIMEOUT_S), aclosing(voice.speak(text)) as sound:
        async for chunk in sound:
            first_s = first_s or loop.time()
            samples += chunk.pcm.size
    end_s = loop.time()
    return SynthesisTiming(((first_s or end_s) - began_s) * 1000, (end_s - began_s) * 1000, s_of_reply_samples(samples))
