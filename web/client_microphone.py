"""A client's microphone: blocks from the wire made into gapless frames, on the conversation's own line."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import suppress

from audio.clock import StreamClock
from audio.frame import Frame
from audio.heed import Heed
from audio.microphone import MicrophoneLine
from audio.units import FRAME_MS, Pcm, ms_of_samples, samples_of_ms

WAITING_FRAMES = 1500
"""30 s: a client may send a whole recording at once. What comes faster is held back by not reading its socket."""

BREATH = 10
"""Frames after which others get their turn."""

SETTLE_TIMEOUT_S = 10.0
"""For a conversation to hear what was delivered: one that takes longer hangs, and what was asked of it goes on."""


class ClientMicrophone:
    """Implements `Microphone`. Blocks are delivered on the event loop; frames are taken by one conversation.

    While no sound comes (muted, push-to-talk, a lost network) the line goes on in silence.

    Attributes:
        heed: See `Microphone`.
    """

    def __init__(self, rate_hz: int) -> None:
        """`rate_hz`: of the blocks, until `deliver` says otherwise."""
        self.heed = Heed.ALL
        self._line = MicrophoneLine(rate_hz)
        self._waiting: deque[Frame | asyncio.Event] = deque()  # an event: everything before it was heard
        self._came = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()
        self._ended = False
        self._look: asyncio.TimerHandle

    @property
    def clock(self) -> StreamClock:
        """Maps positions to the loop time at which the sound arrived here."""
        return self._line.clock

    @property
    def invented_frames(self) -> int:
        """Frames of silence that were put in."""
        return self._line.invented_frames

    @property
    def received_ms(self) -> float:
        """How much sound has come from the client."""
        return ms_of_samples(self._line.received)

    def invented_ms(self, before_ms: float) -> float:
        """How much of the line before this position is silence that was put in, and not the client's."""
        return ms_of_samples(self._line.filled.before(samples_of_ms(before_ms)))

    async def deliver(self, block: Pcm, rate_hz: int) -> None:
        """Take a block: int16 (n,) at this rate; waits while the conversation is far behind."""
        loop = asyncio.get_running_loop()
        if self._waiting:  # the conversation is behind: it gets its turn, and so does everybody else
            await asyncio.sleep(0)
        for at in range(0, len(block), rate_hz):  # what is much must not hold the loop
            await self._room.wait()
            if self._ended:
                return
            self._keep(self._line.retune(rate_hz))
            self._keep(self._line.push(block[at : at + rate_hz], loop.time(), self.heed))
            if len(block) > rate_hz:
                await asyncio.sleep(0)

    async def settle(self) -> None:
        """Wait until the conversation has heard everything that was delivered; the last frame is filled up.

        Up to 4 ms are heard with what comes next, see `MicrophoneLine.settle`.
        """
        if self._ended:
            return
        self._keep(self._line.settle())
        heard = asyncio.Event()
        self._waiting.append(heard)
        self._came.set()
        with suppress(TimeoutError):
            async with asyncio.timeout(SETTLE_TIMEOUT_S):
                await heard.wait()

    def end(self) -> None:
        """No more will come. The conversation gets what is here, and then its end. Idempotent."""
        if not self._ended:
            self._keep(self._line.finish())
        self._ended = True
        self._came.set()
        self._room.set()

    async def frames(self) -> AsyncGenerator[Frame]:
        """Frames from position 0 on, until `end`. To be iterated once."""
        loop = asyncio.get_running_loop()
        self._keep(self._line.idle(loop.time()))
        self._look_again(loop)
        try:
            while True:
                while self._waiting:
                    frame = self._waiting.popleft()
                    if isinstance(frame, asyncio.Event):
                        frame.set()
                        continue
                    if len(self._waiting) < WAITING_FRAMES:
                        self._room.set()
                    yield frame
                    if len(self._waiting) % BREATH == BREATH - 1:
                        await asyncio.sleep(0)  # a client that sent much at once must not hold the loop
                if self._ended:
                    return
                self._came.clear()
                await self._came.wait()  # not for ever: `_look_again` sets it
                if not self._waiting:
                    self._keep(self._line.idle(loop.time()))
        finally:
            self._look.cancel()

    def _look_again(self, loop: asyncio.AbstractEventLoop) -> None:
        """Wake whoever takes the frames if silence may be due: looked at seldom while sound comes, then every frame.

        One timer and not a timeout for each frame, which costs more than the frame. It only wakes: what has come while
        the loop was held up is read before silence is put in.
        """
        now_s, silent_from_s = loop.time(), self._line.silent_from_s
        if now_s >= silent_from_s:
            self._came.set()
        self._look = loop.call_at(max(now_s + FRAME_MS / 1000, silent_from_s), self._look_again, loop)

    def _keep(self, frames: list[Frame]) -> None:
        # The line reuses its buffers: what waits needs samples of its own.
        self._waiting.extend(Frame(frame.start, frame.pcm.copy(), frame.invented) for frame in frames)
        if frames:
            self._came.set()
        if len(self._waiting) >= WAITING_FRAMES:
            self._room.clear()
