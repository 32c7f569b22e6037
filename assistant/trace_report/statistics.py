"""Percentiles with their uncertainty: pure.

Percentiles are by nearest rank, as everywhere here. Their intervals are bootstrap intervals: how far the percentile
would move had other turns been drawn from the same ones. The k-th of n resampled values is the value at the
ceil(n U)-th place, U from a Beta(k, n - k + 1) distribution: so nothing is resampled, a million turns cost no more
than ten. Turns are taken as independent of each other.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, log, sqrt

import numpy as np
from numpy.typing import NDArray

PERCENTS = (50, 90, 95, 99)

LEVEL = 0.95
"""Of every interval."""

REPLICATES = 2000
"""The bounds of an interval then move by less than the values beside them."""

SEED = 1
"""The same turns give the same report."""

_Z = 1.959963984540054  # of LEVEL, two-sided

Values = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class IntervalEstimate:
    """A figure and the interval in which it lies, as far as the turns at hand can tell.

    Attributes:
        enough: Whether there are turns enough for it: if not, its upper bound is only the largest value seen.
    """

    value: float
    low: float
    high: float
    enough: bool


@dataclass(frozen=True, slots=True)
class Spread:
    """Values and where they lie.

    Attributes:
        count: How many.
        percentiles: By percent: PERCENTS.
        most: The largest.
    """

    count: int
    percentiles: dict[int, IntervalEstimate]
    most: float


@dataclass(frozen=True, slots=True)
class Proportion:
    """How many of how many, with the Wilson interval of the share (0..1)."""

    count: int
    of: int
    value: float
    low: float
    high: float


def ordered(values: Sequence[float] | Values) -> Values:
    """As the functions below want them."""
    return np.sort(np.asarray(values, np.float32))


def spread(values: Values) -> Spread | None:
    """Of ordered values; None of none."""
    if not values.size:
        return None
    return Spread(
        int(values.size), {percent: estimate(values, percent) for percent in PERCENTS}, round(float(values[-1]), 3)
    )


def estimate(values: Values, percent: int) -> IntervalEstimate:
    """A percentile of ordered values with its bootstrap interval. Raises ValueError for no values."""
    low, high = _bounds(replicates(values, percent, SEED))
    return IntervalEstimate(round(percentile(values, percent), 3), low, high, values.size >= least_turns(percent))


def percentile(values: Values, percent: int) -> float:
    """The smallest of ordered values that at least `percent` of them do not exceed. Raises ValueError for no values."""
    return float(values[_rank(values, percent) - 1])


def difference(before: Values, after: Values, percent: int) -> IntervalEstimate:
    """How much further `after` lies, at a percentile of both. Raises ValueError for no values."""
    enough = min(before.size, after.size) >= least_turns(percent)
    low, high = _bounds(replicates(after, percent, SEED) - replicates(before, percent, SEED + 1))
    return IntervalEstimate(round(percentile(after, percent) - percentile(before, percent), 3), low, high, enough)


def replicates(values: Values, percent: int, seed: int) -> Values:
    """REPLICATES draws of a percentile of as many values, resampled from the ordered ones."""
    rank, count = _rank(values, percent), values.size
    uniform = np.random.default_rng(seed).beta(rank, count - rank + 1, REPLICATES)
    places = np.clip(np.ceil(uniform * count).astype(np.int64) - 1, 0, count - 1)
    drawn: Values = values[places]
    return drawn


def least_turns(percent: int) -> int:
    """So many values are needed before the largest lies above the true percentile with a probability of LEVEL.

    5 for the median, 29 for p90, 59 for p95, 299 for p99: with fewer, nothing that was seen bounds it from above.
    """
    return ceil(log(1 - LEVEL) / log(percent / 100))


def share(count: int, of: int) -> Proportion | None:
    """`count` of `of`; None of nothing."""
    if not of:
        return None
    part = count / of
    middle = (part + _Z**2 / (2 * of)) / (1 + _Z**2 / of)
    half = _Z / (1 + _Z**2 / of) * sqrt(part * (1 - part) / of + _Z**2 / (4 * of**2))
    low, high = min(part, max(0.0, middle - half)), max(part, min(1.0, middle + half))
    return Proportion(count, of, round(part, 4), round(low, 4), round(high, 4))


def _bounds(drawn: Values) -> tuple[float, float]:
    drawn = np.sort(drawn)
    outside = int(REPLICATES * (1 - LEVEL) / 2)
    return round(float(drawn[outside]), 3), round(float(drawn[-outside - 1]), 3)


def _rank(values: Values, percent: int) -> int:
    if not values.size:
        raise ValueError("no values, no percentile")
    return max(1, -(-values.size * percent // 100))
