"""The microphone of this machine, through PortAudio."""

import asyncio
import math
from collections import deque
from collections.abc import AsyncGenerator, Callable, Generator
from dataclasses import replace
from typing import Any, Protocol, runtime_checkable

import numpy as np

from audio.card.block_ring import BlockRing
from audio.card.clock import CardClock
from audio.card.stream import CardLibrary, CardStream, LoopWaker, Opened
from audio.card.stream_supervisor import StreamSupervisor
from audio.clock import StreamClock
from audio.frame import Frame
from audio.level import mean_dbfs, rms_dbfs
from audio.microphone import MicrophoneLine
from audio.portaudio.owner import shared
from audio.units import FRAME_MS, MIC_RATE_HZ, Pcm

_TICK_S = FRAME_MS / 1000
_KEPT_S = 2.0
"""Audio that is queued while the event loop is blocked, in seconds; later blocks are lost and counted."""

_WINDOW_S = 1.5
"""Window of the line's clock, in seconds.

A card's blocks are late by a few ms only. But after dropped blocks everything is dated too early until the window has
passed, and an echo canceller then searches for the reply in the wrong place.
"""

_LEVEL_FRAMES = 5

_RESTING_BLOCKS = 8
"""Blocks that are delivered at once while the microphone rests. Each wake-up of the loop costs as much as its work."""

_RESTING_TICK_S = 0.25
"""Time in seconds after which a microphone that rests and gets no block is looked after."""


class FrameCleaner(Protocol):
    """Removes echo or noise from frames."""

    def clean(self, pcm: Pcm, captured_s: float) -> Pcm:
        """Returns a cleaned copy of one frame, int16 (320,) at 16 kHz, which is not modified.

        `captured_s`: loop time of its first sample.
        """
        ...


@runtime_checkable
class RestingCleaner(Protocol):
    """A cleaner that costs nothing while nothing plays.

    Attributes:
        rests: Whether nothing plays; frames are then not cleaned.
    """

    rests: bool


class CaptureCallback:
    """The microphone's callback in the card's thread: copies and signals. Implements `StreamCallback`."""

    def __init__(self, opened: Opened, channels: int, loop: asyncio.AbstractEventLoop, waker: LoopWaker) -> None:
        self.last_s = 0.0
        self.finished = False
        self.overflows = 0
        self.blocks_at_once = 1
        self._waiting = 0  # blocks since the loop was woken
        self.clock = CardClock(opened.latency_ms / 1000)
        self._max_samples = max(1, round(opened.rate_hz * opened.block_ms / 1000))
        self.ring = BlockRing(math.ceil(_KEPT_S * 1000 / opened.block_ms), self._max_samples, channels)
        self._channels = channels
        self._rate_hz = opened.rate_hz
        self._loop = loop
        self._waker = waker

    def block(self, data: Any, frames: int, card_s: float, first_s: float, *, flagged: bool) -> None:
        """See `StreamCallback`."""
        now_s = self._loop.time()
        self.last_s = now_s
        self.overflows += flagged
        pcm = np.frombuffer(data, np.int16).reshape(frames, self._channels)
        captured_s = self.clock.captured_s(now_s, card_s, first_s, frames / self._rate_hz)
        for start in range(0, frames, self._max_samples):  # one piece, unless the card ignores the block size
            piece = pcm[start : start + self._max_samples]
            self.ring.put_block(piece, captured_s - (frames - start - len(piece)) / self._rate_hz)
        self._waiting += 1
        if self._waiting >= self.blocks_at_once:
            self._waiting = 0
            self._waker.wake()

    def ended(self) -> None:
        """See `StreamCallback`."""
        self.finished = True
        self._waker.wake()


