"""Synthesizes the listening sound of a voice, once when the voice is loaded."""

import asyncio
import logging
from collections.abc import Mapping
from contextlib import aclosing
from types import MappingProxyType

import numpy as np

from assistant.pipeline.listening_sounds import ListeningSound
from assistant.setup.loading import Loading, now_s
from assistant.setup.voices.factory import VOLUME_DBFS
from audio.errors import TtsError
from audio.level import gain_for, soften
from audio.tts import Voice
from audio.units import FULL_SCALE, REPLY_RATE_HZ, Pcm, reply_samples_of_ms

log = logging.getLogger(__name__)

LISTENING_SOUNDS: Mapping[str, str] = MappingProxyType({"en": "Mm-hmm.", "de": "Mhm.", "fr": "Mhm.", "es": "Ajá."})
"""Text of the listening sound by language; English for other languages.

`audio.pronunciation.HUMS` has phonemes for the sounds that engines would spell.
"""

MAX_MS = 900.0
"""Longest sound in ms that is used. A longer one is no hum and would be cut by the user or the reply."""

MAX_GAIN = 10.0
"""Largest factor that brings a soft sound to the level of replies."""

SOUND_TIMEOUT_S = 10.0
"""Time limit of the synthesis."""

_SILENT_SHARE = 0.03
"""Share of the peak below which the beginning and the end count as silence."""

_FADE_SAMPLES: int = reply_samples_of_ms(10)


async def load_listening_sound(loading: Loading, voice: Voice) -> ListeningSound | None:
    """Returns the voice's listening sound, if it is wanted. Without one, pauses are not attended."""
    if not loading.settings.turn.listening_sounds:
        return None
    began_s = now_s()
    try:
        async with asyncio.timeout(SOUND_TIMEOUT_S):
            return await make_listening_sound(voice, loading.settings.assistant.language, VOLUME_DBFS)
    except (TtsError, TimeoutError) as error:
        why = f"instead of turn.listening_sounds, because {error or 'the voice is too slow'}"
        log.warning("listening sounds: none, %s", why)
        loading.record_choice("listening", "none", "", why, began_s, fallback=True)
        return None


async def make_listening_sound(voice: Voice, language: str, level_dbfs: float) -> ListeningSound:
    """Returns the listening sound of a loaded voice, at the level of replies, `level_dbfs`.

    Raises TtsError if the voice fails, or makes no sound that is short enough.
    """
    text = LISTENING_SOUNDS.get(language.partition("-")[0], LISTENING_SOUNDS["en"])
    async with aclosing(voice.speak(text)) as chunks:
        pieces = [chunk.pcm async for chunk in chunks]
    pcm = _trimmed(_leveled(np.concatenate([np.zeros(0, np.int16), *pieces]), level_dbfs))
    length_ms = len(pcm) * 1000 / REPLY_RATE_HZ
    if not 0 < length_ms <= MAX_MS:
        raise TtsError(f"the voice {voice.name} takes {length_ms:.0f} ms for {text!r}; allowed: up to {MAX_MS:.0f} ms")
    return ListeningSound(text, pcm)


def _leveled(pcm: Pcm, level_dbfs: float) -> Pcm:
    """Returns the audio at the level of replies. A voice is adjusted by whole sentences, and its hums are softer."""
    gain = min(gain_for(level_dbfs, pcm), MAX_GAIN)
    return soften(pcm.astype(np.float32) / FULL_SCALE * np.float32(gain))


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
