"""Shares the event loop between conversations: chooses the next one, and slows down audio ahead of real time."""

import asyncio
from collections import deque

PER_ITERATION = 2
"""Conversations that process their waiting frames in one iteration, in which each takes 0.3 to 1 ms. With 32 at once
the 99th percentile of the loop's lag falls to a third (docs/lab/load-scheduling.md)."""

SHARE_OF_WAITING = 4
"""While more conversations wait, a quarter of them is served in one iteration. So no frame waits for more iterations
because more conversations wait."""


class FrameTurns:
    """The order in which conversations process frames. Not thread-safe.

    An iteration of the event loop runs everything that is ready. Without turns, a decoded transcript or a token of the
    LLM waits until the frames of all conversations that became ready with it are processed.
    """

    def __init__(self) -> None:
        """Starts without conversations that wait."""
        self._served = 0  # in this iteration
        self._counts = False  # whether `_begin` is scheduled for the next iteration
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def next(self) -> None:
        """Waits until it is the caller's turn, in the order of the calls. Safe to cancel."""
        loop = asyncio.get_running_loop()
        self._count(loop)
        if self._served < PER_ITERATION and not self._waiting:
            self._served += 1
            return
        turn = loop.create_future()
        self._waiting.append(turn)
        await turn

    def _count(self, loop: asyncio.AbstractEventLoop) -> None:
        if not self._counts:
            self._counts = True
            loop.call_soon(self._begin, loop)

    def _begin(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begins an iteration: lets the next ones continue, in the iteration after it."""
        self._counts, self._served = False, 0
        most = max(PER_ITERATION, len(self._waiting) // SHARE_OF_WAITING)
        while self._waiting and self._served < most:
            turn = self._waiting.popleft()
            if not turn.done():  # not cancelled
                turn.set_result(None)
                self._served += 1
        if self._served:
            self._count(loop)


PAUSE_PER_WORK = 3.0
"""Seconds left to other tasks for each second of work on audio ahead of real time: it takes a quarter of the time."""


class FairShare:
    """The event loop's time that all conversations of a server share.

    Attributes:
        conversations: Number of conversations. A single one is not limited.
    """

    def __init__(self) -> None:
        self.conversations = 0
        self._frame_turns = FrameTurns()
        self._free_s = 0.0

    async def turn(self) -> None:
        """Waits until the caller may process its waiting frames."""
        if self.conversations > 1:
            await self._frame_turns.next()

    async def pause(self, worked_s: float) -> None:
        """Sleeps after this much processing, so that other tasks run. Callers continue in the order of their calls."""
        if self.conversations < 2:
            await asyncio.sleep(0)
            return
        now_s = asyncio.get_running_loop().time()
        self._free_s = max(self._free_s, now_s) + PAUSE_PER_WORK * worked_s
        await asyncio.sleep(self._free_s - now_s)
