"""The microphone of this machine, through PortAudio."""

import asyncio
import math
from collections import deque
from collections.abc import AsyncGenerator, Callable, Generator
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from audio.card.block_ring import BlockRing
from audio.card.clock import CardClock
from audio.card.stream import CardLibrary, CardStream, LoopWaker, Opened
from audio.card.stream_supervisor import StreamSupervisor
from audio.clock import StreamClock
from audio.frame import Frame
from audio.frame_batching import Batching
from audio.level import mean_dbfs, rms_dbfs
from audio.microphone import MicrophoneLine
from audio.portaudio.owner import shared
from audio.units import FRAME_MS, MIC_RATE_HZ, Pcm

_TICK_S = FRAME_MS / 1000
_KEPT_S = 2.0
"""Sound that waits for an event loop that is held up; what comes after that is lost and counted."""

_WINDOW_S = 1.5
"""Of the line's clock. A card's blocks are late by a few ms only, but where it drops some everything after them is
dated too early until the window has passed: an echo canceller then looks for the reply in the wrong place."""

_LEVEL_FRAMES = 5


class FrameCleaner(Protocol):
    """Takes out of a frame what does not belong there: echo, noise."""

    def clean(self, pcm: Pcm, captured_s: float) -> Pcm:
        """One frame, int16 (320,) at 16 kHz, which stays as it is; the loop time of its first sample."""
        ...


class CaptureCallback:
    """What the card's thread does: copy and signal. See `Lane`."""

    def __init__(self, opened: Opened, channels: int, loop: asyncio.AbstractEventLoop, bell: LoopWaker) -> None:
        self.last_s = 0.0
        self.finished = False
        self.overflows = 0
        self.clock = CardClock(opened.latency_ms / 1000)
        self._most_samples = max(1, round(opened.rate_hz * opened.block_ms / 1000))
        self.ring = BlockRing(math.ceil(_KEPT_S * 1000 / opened.block_ms), self._most_samples, channels)
        self._channels = channels
        self._rate_hz = opened.rate_hz
        self._loop = loop
        self._bell = bell

    def block(self, data: Any, frames: int, card_s: float, first_s: float, *, flagged: bool) -> None:
        """See `Lane`."""
        now_s = self._loop.time()
        self.last_s = now_s
        self.overflows += flagged
        pcm = np.frombuffer(data, np.int16).reshape(frames, self._channels)
        captured_s = self.clock.captured_s(now_s, card_s, first_s, frames / self._rate_hz)
        for at in range(0, frames, self._most_samples):  # once, but with a card that does not keep to the block asked
            piece = pcm[at : at + self._most_samples]
            self.ring.put(piece, captured_s - (frames - at - len(piece)) / self._rate_hz)
        self._bell.ring()

    def ended(self) -> None:
        """See `Lane`."""
        self.finished = True
        self._bell.ring()


