"""Decides the length of the loudspeaker's buffer. No I/O, no clock: time is passed in.

A short buffer has a low latency, but it underruns if the machine delays our thread for longer than its length, and the
reply is interrupted. So it starts short and is lengthened when that happens repeatedly.
"""

from collections import deque

UNDERRUN_COUNT = 3
UNDERRUN_WINDOW_S = 10.0
"""Number of underruns within `UNDERRUN_WINDOW_S` that lengthen the buffer. A single one is common after a wake-up."""

STEADY_S = 1.0
"""Time after opening, in seconds, during which underruns are ignored: they come from the opening itself."""

MAX_BUFFER_MS = 160.0
"""Longest buffer, in milliseconds: it delays every answer. Longer stalls cannot be fixed by a buffer."""

GROWTH_RATIO = 1.25
"""Ratio from which a buffer counts as longer: devices round to their periods."""


class BufferLength:
    """Tracks the buffer of one loudspeaker over several openings. Not thread-safe."""

    def __init__(self) -> None:
        self._length_ms = 0.0
        self._opened_s = 0.0
        self._underflows = 0
        self._underrun_times_s: deque[float] = deque(maxlen=UNDERRUN_COUNT)
        self._too_many_underruns = False
        self._requested = False  # a longer one was requested, and no stream was opened since
        self._grows = True

    def opened(self, holds_ms: float, now_s: float) -> bool:
        """Notes that a stream was opened. `holds_ms`: its buffer length; 0.0 if unknown, then it is never changed.

        Returns whether a longer one had been requested.
        """
        requested, self._requested = self._requested, False
        if requested:
            self._grows = holds_ms >= GROWTH_RATIO * self._length_ms
        self._length_ms, self._opened_s, self._underflows = holds_ms, now_s, 0
        self._clear_underruns()
        return requested

    def note_underflows(self, underflows: int, now_s: float) -> None:
        """Notes the number of underruns of the open stream so far."""
        if underflows > self._underflows and now_s - self._opened_s >= STEADY_S:
            self._underrun_times_s.append(now_s)
            self._too_many_underruns = self._too_many_underruns or (
                len(self._underrun_times_s) == UNDERRUN_COUNT and now_s - self._underrun_times_s[0] <= UNDERRUN_WINDOW_S
            )
        self._underflows = underflows

    @property
    def too_short(self) -> bool:
        """Whether a longer buffer is worth its latency; stays True until the stream is reopened."""
        return self._too_many_underruns and self._grows and 0.0 < self._length_ms < MAX_BUFFER_MS

    def lengthen(self) -> float:
        """Returns the buffer length to request, in milliseconds: twice the current one."""
        self._clear_underruns()
        self._requested = True
        return min(2 * self._length_ms, MAX_BUFFER_MS)

    def _clear_underruns(self) -> None:
        self._underrun_times_s.clear()
        self._too_many_underruns = False
