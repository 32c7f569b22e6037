"""How long something took, and how much of that the machine was free for it.

"Within 100 ms" says something about the program only while a processor is there for whoever wants one. Linux counts the
time in which anything on the machine had to wait for a processor; what is left is judged. On an idle machine that is
nearly all of the time, on a crowded one next to nothing: there a limit says little, and fails nobody.
"""

import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_PRESSURE = Path("/proc/pressure/cpu")
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


def crowded_s() -> float:
    """Seconds since some beginning in which anything on this machine waited for a processor.

    Where the system does not say: in which this process's first thread did; where it says nothing at all, 0.
    """
    with suppress(OSError):  # there, but switched off
        some = _PRESSURE.read_text().splitlines()[0]
        return float(some.rsplit("total=", 1)[1]) / 1e6
    with suppress(OSError):
        return float(_OWN.read_text().split()[1]) / 1e9
    return 0.0
