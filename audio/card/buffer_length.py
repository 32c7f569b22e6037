"""Decides the length of the loudspeaker's buffer. Pure: time is passed in.

A short buffer has a low latency, but it underruns if the machine delays our thread for longer than its length, and the
reply is interrupted. So it starts short and is lengthened when that happens repeatedly.
"""

from collections import deque

DRY_TIMES = 3
DRY_WITHIN_S = 10.0
"""Number of underruns within `DRY_WITHIN_S` that lengthen the buffer. A single one is common, e.g. after a wake-up."""

STEADY_S = 1.0
"""Time after opening, in seconds, during which underruns are ignored: they come from the opening itself."""

MOST_MS = 160.0
"""Longest buffer, in milliseconds: it delays every answer. Longer stalls cannot be fixed by a buffer."""

GROWN = 1.25
"""Ratio from which a buffer counts as longer: devices round to their periods."""


class BufferLength:
    """Tracks the buffer of one loudspeaker over several openings. Not thread-safe."""

    def __init__(self) -> None:
        self._holds_ms = 0.0
        self._opened_s = 0.0
        self._underflows = 0
        self._dry_s: deque[float] = deque(maxlen=DRY_TIMES)
        self._dry = False
        self._asked = False  # a longer one was requested, and no stream was opened since
        self._grows = True

    def opened(self, holds_ms: float, now_s: float) -> bool:
        """Notes that a stream was opened. `holds_ms`: its buffer length; 0.0 if unknown, then it is never changed.

        Returns whether a longer one had been requested.
        """
        asked, self._asked = self._asked, False
        if asked:
            self._grows = holds_ms >= GROWN * self._holds_ms
        self._holds_ms, self._opened_s, self._underflows = holds_ms, now_s, 0
        self._forget()
        return asked

    def told(self, underflows: int, now_s: float) -> None:
        """Notes the number of underruns of the open stream so far."""
        if underflows > self._underflows and now_s - self._opened_s >= STEADY_S:
            self._dry_s.append(now_s)
            self._dry = self._dry or (len(self._dry_s) == DRY_TIMES and now_s - self._dry_s[0] <= DRY_WITHIN_S)
        self._underflows = underflows

    @property
    def too_short(self) -> bool:
        """Whether a longer buffer is worth its latency; stays True until the stream is reopened."""
        return self._dry and self._grows and 0.0 < self._holds_ms < MOST_MS

    def lengthen(self) -> float:
        """Returns the buffer length to request, in milliseconds: twice the current one."""
        self._forget()
        self._asked = True
        return min(2 * self._holds_ms, MOST_MS)

    def _forget(self) -> None:
        self._dry_s.clear()
        self._dry = False
