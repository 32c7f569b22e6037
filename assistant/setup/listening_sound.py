"""Synthesizes the listening sound of a voice, once when the voice is loaded."""

from collections.abc import Mapping
from contextlib import aclosing
from types import MappingProxyType

import numpy as np

from assistant.pipeline.listening_sounds import ListeningSound
from audio.errors import TtsError
from audio.tts import Voice
from audio.units import REPLY_RATE_HZ, Pcm, reply_samples_of_ms

LISTENING_SOUNDS: Mapping[str, str] = MappingProxyType({"en": "Mm-hmm.", "de": "Mhm.", "fr": "Mm.", "es": "Ajá."})
"""Text of the listening sound by language; English for other languages."""

MAX_MS = 900.0
"""Longest sound in ms that is used. A voice that spells the letters takes longer."""

_SILENT_SHARE = 0.03
"""Share of the peak below which the beginning and the end count as silence."""

_FADE_SAMPLES: int = reply_samples_of_ms(10)


async def make_listening_sound(voice: Voice, language: str) -> ListeningSound:
    """Returns the listening sound of a loaded voice.

    Raises TtsError if the voice fails, or makes no sound that is short enough.
    """
    text = LISTENING_SOUNDS.get(language.partition("-")[0], LISTENING_SOUNDS["en"])
    pieces: list[Pcm] = []
    async with aclosing(voice.speak(text)) as chunks:
        async for chunk in chunks:
            pieces.append(chunk.pcm)
    pcm = _trimmed(np.concatenate([np.zeros(0, np.int16), *pieces]))
    length_ms = len(pcm) * 1000 / REPLY_RATE_HZ
    if not 0 < length_ms <= MAX_MS:
        raise TtsError(f"the voice {voice.name} takes {length_ms:.0f} ms for {text!r}; allowed: up to {MAX_MS:.0f} ms")
    return ListeningSound(text, pcm)


def _trimmed(pcm: Pcm) -> Pcm:
    """Returns the audio without silence at its ends, with short fades."""
    level = np.abs(pcm.astype(np.int32))
    sounding = np.flatnonzero(level > _SILENT_SHARE * level.max(initial=0))
    if not len(sounding):
        return pcm[:0]
    margin = _FADE_SAMPLES
    pcm = pcm[max(0, int(sounding[0]) - margin) : int(sounding[-1]) + 1 + margin]
    shape = np.minimum(np.arange(1, len(pcm) + 1), np.arange(len(pcm), 0, -1)) / margin
    trimmed: Pcm = np.rint(pcm * np.minimum(shape, 1.0)).astype(np.int16)
    return trimmed
