"""A microphone for conversations without one: silence in real time, until it is ended."""

import asyncio
from collections.abc import AsyncGenerator

from audio.clock import StreamClock
from audio.frame import Frame
from audio.microphone import MicrophoneLine
from audio.units import FRAME_MS, MIC_RATE_HZ


class SilentMicrophone:
    """Yields inserted silence. Implements `Microphone`."""

    def __init__(self) -> None:
        """Begins when `frames` is iterated."""
        self.batches_silence = False
        self._line = MicrophoneLine(MIC_RATE_HZ)
        self._ended = asyncio.Event()

    @property
    def clock(self) -> StreamClock:
        """See `Microphone`."""
        return self._line.clock

    @property
    def inserted_frames(self) -> int:
        """See `Microphone`."""
        return self._line.inserted_frames

    def end(self) -> None:
        """Ends the silence. Idempotent."""
        self._ended.set()

    async def frames(self) -> AsyncGenerator[Frame]:
        """See `Microphone`."""
        loop = asyncio.get_running_loop()
        while not self._ended.is_set():
            for frame in self._line.idle(loop.time()):
                yield frame
            try:
                async with asyncio.timeout(FRAME_MS / 1000):
                    await self._ended.wait()
            except TimeoutError:
                continue
