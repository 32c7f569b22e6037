"""Computes the figures of the speaker bench, with intervals over speakers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

RESAMPLES = 2000


@dataclass(frozen=True, slots=True)
class Share:
    """A share of events.

    Attributes:
        value: The share, 0..1.
        low: Lower end of the 95 % interval, by bootstrap over speakers.
        high: Its upper end.
        count: The number of cases.
    """

    value: float
    low: float
    high: float
    count: int

    def __str__(self) -> str:
        return f"{100 * self.value:.1f} % ({100 * self.low:.1f}-{100 * self.high:.1f}; n {self.count})"


def share(by_speaker: Mapping[str, Sequence[int]]) -> Share:
    """Returns the share of cases that are not zero."""
    hits = np.array([sum(map(bool, cases)) for cases in by_speaker.values()], np.float64)
    counts = np.array([len(cases) for cases in by_speaker.values()], np.float64)
    if not counts.sum():
        return Share(float("nan"), float("nan"), float("nan"), 0)
    drawn = np.random.default_rng(0).integers(0, len(hits), (RESAMPLES, len(hits)))
    shares = hits[drawn].sum(1) / np.maximum(counts[drawn].sum(1), 1)
    low, high = np.quantile(shares, [0.025, 0.975])
    count = int(counts.sum())
    if not hits.sum():
        high = 1 - 0.05 ** (1 / count)  # without an event the bootstrap has no width: an exact bound
    return Share(float(hits.sum() / counts.sum()), float(low), float(high), count)


def reduction(before: Mapping[str, Sequence[int]], after: Mapping[str, Sequence[int]]) -> Share:
    """Returns by how much the number falls, relative to before. Cases of a speaker are resampled together."""
    speakers = list(before)
    b = np.array([sum(before[name]) for name in speakers], np.float64)
    a = np.array([sum(after[name]) for name in speakers], np.float64)
    drawn = np.random.default_rng(0).integers(0, len(speakers), (RESAMPLES, len(speakers)))
    falls = 1 - a[drawn].sum(1) / np.maximum(b[drawn].sum(1), 1)
    low, high = np.quantile(falls, [0.025, 0.975])
    return Share(float(1 - a.sum() / max(b.sum(), 1)), float(low), float(high), int(b.sum()))


def equal_error_rate(same: Sequence[float], others: Sequence[float]) -> tuple[float, float]:
    """Returns the equal error rate of similarities, and the similarity at which it is."""
    one, two = np.sort(np.asarray(same)), np.sort(np.asarray(others))
    limits: npt.NDArray[np.float64] = np.concatenate([one, two])
    misses = np.searchsorted(one, limits) / len(one)
    alarms = 1 - np.searchsorted(two, limits) / len(two)
    best = int(np.argmin(np.abs(misses - alarms)))
    return float((misses[best] + alarms[best]) / 2), float(limits[best])
