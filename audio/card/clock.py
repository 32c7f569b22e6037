"""A card's own times, made into loop time; where they are garbage, the arrival stands in for them. Pure."""

from collections import deque
from statistics import median

_KEPT = 64
"""About a second of blocks: the lag of a card is steady, its readings jump by a few milliseconds."""

MOST_S = 2.0
"""A block that claims to be captured longer ago, or to leave later, is not believed (Bluetooth needs 0.3 s)."""

_EARLY_S = 0.005
"""By how much a reading may contradict what is possible: clocks are read one after the other."""


class CardClock:
    """The times of one open stream's blocks. Not thread-safe.

    A callback brings the card's clock as it says it is now, and what the block's first sample has on it: some host
    APIs give 0, some another clock, some the same for every block. So only their difference is used, if it is
    possible, and loop time is what was read in the callback.

    Attributes:
        believed: Blocks whose times were possible.
        doubted: Blocks whose times were not.
    """

    def __init__(self, latency_s: float) -> None:
        """`latency_s`: what the stream says of itself; for a speaker's blocks without times."""
        self.believed = 0
        self.doubted = 0
        self._latency_s = latency_s
        self._lags_s: deque[float] = deque(maxlen=_KEPT)
        self._lag_s = 0.0

    @property
    def lag_s(self) -> float:
        """How long ago the newest sample of a block was captured when the block comes; 0 where that is not known."""
        return self._lag_s

    @property
    def latency_s(self) -> float:
        """From the card taking a sample to its leaving, as was last believed."""
        return self._latency_s

    def captured_s(self, now_s: float, card_s: float, first_s: float, length_s: float) -> float:
        """Loop time at which the block's last sample was captured; never after `now_s`.

        Args:
            now_s: Loop time in the callback.
            card_s: The card's clock, as the callback was told.
            first_s: The first sample's time on the card's clock.
            length_s: Length of the block.
        """
        lag_s = card_s - first_s - length_s
        if card_s > 0 and first_s > 0 and -length_s / 2 - _EARLY_S <= lag_s <= MOST_S:
            self.believed += 1
            self._lags_s.append(max(0.0, lag_s))
            self._lag_s = median(self._lags_s)
        else:
            self.doubted += 1
        return now_s - self._lag_s

    def leaves_s(self, now_s: float, card_s: float, first_s: float) -> float:
        """Loop time at which the block's first sample leaves the loudspeaker; never before `now_s`.

        Args:
            now_s: Loop time in the callback.
            card_s: The card's clock, as the callback was told.
            first_s: When the first sample leaves, on the card's clock.
        """
        ahead_s = first_s - card_s
        if card_s > 0 and first_s > 0 and -_EARLY_S <= ahead_s <= MOST_S:
            self.believed += 1
            self._latency_s = max(0.0, ahead_s)
        else:
            self.doubted += 1
        return now_s + self._latency_s
