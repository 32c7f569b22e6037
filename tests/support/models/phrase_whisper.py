"""A small Whisper model for tests of whole programs: it recognizes "what time is it" in speech of half a second."""

from pathlib import Path

from support.models.synthetic_whisper import cached_whisper

PHRASE = "what time is it"

START_MS = 700
"""Position at which it listens for speech. The segment begins 300 ms before the speech; this is in the middle of the
recorded question for the time, wherever within 120 ms the detector finds its onset."""


def phrase_whisper() -> Path:
    """Returns the folder of the model."""
    return cached_whisper(PHRASE, start_ms=START_MS)


def phrase_settings() -> tuple[str, ...]:
    """Returns the settings, as section.key=value, with which a program uses the model."""
    return ("stt.engine=faster-whisper", f"stt.model={phrase_whisper()}", "stt.faster-whisper.device=cpu")