class CardMicrophone:
    """Implements `Microphone`. Delivers silence while there is no device or it is muted.

    Attributes:
        clock: Maps positions to the loop time of their capture.
        muted: Whether the stream is closed until `mute(False)`.
        batches_silence: See `Microphone`.
    """

    rests = False
    """Whether nobody is heard and nothing plays: sound may be up to 160 ms late, and is not cleaned. See `rest`."""

    def __init__(
        self,
        device_name: str = "",
        *,
        report: Callable[[str], None],
        clean: FrameCleaner | None = None,
        library: CardLibrary | None = None,
    ) -> None:
        """Creates a microphone, which `frames` opens.

        Args:
            device_name: See `audio.devices.pick`.
            report: Called with a sentence for the user when the device is lost, recovered or changed.
            clean: Processes every captured frame.
            library: Opens the stream; None: the program's own library.
        """
        self.muted = False
        self.batches_silence = False
        self.clock = StreamClock(_WINDOW_S)
        self._line = MicrophoneLine(MIC_RATE_HZ, self.clock)
        self._clean = clean
        self._supervisor = StreamSupervisor(
            "input", device_name, MIC_RATE_HZ, library=library or shared(), make=self._make_callback, report=report
        )
        self._stream: CardStream[CaptureCallback] | None = None  # whose blocks go into the line
        self._wake = asyncio.Event()
        self._levels_dbfs: deque[float] = deque(maxlen=_LEVEL_FRAMES)
        self._overflows = 0  # of streams that are closed
        self._resting_frames = 0
        self._lag_s = 0.0
        self._captured_s = -math.inf
        self._begun = self._ended = False
        self._loop: asyncio.AbstractEventLoop
        self._timer: asyncio.TimerHandle

    @property
    def opened(self) -> Opened | None:
        """The open stream; None while closed, muted or lost."""
        return self._supervisor.opened

    @property
    def level_dbfs(self) -> float:
        """Level of the last 100 ms before cleaning; -inf without audio."""
        return mean_dbfs(self._levels_dbfs)

    @property
    def lag_s(self) -> float:
        """Time from the capture of a block's last sample to its arrival, in seconds, as last reported by the card."""
        return self._lag_s

    @property
    def overflows(self) -> int:
        """Number of audio losses: reported by the card, plus blocks without room in the ring."""
        lane = None if self._stream is None else self._stream.lane
        return self._overflows + (0 if lane is None else lane.overflows + lane.ring.dropped)

    def rest(self, on: bool) -> None:
        """Implements `RestingMicrophone`."""
        if on == self.rests:
            return
        self.rests = on
        if isinstance(self._clean, RestingCleaner):
            self._clean.rests = on
        if self._stream is not None:
            self._stream.lane.blocks_at_once = _RESTING_BLOCKS if on else 1

    async def mute(self, on: bool) -> None:
        """Closes the stream, or opens it again. A failure to open is reported and retried."""
        self.muted = on
        if on:
            await self._supervisor.pause()
        else:
            self._supervisor.resume(asyncio.get_running_loop().time())
        self._wake.set()

    async def use(self, device_name: str) -> None:
        """Switches to another device. Raises DeviceError and keeps the old one if that fails."""
        await self._supervisor.use(device_name, asyncio.get_running_loop().time())
        self._wake.set()

    async def aclose(self) -> None:
        """Closes the stream; `frames` ends. Idempotent."""
        self._ended = True
        self._wake.set()
        await self._supervisor.aclose()

    async def frames(self) -> AsyncGenerator[Frame]:
        """Yields frames from position 0 until `aclose`. Iterate once. Raises DeviceError if no device can be opened."""
        if self._begun:
            raise RuntimeError("a CardMicrophone can be used only once: create another one")
        self._begun = True
        self._loop = loop = asyncio.get_running_loop()
        await self._supervisor.begin(loop.time())
        self._wake_regularly(loop)
        try:
            while not self._ended:
                self._supervisor.tick(loop.time())
                for frame in self._take():
                    yield frame
                self._wake.clear()
                await self._wake.wait()  # `_wake_regularly` sets it regularly
        finally:
            self._timer.cancel()
            await self.aclose()

    def _take(self) -> Generator[Frame]:
        """Yields the frames of the received blocks, or of the silence due. Each is valid until the next one."""
        if self._supervisor.stream is not self._stream:
            yield from self._change(self._supervisor.stream)
        received = False
        if self._stream is not None:
            for block in self._stream.lane.ring.take():
                received = True
                self._lag_s = self._stream.lane.clock.lag_s
                captured_s = self._monotonic(block.at_s)
                for frame in self._line.push_block(block.pcm, captured_s, batches_silence=self.batches_silence):
                    yield self._cleaned(frame)
        if not received:
            # In capture time, like everything on this line.
            for frame in self._line.idle(self._monotonic(self._loop.time() - self._lag_s)):
                self._levels_dbfs.clear()
                yield frame

    def _change(self, stream: CardStream[CaptureCallback] | None) -> list[Frame]:
        """Switches to another stream; drops what the old one still holds."""
        if self._stream is not None:
            self._overflows += self._stream.lane.overflows + self._stream.lane.ring.dropped
        self._stream = stream
        if stream is not None and self.rests:
            stream.lane.blocks_at_once = _RESTING_BLOCKS
        return [] if stream is None else self._line.retune(stream.opened.rate_hz)

    def _cleaned(self, frame: Frame) -> Frame:
        if self.rests:
            self._resting_frames += 1
            if self._resting_frames % _RESTING_BLOCKS == 0:
                self._levels_dbfs.append(rms_dbfs(frame.pcm))
            return frame
        self._levels_dbfs.append(rms_dbfs(frame.pcm))
        if self._clean is None:
            return frame
        return replace(frame, pcm=self._clean.clean(frame.pcm, self.clock.to_loop_s(frame.start)))

    def _monotonic(self, loop_s: float) -> float:
        """Makes capture times monotonic: they vary a little, the line's time never decreases."""
        self._captured_s = max(self._captured_s, loop_s)
        return self._captured_s

    def _wake_regularly(self, loop: asyncio.AbstractEventLoop) -> None:
        """Wakes `frames` when silence may be due. A single timer is cheaper than a timeout per frame."""
        self._wake.set()
        tick_s = _RESTING_TICK_S if self.rests else _TICK_S
        self._timer = loop.call_at(max(loop.time() + tick_s, self._line.silent_from_s), self._wake_regularly, loop)

    def _make_callback(self, opened: Opened, channels: int) -> CaptureCallback:
        """Creates the callback. Called in the library's thread."""
        return CaptureCallback(opened, channels, self._loop, LoopWaker(self._loop, self._wake.set))
