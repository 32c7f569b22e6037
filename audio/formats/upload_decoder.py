"""Decodes a recording that a stranger sent, in a process of its own (`upload_decoder_process`)."""

import asyncio
import sys
from collections.abc import AsyncGenerator
from contextlib import suppress

import numpy as np

from audio.errors import AudioFileError
from audio.formats.upload_decoder_process import TOO_LONG
from audio.units import MIC_RATE_HZ, Pcm

STEP_TIMEOUT_S = 120.0
"""Time limit for the next part of the sound, including the start of the process; it takes 0.5 s, and on a busy machine
tens of seconds. The process limits its own processor time."""

_READ_BYTES = 2 * MIC_RATE_HZ
"""One second."""


class TooLongError(AudioFileError):
    """A recording is longer than allowed."""


async def decoded(content: bytes, max_s: int) -> AsyncGenerator[Pcm]:
    """Yields the sound of a recording (wav, flac, ogg, mp3, m4a, webm), 16 kHz mono, in parts of at most a second.

    Closing the generator ends the process. Reads no further ahead than a pipe holds.

    Args:
        content: The file.
        max_s: Longest recording, in seconds.

    Raises:
        TooLongError: It is longer.
        AudioFileError: It cannot be read.
    """
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-P", "-m", "audio.formats.upload_decoder_process", str(max_s),
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        with suppress(ConnectionError):
            process.stdin.write(content)
            async with asyncio.timeout(STEP_TIMEOUT_S):
                await process.stdin.drain()
            process.stdin.close()
        while True:
            async with asyncio.timeout(STEP_TIMEOUT_S):
                try:
                    read = await process.stdout.readexactly(_READ_BYTES)
                except asyncio.IncompleteReadError as error:
                    read = error.partial
            if len(read) > 1:
                yield np.frombuffer(read[: len(read) // 2 * 2], np.dtype("<i2")).astype(np.int16, copy=False)
            if len(read) < _READ_BYTES:
                break
        async with asyncio.timeout(STEP_TIMEOUT_S):
            code = await process.wait()
    except TimeoutError as error:
        raise AudioFileError("the recording could not be decoded in time") from error
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.stdout.read()  # asyncio waits for the end of the pipe, which it does not see while it is full
            await process.wait()
    if code == TOO_LONG:
        raise TooLongError(f"the recording is longer than {max_s} s")
    if code:
        raise AudioFileError("the file is not a recording that can be read (wav, flac, ogg, mp3, m4a, webm)")
