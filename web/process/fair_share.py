"""Shares the event loop between conversations: chooses the next one, and slows down audio ahead of real time."""

import asyncio

from web.process.frame_turns import FrameTurns

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
