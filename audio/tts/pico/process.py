"""Runs the synthesis process and asks it for sound. Blocking: call it in the voice's thread."""

import json
import os
import struct
import subprocess
import sys
import weakref
from contextlib import suppress
from pathlib import Path

import numpy as np

from audio.errors import EngineLoadError, TtsError
from audio.execution_provider import ProviderInUse
from audio.tts.pico import synthesis_process
from audio.tts.streaming.sentence_sound import Sound
from audio.units import FULL_SCALE

RATE_HZ = 16_000

COMPUTING_S = 5
"""Processor time that one text may take, in seconds. 200 characters take at most 1.2 s (60 ms if they are words); some
longer words, which `spoken_text` breaks, are computed without end."""

COMMAND = (sys.executable, "-P", os.fspath(Path(synthesis_process.__file__)), str(COMPUTING_S))

_GONE_S = 5.0
"""Longest wait for the end of a killed process, in seconds; it takes a millisecond."""


class PicoEndedError(Exception):
    """The process has ended."""


class PicoProcess:
    """A running synthesis process.

    Attributes:
        rate_hz: See `LoadedModel`.
        provider: See `LoadedModel`.
        fallback: See `LoadedModel`.
        pid: Its process id.
    """

    rate_hz = RATE_HZ
    provider: ProviderInUse = "cpu"
    fallback = ""

    def __init__(self, voice: str, speed: float, command: tuple[str, ...] = COMMAND) -> None:
        """Starts the process and waits until the library is loaded. Raises EngineLoadError.

        Args:
            voice: One of the library's voices, as "de-DE".
            speed: Factor on the voice's own speed.
            command: Command line of the process.
        """
        self._voice = voice
        self._speed = speed
        pipe = subprocess.PIPE
        try:
            self._process = subprocess.Popen(  # noqa: S603 - our own module
                command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL
            )
        except OSError as error:
            raise EngineLoadError(f"the process of the Pico voice cannot be started ({error.strerror})") from error
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._requests, self._answers = self._process.stdin, self._process.stdout
        self._end = weakref.finalize(self, _end, self._process)  # also if a loading is cancelled
        self.pid = self._process.pid
        try:
            self._answer()
        except PicoEndedError as error:
            self.close()
            raise EngineLoadError(
                "the Pico voice cannot be loaded: install the package py-nanotts (again), or choose another engine in "
                "tts.engine"
            ) from error

    def sound(self, text: str, speed: float = 1.0) -> Sound:
        """Returns the sound of a text that `spoken_text` has prepared. `speed`: factor on the configured speed.

        Raises:
            TtsError: Pico refuses the text.
            PicoEndedError: The process has ended; a text that computes without end ends it.
        """
        request = json.dumps([self._voice, self._speed * speed, text])
        try:
            self._requests.write(request.encode() + b"\n")
            self._requests.flush()
        except (OSError, ValueError) as error:
            raise PicoEndedError from error
        pcm = self._answer()
        if pcm is None:
            raise TtsError("Pico cannot speak this text")
        return np.frombuffer(pcm, np.dtype("<i2")).astype(np.float32) / np.float32(FULL_SCALE)

    def kill(self) -> None:
        """Ends the process, from any thread: a call that waits for it fails. Idempotent."""
        self._process.kill()

    def close(self) -> None:
        """Ends the process and waits for its end. No call may be running. Idempotent."""
        self._end()

    def _answer(self) -> bytes | None:
        head = self._read(4)
        size: int = struct.unpack("<i", head)[0]
        return None if size < 0 else self._read(size)

    def _read(self, size: int) -> bytes:
        try:
            read = self._answers.read(size)
        except (OSError, ValueError) as error:
            raise PicoEndedError from error
        if len(read) < size:
            raise PicoEndedError
        return read


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    with suppress(subprocess.TimeoutExpired):
        process.wait(_GONE_S)
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()