class CardMicrophone:
    """Implements `Microphone`. The line goes on in silence while there is no device, or it is muted.

    Attributes:
        level_dbfs: Of the last 100 ms, before they were cleaned; -inf where there was no sound.
        muted: The stream is closed, and stays so until `mute(False)`.
        heed: See `Microphone`.
    """

    def __init__(
        self,
        wanted: str = "",
        *,
        report: Callable[[str], None],
        clean: FrameCleaner | None = None,
        library: CardLibrary | None = None,
    ) -> None:
        """A microphone that is opened by `frames`.

        Args:
            wanted: See `audio.devices.pick`.
            report: Gets a sentence for the person whenever the device goes, comes back or changes.
            clean: What every captured frame goes through.
            library: Who opens the stream; the program's own where None.
        """
        self.muted = False
        self.batching = Batching.OFF
        self._line = MicrophoneLine(MIC_RATE_HZ, StreamClock(_WINDOW_S))
        self._clean = clean
        self._keeper = StreamSupervisor(
            "input", wanted, MIC_RATE_HZ, library=library or shared(), make=self._lane, report=report
        )
        self._stream: CardStream[CaptureCallback] | None = None  # whose blocks go into the line
        self._came = asyncio.Event()
        self._levels: deque[float] = deque(maxlen=_LEVEL_FRAMES)
        self._overflows = 0  # of streams that are closed
        self._lag_s = 0.0
        self._captured_s = -math.inf
        self._begun = self._ended = False
        self._loop: asyncio.AbstractEventLoop
        self._look: asyncio.TimerHandle

    @property
    def clock(self) -> StreamClock:
        """Maps positions to the loop time of their capture."""
        return self._line.clock

    @property
    def invented_frames(self) -> int:
        """Frames of silence that were put in."""
        return self._line.invented_frames

    @property
    def opened(self) -> Opened | None:
        """The open stream; None while closed, muted or lost."""
        return self._keeper.opened

    @property
    def level_dbfs(self) -> float:
        """Of the last 100 ms, before they were cleaned; -inf where no sound came."""
        return mean_dbfs(self._levels)

    @property
    def lag_s(self) -> float:
        """From the capture of a block's last sample to its coming, as the card last said."""
        return self._lag_s

    @property
    def overflows(self) -> int:
        """How often sound was lost: as the card says, and blocks for which the ring had no room."""
        lane = None if self._stream is None else self._stream.lane
        return self._overflows + (0 if lane is None else lane.overflows + lane.ring.dropped)

    async def mute(self, on: bool) -> None:
        """Close the stream really, or open it again; what fails then is reported and tried again."""
        self.muted = on
        if on:
            await self._keeper.pause()
        else:
            self._keeper.resume(asyncio.get_running_loop().time())
        self._came.set()

    async def use(self, wanted: str) -> None:
        """Another device. Raises DeviceError and keeps the old one."""
        await self._keeper.use(wanted, asyncio.get_running_loop().time())
        self._came.set()

    async def aclose(self) -> None:
        """Close the stream; `frames` ends. Idempotent."""
        self._ended = True
        self._came.set()
        await self._keeper.aclose()

    async def frames(self) -> AsyncGenerator[Frame]:
        """Frames from position 0 on, until `aclose`. Once. Raises DeviceError where the device cannot be opened."""
        if self._begun:
            raise RuntimeError("a CardMicrophone is listened to once: make another one")
        self._begun = True
        self._loop = loop = asyncio.get_running_loop()
        await self._keeper.begin(loop.time())
        self._look_again(loop)
        try:
            while not self._ended:
                self._keeper.tick(loop.time())
                for frame in self._take():
                    yield frame
                self._came.clear()
                await self._came.wait()  # not for ever: `_look_again` sets it
        finally:
            self._look.cancel()
            await self.aclose()

    def _take(self) -> Generator[Frame]:
        """The frames of what has come, or of the silence that is due. Each is good until the next."""
        if self._keeper.stream is not self._stream:
            yield from self._change(self._keeper.stream)
        came = False
        if self._stream is not None:
            for block in self._stream.lane.ring.take():
                came = True
                self._lag_s = self._stream.lane.clock.lag_s
                captured_s = self._forward(block.at_s)
                for frame in self._line.push(block.pcm, captured_s, self.batching):
                    yield self._cleaned(frame)
        if not came:
            # In the time of capture, as everything on this line.
            for frame in self._line.idle(self._forward(self._loop.time() - self._lag_s)):
                self._levels.clear()
                yield frame

    def _change(self, stream: CardStream[CaptureCallback] | None) -> list[Frame]:
        """From here on the blocks come from another stream; what the old one still held is not waited for."""
        if self._stream is not None:
            self._overflows += self._stream.lane.overflows + self._stream.lane.ring.dropped
        self._stream = stream
        return [] if stream is None else self._line.retune(stream.opened.rate_hz)

    def _cleaned(self, frame: Frame) -> Frame:
        self._levels.append(rms_dbfs(frame.pcm))
        if self._clean is None:
            return frame
        return replace(frame, pcm=self._clean.clean(frame.pcm, self._line.clock.to_loop_s(frame.start)))

    def _forward(self, loop_s: float) -> float:
        """Captured times jump a little; the line's never go back."""
        self._captured_s = max(self._captured_s, loop_s)
        return self._captured_s

    def _look_again(self, loop: asyncio.AbstractEventLoop) -> None:
        """Wake `frames` when silence may be due: one timer, and not a timeout for each frame."""
        self._came.set()
        self._look = loop.call_at(max(loop.time() + _TICK_S, self._line.silent_from_s), self._look_again, loop)

    def _lane(self, opened: Opened, channels: int) -> CaptureCallback:
        """Called in the library's thread."""
        return CaptureCallback(opened, channels, self._loop, LoopWaker(self._loop, self._came.set))
