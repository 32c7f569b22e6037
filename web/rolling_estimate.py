"""Percentiles of recent samples, in which newer samples count more. Pure: the caller passes the time."""

from collections import deque
from collections.abc import Iterator

MAX_SAMPLES = 1000
"""Samples kept. The event loop's lag is measured 600 times in a window of 60 s; beyond that the oldest are dropped."""


class RollingEstimate:
    """Samples of a time window. The weight of a sample halves with every half-life."""

    def __init__(self, window_s: float, half_life_s: float) -> None:
        """`window_s`: age at which a sample is dropped; `half_life_s`: age at which it counts half."""
        self._window_s = window_s
        self._half_life_s = half_life_s
        self._samples: deque[tuple[float, float]] = deque(maxlen=MAX_SAMPLES)

    def add(self, value: float, now_s: float) -> None:
        """Adds a sample that was measured at `now_s`."""
        self._samples.append((now_s, value))

    def clear(self) -> None:
        """Drops all samples."""
        self._samples.clear()

    def count(self, now_s: float) -> int:
        """Returns the number of samples in the window."""
        return sum(1 for _ in self._recent(now_s))

    def quantile(self, share: float, now_s: float) -> float | None:
        """Returns the smallest value that at least `share` (0..1) of the weight does not exceed; None: no samples."""
        weighted = sorted((value, 0.5 ** ((now_s - at_s) / self._half_life_s)) for at_s, value in self._recent(now_s))
        needed = share * sum(weight for _, weight in weighted)
        total = 0.0
        for value, weight in weighted:
            total += weight
            if total >= needed:
                return value
        return weighted[-1][0] if weighted else None  # rounding

    def _recent(self, now_s: float) -> Iterator[tuple[float, float]]:
        return (sample for sample in self._samples if now_s - sample[0] <= self._window_s)
