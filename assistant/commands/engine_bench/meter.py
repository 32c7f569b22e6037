"""Measures the recognition of one segment and the synthesis of one text. Times are event loop time."""

import asyncio
from contextlib import aclosing
from dataclasses import dataclass

from audio.stt import Recognizer, SegmentId, Transcript
from audio.tts import Voice
from audio.units import FRAME_MS, FRAME_SAMPLES, Pcm, Samples, s_of_reply_samples, s_of_samples, samples_of_s

TIMEOUT_S = 60.0
"""Seconds for one result. A slower setting cannot be used in a conversation."""

AT_ONCE_S = 4.0
"""Seconds of audio fed at once: a recognizer's queue may be limited to 5 s."""


FAST = 8
"""Times real time at which a recording is fed if only its words count. Recognizers accept sound while they decode, so
no word is lost."""


@dataclass(frozen=True, slots=True)
class RecognitionTiming:
    """Timing of one segment, recognized in real time.

    Attributes:
        words: The final transcript.
        final_ms: From the last frame to the final transcript.
        first_partial_ms: From the first speech to the first interim transcript with words; None if there was none.
    """

    words: Transcript
    final_ms: float
    first_partial_ms: float | None


@dataclass(frozen=True, slots=True)
class SynthesisTiming:
    """Timing of one text.

    Attributes:
        first_ms: From the call to the first audio chunk.
        whole_ms: From the call to the last chunk.
        sound_s: Duration of the audio.
    """

    first_ms: float
    whole_ms: float
    sound_s: float


async def recognize(transcriber: Recognizer, pcm: Pcm, onset: Samples, segment: SegmentId) -> RecognitionTiming:
    """Feeds a segment in real time, with speech from `onset`. Raises SttError, TimeoutError."""
    loop = asyncio.get_running_loop()
    began_s = loop.time()
    partials_s: list[float] = []

    def on_interim(words: Transcript) -> None:
        if words.text and not words.is_draft:
            partials_s.append(loop.time())

    stream = transcriber.open(segment, on_interim)
    try:
        for frame, start in enumerate(range(0, len(pcm), FRAME_SAMPLES), start=1):
            await asyncio.sleep(max(0.0, began_s + frame * FRAME_MS / 1000 - loop.time()))
            stream.feed(pcm[start : start + FRAME_SAMPLES])
        asked_s = loop.time()
        async with asyncio.timeout(TIMEOUT_S):
            words = await stream.transcript()
        final_ms = (loop.time() - asked_s) * 1000
    finally:
        stream.close()
    speech_s = began_s + s_of_samples(onset)
    return RecognitionTiming(words, final_ms, (partials_s[0] - speech_s) * 1000 if partials_s else None)


async def transcribe(transcriber: Recognizer, pcm: Pcm, segment: SegmentId) -> str:
    """Returns the words of a segment that is fed `FAST` times as fast as real time. Raises SttError, TimeoutError."""
    stream = transcriber.open(segment, lambda _words: None)
    try:
        for start in range(0, len(pcm), FAST * FRAME_SAMPLES):
            stream.feed(pcm[start : start + FAST * FRAME_SAMPLES])
            await asyncio.sleep(FRAME_MS / 1000)
        async with asyncio.timeout(TIMEOUT_S):
            return (await stream.transcript()).text
    finally:
        stream.close()


async def real_time_factor(transcriber: Recognizer, pcm: Pcm, segment: SegmentId) -> float:
    """Returns the recognition time per second of audio, for at most `AT_ONCE_S` s. Raises SttError, TimeoutError."""
    loop = asyncio.get_running_loop()
    pcm = pcm[: samples_of_s(AT_ONCE_S)]
    stream = transcriber.open(segment, lambda _words: None)
    try:
        began_s = loop.time()
        stream.feed(pcm)
        async with asyncio.timeout(TIMEOUT_S):
            await stream.transcript()
        return (loop.time() - began_s) / s_of_samples(len(pcm))
    finally:
        stream.cancel()


async def speak(voice: Voice, text: str) -> SynthesisTiming:
    """Synthesizes a text without pacing. Raises TtsError, TimeoutError."""
    loop = asyncio.get_running_loop()
    began_s, first_s, samples = loop.time(), None, 0
    async with asyncio.timeout(TIMEOUT_S), aclosing(voice.speak(text)) as sound:
        async for chunk in sound:
            first_s = first_s or loop.time()
            samples += chunk.pcm.size
    end_s = loop.time()
    return SynthesisTiming(((first_s or end_s) - began_s) * 1000, (end_s - began_s) * 1000, s_of_reply_samples(samples))
