"""Measures how long something takes, and for how much of that time the machine was free.

"Within 100 ms" is meaningful only while processors are available. Linux counts the time in which anything waited for a
processor, and the time in which a virtual machine's processors were taken away. Only the rest of the time counts. On an
idle machine that is nearly everything. On an overloaded one it is almost nothing, so that limits rarely fail.

Limits of processor time assume a reference machine (`slowness`). On a slower one, or with contention for the caches,
the same work takes proportionally longer.
"""

import os
import statistics
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_PRESSURE = Path("/proc/pressure/cpu")
_STAT = Path("/proc/stat")
_OWN = Path("/proc/self/schedstat")


@dataclass(frozen=True, slots=True)
class Duration:
    """A span of time.

    Attributes:
        elapsed_s: Total time.
        undisturbed_s: Time in which nothing waited for a processor.
    """

    elapsed_s: float
    undisturbed_s: float


class Stopwatch:
    """Runs from its creation."""

    def __init__(self) -> None:
        self._began_s, self._contention_s = time.monotonic(), contention_s()

    @property
    def duration(self) -> Duration:
        """Returns the time since the start."""
        elapsed_s = time.monotonic() - self._began_s
        return Duration(elapsed_s, max(0.0, elapsed_s - (contention_s() - self._contention_s)))

    @property
    def undisturbed_s(self) -> float:
        """Returns the time since the start in which a processor was free."""
        return self.duration.undisturbed_s


_STEPS, _STEPS_S = 100_000, 0.004
"""Reference time for this many steps of `walk`: 40 ns per step, as Python 3.11 takes at about 3 GHz."""


def contention_s() -> float:
    """Returns the total seconds in which anything on this machine waited for a processor.

    If the system does not count them: those of this process's first thread; if not even those: 0.
    """
    with suppress(OSError):  # present, but switched off
        some = _PRESSURE.read_text().splitlines()[0]
        return float(some.rsplit("total=", 1)[1]) / 1e6 + stolen_s()
    with suppress(OSError):
        return float(_OWN.read_text().split()[1]) / 1e9
    return 0.0


def stolen_s() -> float:
    """Returns the total seconds in which a processor of this virtual machine was taken away, on average."""
    total = _STAT.read_text().split("\n", 1)[0].split()
    return float(total[8]) / os.sysconf("SC_CLK_TCK") / (os.cpu_count() or 1)


def slowness(walks_s: Sequence[float] = ()) -> float:
    """Returns how many times longer than on the reference machine the same work takes; under 1 on a faster one.

    `walks_s`: times of `walk` taken during the measured work; if empty, it is run now.
    """
    return statistics.median(walks_s or [walk() for _ in range(15)]) / _STEPS_S


def walk() -> float:
    """Returns the processor time of a fixed piece of work."""
    began_s, total = time.thread_time(), 0
    for step in range(_STEPS):
        total += step
    return time.thread_time() - began_s
