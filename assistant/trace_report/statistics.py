"""Percentiles with their uncertainty. Pure.

Percentiles use the nearest rank. Their intervals are bootstrap intervals: they tell how far the percentile would move
if other turns were drawn from the same distribution. The k-th of n resampled values is the value at the rank ceil(n U),
where U has a Beta(k, n - k + 1) distribution. So nothing is actually resampled, and a million turns cost as much as
ten. Turns are assumed to be independent.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, log, sqrt

import numpy as np
from numpy.typing import NDArray

PERCENTS = (50, 90, 95, 99)

LEVEL = 0.95
"""Confidence level of every interval."""

REPLICATES = 2000
"""Number of bootstrap replicates. With this many, the bounds vary by less than the distance to the neighbouring values.
"""

SEED = 1
"""Random seed. The same turns give the same report."""

_Z = 1.959963984540054  # two-sided quantile for LEVEL

Values = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class IntervalEstimate:
    """A value with its confidence interval.

    Attributes:
        enough: Whether there are enough turns for the interval. If not, the upper bound is only the largest
            observed value.
    """

    value: float
    low: float
    high: float
    enough: bool


@dataclass(frozen=True, slots=True)
class Spread:
    """Distribution of values.

    Attributes:
        count: Number of values.
        percentiles: Estimates by percent, for each of PERCENTS.
        most: Largest value.
    """

    count: int
    percentiles: dict[int, IntervalEstimate]
    most: float


@dataclass(frozen=True, slots=True)
class Proportion:
    """A count out of a total, with the Wilson interval of the share (0..1)."""

    count: int
    of: int
    value: float
    low: float
    high: float


def ordered(values: Sequence[float] | Values) -> Values:
    """Returns the values sorted, as the functions below require."""
    return np.sort(np.asarray(values, np.float32))


def spread(values: Values) -> Spread | None:
    """Returns the distribution of sorted values; None if there are none."""
    if not values.size:
        return None
    return Spread(
        int(values.size), {percent: estimate(values, percent) for percent in PERCENTS}, round(float(values[-1]), 3)
    )


def estimate(values: Values, percent: int) -> IntervalEstimate:
    """Returns a percentile of sorted values with its bootstrap interval. Raises ValueError for no values."""
    low, high = _bounds(replicates(values, percent, SEED))
    return IntervalEstimate(round(percentile(values, percent), 3), low, high, values.size >= min_turns(percent))


def percentile(values: Values, percent: int) -> float:
    """Returns the nearest-rank percentile of sorted values. Raises ValueError for no values."""
    return float(values[_rank(values, percent) - 1])


def difference(before: Values, after: Values, percent: int) -> IntervalEstimate:
    """Returns the difference `after` - `before` at one percentile of both. Raises ValueError for no values."""
    enough = min(before.size, after.size) >= min_turns(percent)
    low, high = _bounds(replicates(after, percent, SEED) - replicates(before, percent, SEED + 1))
    return IntervalEstimate(round(percentile(after, percent) - percentile(before, percent), 3), low, high, enough)


def replicates(values: Values, percent: int, seed: int) -> Values:
    """Returns REPLICATES bootstrap draws of a percentile of the sorted values."""
    rank, count = _rank(values, percent), values.size
    uniform = np.random.default_rng(seed).beta(rank, count - rank + 1, REPLICATES)
    places = np.clip(np.ceil(uniform * count).astype(np.int64) - 1, 0, count - 1)
    drawn: Values = values[places]
    return drawn


def min_turns(percent: int) -> int:
    """Returns how many values are needed for an upper bound of this percentile.

    With so many, the largest value exceeds the true percentile with probability LEVEL: 5 for the median, 29 for p90, 59
    for
    p95, 299 for p99.
    """
    return ceil(log(1 - LEVEL) / log(percent / 100))


def share(count: int, of: int) -> Proportion | None:
    """Returns `count` out of `of`; None if `of` is zero."""
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
