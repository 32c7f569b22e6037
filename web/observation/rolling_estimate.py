"""Percentiles of recent samples, in which newer samples count more. Pure: the caller passes the time."""

import numpy as np
import numpy.typing as npt

MAX_SAMPLES = 1000
"""Samples kept. The event loop's lag is measured 600 times in a window of 60 s; beyond that the oldest are dropped."""
MIN_AT_LEAST = 3
"""Samples that a percentile does not exceed, so that one or two slow ones do not decide it. Newer samples count so much
more that even among twenty a single one may be the 95th percentile by weight."""


class RollingEstimate:
    """Samples of a time window. The weight of a sample halves with every half-life."""

    def __init__(self, window_s: float, half_life_s: float) -> None:
        """`window_s`: age at which a sample is dropped; `half_life_s`: age at which it counts half."""
        self._window_s = window_s
        self._half_life_s = half_life_s
        self._at_s = np.full(MAX_SAMPLES, -np.inf)
        self._values = np.zeros(MAX_SAMPLES)
        self._next = 0

    def add(self, value: float, now_s: float) -> None:
        """Adds a sample that was measured at `now_s`."""
        self._at_s[self._next], self._values[self._next] = now_s, value
        self._next = (self._next + 1) % MAX_SAMPLES

    def clear(self) -> None:
        """Drops all samples."""
        self._at_s.fill(-np.inf)

    def count(self, now_s: float) -> int:
        """Returns the number of samples in the window."""
        return int(np.count_nonzero(self._recent(now_s)))

    def quantile(self, share: float, now_s: float) -> float | None:
        """Returns the smallest value that at least `share` (0..1) of the weight does not exceed; None: no samples.

        It is lower if fewer than `MIN_AT_LEAST` samples have at least this value.
        """
        recent = self._recent(now_s)
        values, at_s = self._values[recent], self._at_s[recent]
        if not len(values):
            return None
        order = np.argsort(values)
        total = np.cumsum(0.5 ** ((now_s - at_s[order]) / self._half_life_s))
        place = int(np.searchsorted(total, share * total[-1]))
        return float(values[order[min(place, max(0, len(values) - MIN_AT_LEAST))]])

    def _recent(self, now_s: float) -> npt.NDArray[np.bool_]:
        recent: npt.NDArray[np.bool_] = now_s - self._at_s <= self._window_s
        return recent
