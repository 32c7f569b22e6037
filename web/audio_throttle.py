"""How fast a client's sound is taken, message by message and within one that holds a whole recording."""

import asyncio
from collections.abc import Awaitable, Callable

from web.audio_backlog import AudioBacklog
from web.session_limits import AudioThrottle


class AudioPacer:
    """Waits for as long as a client's sound is ahead of real time by more than may come at once.

    Attributes:
        backlog: Where sound waits instead of whoever brings it; None: there is no such place.
    """

    def __init__(
        self,
        throttle: AudioThrottle,
        rest: Callable[[float], Awaitable[bool]],
        wanted: Callable[[], bool] = lambda: True,
        backlog: AudioBacklog | None = None,
    ) -> None:
        """The pace of one connection.

        Args:
            throttle: How much may come at once, and then how fast.
            rest: Lets so many seconds pass; False where the client has left meanwhile.
            wanted: Whether more of it is: not once another connection has taken over.
            backlog: Where sound waits instead of whoever brings it.
        """
        self.backlog = backlog
        self._throttle = throttle
        self._rest = rest
        self._wanted = wanted
        self._due_s = 0.0

    def lets_pass(self, sound_s: float) -> bool:
        """Whether so much sound may come now, at once."""
        now_s = asyncio.get_running_loop().time()
        return now_s >= self._due_s and sound_s <= self._throttle.room_s(now_s)

    async def wait(self) -> bool:
        """Return when more may come; False: no more is wanted."""
        wait_s = self._due_s - asyncio.get_running_loop().time()
        return (wait_s <= 0 or await self._rest(wait_s)) and self._wanted()

    def took(self, samples: int) -> None:
        """So much sound came, at the throttle's rate."""
        now_s = asyncio.get_running_loop().time()
        self._due_s = now_s + self._throttle.wait_s(samples, now_s)
