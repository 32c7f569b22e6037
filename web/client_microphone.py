"""A client's microphone: blocks from the wire made into gapless frames, on the conversation's own line."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import suppress

from audio.clock import StreamClock
from audio.frame import Frame
from audio.frame_batching import Batching
from audio.units import FRAME_MS, Pcm, ms_of_samples, samples_of_ms
from web.client_line import ClientLine
from web.fair_share import FairShare

WAITING_FRAMES = 1500
"""30 s: a client may send a whole recording at once. What comes faster is held back."""

BREATH = 10
"""Frames after which others get their turn."""

AHEAD_FRAMES = 15
"""300 ms. A conversation that is further behind its client is caught up at its share of the event loop's time."""

OWN_FRAMES_PER_S = 62.5
OWN_FRAMES = 25
"""A client may always be heard 1.25 times as fast as it speaks, and half a second at once; the rest is shared."""

SLICE_S = 0.004

SETTLE_TIMEOUT_S = 10.0
"""For a conversation to hear what was delivered: one that takes longer hangs, and what was asked of it goes on."""


class ClientMicrophone:
    """Implements `Microphone`. Blocks are delivered on the event loop; frames are taken by one conversation.

    While no sound comes (muted, push-to-talk, a lost network) the line goes on in silence: see `ClientLine` for how
    that is told from a block that is late.

    Attributes:
        heed: See `Microphone`.
    """

    def __init__(self, rate_hz: int, share: FairShare | None = None) -> None:
        """A client's microphone.

        Args:
            rate_hz: Of the blocks, until `deliver` says otherwise.
            share: Limits how fast a conversation catches up with sound that is ahead of real time; None: not limited.
        """
        self.batching = Batching.OFF
        self._line = ClientLine(rate_hz)
        self._share = share or FairShare()
        self._waiting: deque[Frame | asyncio.Event] = deque()  # an event: everything before it was heard
        self._came = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()
        self._ended = False
        self._own_frames = float(OWN_FRAMES)
        self._own_at_s = 0.0
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
        return self._line.received_ms

    @property
    def full(self) -> bool:
        """The conversation is far behind: `deliver` would wait."""
        return not self._room.is_set()

    @property
    def behind(self) -> bool:
        """The conversation has yet to hear much of what was delivered."""
        return len(self._waiting) >= AHEAD_FRAMES

    def invented_ms(self, before_ms: float) -> float:
        """How much of the line before this position is silence that was put in, and not the client's."""
        return ms_of_samples(self._line.invented_before(samples_of_ms(before_ms)))

    def lost(self) -> None:
        """The client has lost its connection: until it is back nothing comes, and nothing is waited for."""
        self._line.arrivals.gone = True

    async def deliver(self, block: Pcm, rate_hz: int) -> None:
        """Take a block: int16 (n,) at this rate; waits while the conversation is far behind."""
        loop = asyncio.get_running_loop()
        if self._waiting:  # the conversation is behind: it gets its turn, and so does everybody else
            await asyncio.sleep(0)
        for at in range(0, len(block), rate_hz):  # what is much must not hold the loop
            await self._room.wait()
            if self._ended:
                return
            part = block[at : at + rate_hz]
            self._keep(self._line.push(part, rate_hz, loop.time(), self.batching, len(block) / rate_hz))
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

    def end(self, *, at_once: bool = False) -> None:
        """No more will come. The conversation gets what is here, unless it is to end `at_once`. Idempotent."""
        if not self._ended:
            self._keep(self._line.finish())
        if at_once:
            for one in self._waiting:
                if isinstance(one, asyncio.Event):
                    one.set()
            self._waiting.clear()
        self._ended = True
        self._came.set()
        self._room.set()

    async def frames(self) -> AsyncGenerator[Frame]:
        """Frames from position 0 on, until `end`. To be iterated once."""
        loop = asyncio.get_running_loop()
        self._keep(self._line.idle(loop.time()))
        self._look_again(loop)
        worked_s = 0.0
        try:
            while True:
                while self._waiting:
                    frame = self._waiting.popleft()
                    if isinstance(frame, asyncio.Event):
                        frame.set()
                        continue
                    if len(self._waiting) < WAITING_FRAMES:
                        self._room.set()
                    began_s = loop.time()
                    ahead = self._is_ahead(began_s)
                    yield frame
                    if ahead:
                        worked_s += loop.time() - began_s
                        if worked_s >= SLICE_S:
                            await self._share.pause(worked_s)
                            worked_s = 0.0
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

    def _is_ahead(self, now_s: float) -> bool:
        """Whether the next frame comes out of what all conversations share."""
        passed_s, self._own_at_s = now_s - self._own_at_s, now_s
        self._own_frames = min(OWN_FRAMES, self._own_frames + passed_s * OWN_FRAMES_PER_S)
        if self._own_frames >= 1:
            self._own_frames -= 1
            return False
        return len(self._waiting) >= AHEAD_FRAMES

    def _look_again(self, loop: asyncio.AbstractEventLoop) -> None:
        """Wake whoever takes the frames if silence may be due: looked at seldom while sound comes, then every frame.

        One timer and not a timeout for each frame, which costs more than the frame. It only wakes: what has come while
        the loop was held up is read before silence is put in.
        """
        now_s, silent_from_s = loop.time(), self._line.look_from_s
        if now_s >= silent_from_s:
            self._came.set()
        self._look = loop.call_at(max(now_s + FRAME_MS / 1000, silent_from_s), self._look_again, loop)

    def _keep(self, frames: list[Frame]) -> None:
        self._waiting.extend(frames)
        if frames:
            self._came.set()
        if len(self._waiting) >= WAITING_FRAMES:
            self._room.clear()
