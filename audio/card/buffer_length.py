"""How long the loudspeaker's buffer is to be. Pure: time comes in as a value.

A short buffer is heard soon, and runs dry where this machine keeps our thread waiting for longer than it lasts: the
reply is torn. So it begins short, and is made longer once that happens again and again.
"""

from collections import deque

DRY_TIMES = 3
DRY_WITHIN_S = 10.0
"""So often within so long is no accident. Once is: a machine that woke, another program that began."""

STEADY_S = 1.0
"""What a stream reports just after it was opened says how it was opened."""

MOST_MS = 160.0
"""Every answer is heard so much later. What a machine withholds for longer still is not mended by a buffer."""

GROWN = 1.25
"""A device rounds what it is asked for to its periods; one that grew by less does not grow."""


class BufferLength:
    """The buffer of one loudspeaker, that may be opened several times. Not thread-safe."""

    def __init__(self) -> None:
        self._holds_ms = 0.0
        self._opened_s = 0.0
        self._underflows = 0
        self._dry_s: deque[float] = deque(maxlen=DRY_TIMES)
        self._dry = False
        self._asked = False  # for a longer one, and not opened since
        self._grows = True

    def opened(self, holds_ms: float, now_s: float) -> bool:
        """A stream is open, and says how long its buffer is: 0.0 where it does not know, and then it is left alone.

        Returns whether a longer one had been asked for.
        """
        asked, self._asked = self._asked, False
        if asked:
            self._grows = holds_ms >= GROWN * self._holds_ms
        self._holds_ms, self._opened_s, self._underflows = holds_ms, now_s, 0
        self._forget()
        return asked

    def told(self, underflows: int, now_s: float) -> None:
        """How often the open stream has run dry by now."""
        if underflows > self._underflows and now_s - self._opened_s >= STEADY_S:
            self._dry_s.append(now_s)
            self._dry = self._dry or (len(self._dry_s) == DRY_TIMES and now_s - self._dry_s[0] <= DRY_WITHIN_S)
        self._underflows = underflows

    @property
    def too_short(self) -> bool:
        """Whether a longer one is worth what it costs; from then on, until it is opened again."""
        return self._dry and self._grows and 0.0 < self._holds_ms < MOST_MS

    def lengthen(self) -> float:
        """What to ask for in its place, milliseconds: twice of what it holds."""
        self._forget()
        self._asked = True
        return min(2 * self._holds_ms, MOST_MS)

    def _forget(self) -> None:
        self._dry_s.clear()
        self._dry = False
