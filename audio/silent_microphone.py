"""A microphone for conversations without one: silence in real time, until it is ended."""

import asyncio
from collections.abc import AsyncGenerator

from audio.frame import Frame
from audio.microphone import MicrophoneLine
from audio.units import FRAME_MS, MIC_RATE_HZ


class SilentMicrophone:
    """Yields inserted silence. Implements `Microphone`."""

    def __init__(self) -> None:
        """Begins when `frames` is iterated."""
        self.batches_silence = False
        self._line = MicrophoneLine(MIC_RATE_HZ)
        self.clock = self._line.clock
        self._ended = asyncio.Event()

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
