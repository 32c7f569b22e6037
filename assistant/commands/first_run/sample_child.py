"""Speaks a sentence with one voice and writes it as WAV, in a process of its own.

    python -m assistant.commands.first_run.sample_child LANGUAGE ENGINE VOICE

A conversation that runs meanwhile keeps its voice, its memory and its processor time. The time limit is the parent's
and this program's own.
"""

import asyncio
import faulthandler
import io
import os
import sys
import wave
from dataclasses import replace

import numpy as np

from assistant.config.settings import DEFAULTS, Settings
from assistant.first_run.voices import sample_text
from assistant.setup.engine_catalog import voice
from audio.errors import AudioError
from audio.units import REPLY_RATE_HZ

LIMIT_S = 20.0
_NICE = 5


def main() -> None:
    """Writes the sound to standard output, or the reason to standard error with exit status 1."""
    sound = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # engines print to standard output
    faulthandler.dump_traceback_later(LIMIT_S, exit=True, file=sys.__stderr__ or sys.stderr)
    if hasattr(os, "nice"):
        os.nice(_NICE)
    language, engine, name = sys.argv[1:4]
    try:
        wav = asyncio.run(spoken(language, engine, name))
    except AudioError as error:
        sys.stderr.write(f"{error}\n")
        os._exit(1)
    sound.write(wav)
    sound.close()
    os._exit(0)  # a normal exit waits for the engine's threads


def settings_for(language: str, engine: str, name: str) -> Settings:
    """Returns the settings of a voice."""
    assistant = replace(DEFAULTS.assistant, language=language)
    tts = replace(DEFAULTS.tts, engine=engine, voice="" if name == engine else name)
    return replace(DEFAULTS, assistant=assistant, tts=tts)


async def spoken(language: str, engine: str, name: str) -> bytes:
    """Returns the sample sentence as a WAV file. Raises AudioError."""
    speaker = voice(settings_for(language, engine, name), engine)
    try:
        await speaker.load()
        parts = [chunk.pcm async for chunk in speaker.speak(sample_text(language))]
    finally:
        await speaker.aclose()
    file = io.BytesIO()
    with wave.open(file, "wb") as written:
        written.setnchannels(1)
        written.setsampwidth(2)
        written.setframerate(REPLY_RATE_HZ)
        written.writeframes(np.concatenate([np.zeros(0, np.int16), *parts]).astype("<i2").tobytes())
    return file.getvalue()


if __name__ == "__main__":
    main()
