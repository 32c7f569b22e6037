"""Plays a recording as a microphone, in real time."""

import asyncio
from collections.abc import AsyncGenerator, Generator
from contextlib import closing

import numpy as np
import numpy.typing as npt

from audio.formats.recording import Recording
from audio.frame import Frame
from audio.microphone import MicrophoneLine
from audio.units import FRAME_MS, Samples


class WavMicrophone:
    """Implements `Microphone` by a recording followed by silence.

    Attributes:
        recording: The recording.
        clock: Maps positions to loop time.
        batches_silence: See `Microphone`; audio of a recording is never delivered late.
    """

    def __init__(self, recording: Recording, *, tail_s: float = 4.0, realtime: bool = True) -> None:
        """Plays `recording` and then `tail_s` of silence, so that its last turn can be answered.

        Args:
            recording: From `open_recording`.
            tail_s: Silence after it, in seconds. It is not marked as inserted.
            realtime: False: as fast as frames are consumed. Each frame is then dated by its arrival.
        """
        if not 0 <= tail_s < float("inf"):
            raise ValueError(f"tail_s must be a number of seconds from 0, not {tail_s}")
        self.recording = recording
        self.batches_silence = False
        self._tail_samples = round(tail_s * recording.rate_hz)
        self._realtime = realtime
        self._line = MicrophoneLine(recording.rate_hz)
        self.clock = self._line.clock
        self._begun = False

    @property
    def leading_silence(self) -> Samples:
        """Silence before the recording's first sample, at 16 kHz: see `MicrophoneLine`."""
        return self._line.leading_silence

    async def frames(self) -> AsyncGenerator[Frame]:
        """Yields the frames. Iterate once. Raises AudioFileError if the file is damaged.

        Each block's due time is computed from the beginning, so there is no drift. A late wake-up is caught up at once
        and is visible only in the clock.
        """
        if self._begun:
            raise RuntimeError("a WavMicrophone can be used only once: create another one")
        self._begun = True
        loop = asyncio.get_running_loop()
        begin_s = loop.time()
        played = 0
        with closing(self._blocks()) as blocks:
            for block in blocks:
                played += len(block)
                due_s = begin_s + played / self.recording.rate_hz
                # Sleeps 0 when late, so that other tasks run while it catches up.
                await asyncio.sleep(max(0.0, due_s - loop.time()) if self._realtime else 0.0)
                for frame in self._line.push_block(block, loop.time()):
                    yield frame
        for frame in self._line.finish():
            yield frame

    def _blocks(self) -> Generator[npt.NDArray[np.int16]]:
        n = self.recording.rate_hz * FRAME_MS // 1000
        with closing(self.recording.blocks(n)) as blocks:
            yield from blocks
        for start in range(0, self._tail_samples, n):
            yield np.zeros(min(n, self._tail_samples - start), np.int16)
