"""Spreads the frames of many conversations over the iterations of the event loop."""

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
