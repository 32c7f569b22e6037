"""Writes a conversation to a stereo file: user on the left, assistant on the right."""

import os
import struct
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np

from audio.errors import AudioFileError
from audio.private_file import open_private
from audio.resample import StreamResampler
from audio.units import MIC_RATE_HZ, REPLY_RATE_HZ, Pcm, Samples

_HEADER = struct.Struct("<4sI4s4sIHHIIHH4sI")
_COLUMN_BYTES = 4  # two channels of int16
_LEFT, _RIGHT = 0, 1
_MAX_COLUMNS = (2**32 - 1 - _HEADER.size) // _COLUMN_BYTES - 1  # a WAV file counts its bytes in 32 bits: 12.4 hours


class StereoWriter:
    """Writes a stereo WAV file at 24 kHz during the conversation. Not thread-safe.

    Both sides may write at any position and in any order; unwritten parts are silence. Nothing is kept in memory: the
    file is the buffer. The header is updated twice a second, so that after a crash the file is playable except for its
    last half second. The header is written here because libsndfile writes it only on close, or by a command that
    soundfile does not offer.

    Every call writes to the page cache and may block.

    Attributes:
        broke: Why writing failed; "" if it has not.
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        """Creates or overwrites the file. Raises AudioFileError."""
        self._path = Path(path)
        self.broke = ""
        self._columns = 0
        self._promised = 0  # columns according to the header on disk
        self._resampler = StreamResampler(MIC_RATE_HZ, REPLY_RATE_HZ)
        self._origin = 0  # the column of the resampler's first sample
        self._expected: Samples | None = None
        try:
            # Unbuffered, so that written data survives a crash of this process.
            self._file = os.fdopen(open_private(self._path, os.O_RDWR | os.O_TRUNC), "w+b", buffering=0)
        except OSError as error:
            raise self._unwritable(error) from error
        try:
            self._write_header()
        except OSError as error:
            self._file.close()
            raise self._unwritable(error) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _traceback: TracebackType | None
    ) -> None:
        self.close()

    @property
    def duration_s(self) -> float:
        """Duration of the file according to its header."""
        return self._promised / REPLY_RATE_HZ

    def person(self, position: Samples, pcm: Pcm) -> None:
        """Writes 16 kHz samples (n,) to the left channel; the first is at microphone position `position`.

        A sample at position P is written to column 1.5 P, whatever the resampler holds back in between.
        Raises AudioFileError.
        """
        if position != self._expected:
            self._end_of_person()
            self._origin = position * REPLY_RATE_HZ // MIC_RATE_HZ
        column = self._origin + self._resampler.given
        self._write_channel(_LEFT, column, self._resampler.push_samples(pcm))
        self._expected = Samples(position + len(pcm))

    def assistant(self, position_s: float, pcm: Pcm) -> None:
        """Writes 24 kHz samples (n,) to the right channel; the first is heard `position_s` after microphone position 0.

        Raises AudioFileError.
        """
        self._write_channel(_RIGHT, round(position_s * REPLY_RATE_HZ), pcm)

    def close(self) -> None:
        """Writes what is held back and the header, and closes the file. Idempotent. Raises AudioFileError."""
        if self._file.closed:
            return
        try:
            self._end_of_person()
            self._write_header()
        except OSError as error:
            raise self._unwritable(error) from error
        finally:
            self._file.close()

    def _end_of_person(self) -> None:
        position = self._origin + self._resampler.given
        self._write_channel(_LEFT, position, self._resampler.flush())

    def _write_channel(self, channel: int, position: int, pcm: Pcm) -> None:
        """Writes one channel from column `position` on; cuts what is before the beginning."""
        if position < 0:
            pcm, position = pcm[-position:], 0
        if len(pcm) == 0:
            return
        if position + len(pcm) > _MAX_COLUMNS:
            raise AudioFileError(f"{self._path} has reached the limit of 12 hours; start another recording.")
        try:
            columns = np.zeros((len(pcm), 2), np.int16)
            self._file.seek(_HEADER.size + position * _COLUMN_BYTES)
            there = np.frombuffer(self._file.read(len(pcm) * _COLUMN_BYTES), np.int16)
            columns.reshape(-1)[: len(there)] = there
            columns[:, channel] = pcm
            self._file.seek(_HEADER.size + position * _COLUMN_BYTES)
            left = memoryview(columns.astype("<i2").tobytes())
            while left:  # a disk that becomes full writes a part and fails at the next write
                left = left[self._file.write(left) :]
            self._columns = max(self._columns, position + len(pcm))
            if self._columns - self._promised >= REPLY_RATE_HZ // 2:
                self._write_header()
        except OSError as error:
            raise self._unwritable(error) from error

    def _write_header(self) -> None:
        """Writes the canonical 44 bytes of a PCM WAV header."""
        size = self._columns * _COLUMN_BYTES
        self._file.seek(0)
        # fmt: 16 bytes long, PCM, 2 channels, rate, bytes per second, bytes per column, bits per sample
        layout = (16, 1, 2, REPLY_RATE_HZ, REPLY_RATE_HZ * _COLUMN_BYTES, _COLUMN_BYTES, 16)
        self._file.write(_HEADER.pack(b"RIFF", 36 + size, b"WAVE", b"fmt ", *layout, b"data", size))
        self._promised = self._columns

    def _unwritable(self, error: OSError) -> AudioFileError:
        self.broke = error.strerror or str(error)
        return AudioFileError(f"{self._path} cannot be written ({self.broke}); check the directory and the free space.")
