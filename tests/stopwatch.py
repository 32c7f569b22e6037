"""How long something took, and how much of that the machine was free for it.

"Within 100 ms" says something about the program only while a processor is there for whoever wants one. Linux counts the
time in which anything on the machine had to wait for a processor, and the time in which a virtual machine's processors
were with others; what is left is judged. On an idle machine that is nearly all of the time, on a crowded one next to
nothing: there a limit says little, and fails nobody.

Limits of processor time are set for a machine of a stated pace (`slowness`): with fewer hertz, or with neighbours in
its caches, the same work takes as many times longer.
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
class Took:
    """A span of time.

    Attributes:
        elapsed_s: All of it.
        undisturbed_s: Without the time in which anything had to wait for a processor.
    """

    elapsed_s: float
    undisturbed_s: float


class Stopwatch:
    """Runs from the moment it is made."""

    def __init__(self) -> None:
        self._began_s, self._crowded_s = time.monotonic(), crowded_s()

    @property
    def took(self) -> Took:
        """The time since."""
        elapsed_s = time.monotonic() - self._began_s
        return Took(elapsed_s, max(0.0, elapsed_s - (crowded_s() - self._crowded_s)))

    @property
    def undisturbed_s(self) -> float:
        """The time since in which a processor was free."""
        return self.took.undisturbed_s


_STEPS, _STEPS_S = 100_000, 0.004
"""So long may so many steps of `walk` take on the machines that the limits were set on: 40 ns for each, as Python 3.11
takes at some 3 GHz."""


def crowded_s() -> float:
    """Seconds since some beginning in which anything on this machine waited for a processor.

    Where the system does not say: in which this process's first thread did; where it says nothing at all, 0.
    """
    with suppress(OSError):  # there, but switched off
        some = _PRESSURE.read_text().splitlines()[0]
        return float(some.rsplit("total=", 1)[1]) / 1e6 + stolen_s()
    with suppress(OSError):
        return float(_OWN.read_text().split()[1]) / 1e9
    return 0.0


def stolen_s() -> float:
    """Seconds since some beginning in which a processor of this virtual machine was with another one, on average."""
    total = _STAT.read_text().split("\n", 1)[0].split()
    return float(total[8]) / os.sysconf("SC_CLK_TCK") / (os.cpu_count() or 1)


def slowness(walks_s: Sequence[float] = ()) -> float:
    """How many times as long as there the same work takes here and now; under 1 on a faster machine.

    `walks_s`: what `walk` took in the course of what is to be judged; none: it is walked now.
    """
    return statistics.median(walks_s or [walk() for _ in range(15)]) / _STEPS_S


def walk() -> float:
    """Processor time of a piece of work that is always the same."""
    began_s, total = time.thread_time(), 0
    for step in range(_STEPS):
        total += step
    return time.thread_time() - began_s
