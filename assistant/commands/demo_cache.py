"""The conversation of `repartee demo --cache`: a request that is made twice."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import numpy as np

from assistant.config.settings import Settings
from assistant.models.needs import LOCAL_MODEL
from audio.errors import AudioFileError, EngineLoadError
from audio.formats.recording import Recording, open_recording
from audio.tts import Voice
from audio.units import REPLY_RATE_HZ, Pcm

REQUESTS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "en": ("Why is the sky blue?", "What time is it?", "Why is the sky blue?"),
        "de": ("Warum ist der Himmel blau?", "Wie spät ist es?", "Warum ist der Himmel blau?"),
        "fr": ("Pourquoi le ciel est bleu ?", "Quelle heure est-il ?", "Pourquoi le ciel est bleu ?"),
    }
)
"""The requests of the user, by language. A skill answers the second request; the last one is the first one again.

The assistant's own voice speaks them, and even the smallest recognizer understands them.
"""

PAUSE_S = 14.0
"""Silence after each request, for the reply: a request that comes earlier interrupts it, and it is not stored."""

ANSWERS = "answers.sqlite3"
SPOKEN = "user.wav"


def with_cache(settings: Settings, out: Path) -> Settings:
    """Returns the settings with an empty answer cache in the output folder. Raises AudioFileError."""
    file = out / ANSWERS
    try:
        for suffix in ("", "-wal", "-shm"):
            file.with_name(f"{ANSWERS}{suffix}").unlink(missing_ok=True)
    except OSError as error:
        raise AudioFileError(f"{file} cannot be removed ({error.strerror}); name another folder with --out.") from error
    return replace(settings, cache=replace(settings.cache, enabled=True, store="sqlite", file=str(file)))


def requests_of(settings: Settings) -> tuple[str, ...]:
    """Returns the requests in the conversation's language. Raises EngineLoadError if there are none, or no model."""
    language = settings.assistant.language.partition("-")[0]
    if not settings.llm.endpoints:
        raise EngineLoadError(
            "--cache needs a language model, whose answers it stores: run `repartee models pull qwen3-0.6b`, or "
            f"configure [[llm.endpoints]]; see {LOCAL_MODEL}."
        )
    if language not in REQUESTS:
        raise EngineLoadError(f"--cache has no requests in {language}; name a recording with --wav.")
    return REQUESTS[language]


async def spoken(voice: Voice, requests: tuple[str, ...], out: Path) -> Recording:
    """Returns a recording of the requests, spoken by the assistant's own voice. Raises AudioFileError, TtsError."""
    import soundfile  # noqa: PLC0415 - only for this conversation

    parts: list[Pcm] = []
    for request in requests:
        parts.append(np.zeros(REPLY_RATE_HZ, np.int16))
        parts += [chunk.pcm async for chunk in voice.speak(request)]
        parts.append(np.zeros(round(PAUSE_S * REPLY_RATE_HZ), np.int16))
    path = out / SPOKEN
    try:
        soundfile.write(path, np.concatenate(parts), REPLY_RATE_HZ)
    except OSError as error:
        raise AudioFileError(f"{path} cannot be written ({error}); name another folder with --out.") from error
    return open_recording(path)
