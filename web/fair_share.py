"""Limits the work on sound that is ahead of real time, over all conversations, so that it does not delay the others."""

import asyncio

PAUSE_PER_WORK = 3.0
"""So much of the event loop's time is left to others for each second of such work: it takes a quarter."""


class FairShare:
    """Shared by all conversations of a server.

    Attributes:
        conversations: How many there are: one alone takes nothing from anybody.
    """

    def __init__(self) -> None:
        self.conversations = 0
        self._free_s = 0.0

    async def pause(self, worked_s: float) -> None:
        """Leave the loop to others after so much work; who calls first goes on first."""
        if self.conversations < 2:
            await asyncio.sleep(0)
            return
        now_s = asyncio.get_running_loop().time()
        self._free_s = max(self._free_s, now_s) + PAUSE_PER_WORK * worked_s
        await asyncio.sleep(self._free_s - now_s)
