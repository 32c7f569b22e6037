"""Writes what the assistant says to a sound file."""

import os
import wave
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np

from audio.errors import AudioFileError
from audio.private_file import open_private
from audio.units import REPLY_RATE_HZ, Pcm


class SoundFile:
    """A mono WAV file at 24 kHz. Silence before its first sample is left out."""

    def __init__(self, path: Path) -> None:
        """Creates the file. Raises AudioFileError."""
        self.path = path
        try:
            self._file = os.fdopen(open_private(path, os.O_RDWR | os.O_TRUNC), "wb")
            self._wave = wave.open(self._file, "wb")  # noqa: SIM115 - closed by __exit__
            self._wave.setnchannels(1)
            self._wave.setsampwidth(2)
            self._wave.setframerate(REPLY_RATE_HZ)
        except OSError as error:
            raise self._unwritable(error) from error
        self._begins_s: float | None = None
        self._samples = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._wave.close()
            self._file.close()
        except OSError as failure:
            raise self._unwritable(failure) from failure

    @property
    def duration_s(self) -> float:
        """Length of the sound."""
        return self._samples / REPLY_RATE_HZ

    def write(self, at_s: float, pcm: Pcm) -> None:
        """Writes a block that is played at `at_s`. Gaps become silence. Raises AudioFileError."""
        if self._begins_s is None:
            if not pcm.any():
                return
            self._begins_s = at_s
        gap = round((at_s - self._begins_s) * REPLY_RATE_HZ) - self._samples
        try:
            if gap > 0:
                self._wave.writeframes(np.zeros(gap, np.int16).tobytes())
            self._wave.writeframes(pcm.astype("<i2").tobytes())
        except OSError as error:
            raise self._unwritable(error) from error
        self._samples += max(0, gap) + len(pcm)

    def _unwritable(self, error: OSError) -> AudioFileError:
        return AudioFileError(f"{self.path} cannot be written ({error.strerror}); name another file with --out.")
