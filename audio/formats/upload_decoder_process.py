"""Decodes an uploaded recording: a file on stdin, 16 kHz mono int16 samples on stdout. Run as its own process.

A file of a stranger is decoded apart from the conversations: with limits of memory and computing time, at low priority,
and without writing to the disk. It ends with one of the codes below.
"""

import io
import os
import sys
from collections.abc import Iterator
from contextlib import suppress

import numpy as np
import numpy.typing as npt
import soundfile

from audio.resample import StreamResampler, mixdown, to_pcm
from audio.resource_limits import limit_resources
from audio.units import MIC_RATE_HZ

TOO_LONG = 3
"""Exit code: the recording is longer than the limit, which is the argument, in seconds."""
NOT_DECODED = 4
"""Exit code: it is not a recording that can be read."""

MEMORY_BYTES = 2 << 30
COMPUTING_S = 120

_MIN_HZ, _MAX_HZ = 4_000, 384_000
_MAX_CHANNELS = 32
_BLOCK_SAMPLES = 1 << 14
_UNKNOWN_LENGTH = 1 << 48
"""libsndfile reports more samples than any file has if it does not know."""


def main() -> int:
    """Decodes the file on stdin. Returns the exit code."""
    max_samples = int(sys.argv[1]) * MIC_RATE_HZ
    content = sys.stdin.buffer.read()
    limit_resources(MEMORY_BYTES, COMPUTING_S)
    given = 0
    resampler: StreamResampler | None = None
    try:
        for rate_hz, block in _blocks(content):
            if not (_MIN_HZ <= rate_hz <= _MAX_HZ and 1 <= block.shape[1] <= _MAX_CHANNELS):
                return NOT_DECODED
            resampler = resampler or StreamResampler(rate_hz, MIC_RATE_HZ)
            pcm = resampler.push_samples(mixdown(to_pcm(np.nan_to_num(block, posinf=0.0, neginf=0.0))))
            given += len(pcm)
            if given > max_samples:
                return TOO_LONG
            sys.stdout.buffer.write(pcm.astype("<i2").tobytes())
        if resampler is None:
            return NOT_DECODED
        sys.stdout.buffer.write(resampler.flush().astype("<i2").tobytes())
        sys.stdout.buffer.flush()
    except BrokenPipeError:  # nobody wants the rest
        os._exit(0)
    except Exception:  # noqa: BLE001 - whatever the libraries raise about a stranger's file
        return NOT_DECODED
    return 0


def _blocks(content: bytes) -> Iterator[tuple[int, npt.NDArray[np.float32]]]:
    """Yields rate and audio by libsndfile, or by FFmpeg for what libsndfile does not read."""
    decoded = False
    with suppress(soundfile.LibsndfileError, TypeError), soundfile.SoundFile(io.BytesIO(content)) as file:
        # Its mp3 decoder prints to the terminal. Of a FLAC stream of unknown length it would lose the end.
        if not str(file.subtype).startswith("MPEG") and file.frames < _UNKNOWN_LENGTH:
            while len(block := file.read(_BLOCK_SAMPLES, dtype="float32", always_2d=True)):
                decoded = True
                yield file.samplerate, block
    if not decoded:
        from audio.formats.compressed import blocks_in  # noqa: PLC0415 - on use: some 100 ms

        yield from blocks_in(io.BytesIO(content))


if __name__ == "__main__":
    sys.exit(main())
