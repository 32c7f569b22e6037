"""A small Whisper model for tests of whole programs: it recognizes "what time is it" in speech of half a second."""

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path

from support.models.synthetic_whisper import scripted_whisper

PHRASE = "what time is it"

START_MS = 700
"""Position at which it listens for speech. The segment begins 300 ms before the speech; this is in the middle of the
recorded question for the time, wherever within 120 ms the detector finds its onset."""


@cache
def phrase_whisper() -> Path:
    """Returns the folder of the model, which is removed at exit."""
    folder = Path(tempfile.mkdtemp(prefix="repartee-tests-whisper-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return scripted_whisper(folder / "phrase", [PHRASE], start_ms=START_MS)


def phrase_settings() -> tuple[str, ...]:
    """Returns the settings, as section.key=value, with which a program uses the model."""
    return ("stt.engine=faster-whisper", f"stt.model={phrase_whisper()}", "stt.faster-whisper.device=cpu")
