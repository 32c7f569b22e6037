"""Converts a card's timestamps to loop time; invalid ones are replaced by the arrival time. No I/O, no clock."""

from collections import deque
from statistics import median

_MEDIAN_BLOCKS = 64
"""Number of lags in the median, about a second of blocks: the lag is steady, its readings vary by some ms."""

MAX_LAG_S = 2.0
"""Largest plausible capture lag or playback latency, in seconds (Bluetooth needs 0.3 s)."""

_TOLERANCE_S = 0.005
"""Tolerance for contradictory readings, in seconds: the clocks are read one after the other."""


class CardClock:
    """Converts the timestamps of one open stream's blocks. Not thread-safe.

    A callback receives the card's current time and the time of the block's first sample. Some host APIs report 0,
    another clock, or the same value for every block. So only the plausible difference is used, relative to the loop
    time read in the callback.

    Attributes:
        believed: Number of blocks with plausible times.
        doubted: Number of blocks with implausible times.
    """

    def __init__(self, latency_s: float) -> None:
        """`latency_s`: the stream's reported latency, used for playback blocks without timestamps."""
        self.believed = 0
        self.doubted = 0
        self._latency_s = latency_s
        self._lags_s: deque[float] = deque(maxlen=_MEDIAN_BLOCKS)
        self._lag_s = 0.0

    @property
    def lag_s(self) -> float:
        """Time from the capture of a block's newest sample to its arrival, in seconds; 0 if unknown."""
        return self._lag_s

    @property
    def latency_s(self) -> float:
        """Time from the card taking a sample to playing it, in seconds: the last plausible value."""
        return self._latency_s

    def captured_s(self, now_s: float, card_s: float, first_s: float, length_s: float) -> float:
        """Returns the loop time at which the block's last sample was captured; never after `now_s`.

        Args:
            now_s: Loop time in the callback.
            card_s: The card's current time, as passed to the callback.
            first_s: The first sample's time on the card's clock.
            length_s: Length of the block.
        """
        lag_s = card_s - first_s - length_s
        if card_s > 0 and first_s > 0 and -length_s / 2 - _TOLERANCE_S <= lag_s <= MAX_LAG_S:
            self.believed += 1
            self._lags_s.append(max(0.0, lag_s))
            self._lag_s = median(self._lags_s)
        else:
            self.doubted += 1
        return now_s - self._lag_s

    def leaves_s(self, now_s: float, card_s: float, first_s: float) -> float:
        """Returns the loop time at which the block's first sample is played; never before `now_s`.

        Args:
            now_s: Loop time in the callback.
            card_s: The card's current time, as passed to the callback.
            first_s: When the first sample is played, on the card's clock.
        """
        ahead_s = first_s - card_s
        if card_s > 0 and first_s > 0 and -_TOLERANCE_S <= ahead_s <= MAX_LAG_S:
            self.believed += 1
            self._latency_s = max(0.0, ahead_s)
        else:
            self.doubted += 1
        return now_s + self._latency_s
