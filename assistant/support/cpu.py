"""How many cores there are to compute on, and who gets how many of them."""

import os
from dataclasses import dataclass
from pathlib import Path

WHISPER_MOST = 4
PIPER_MOST = 2


@dataclass(frozen=True, slots=True)
class Cores:
    """What this process may compute on.

    Attributes:
        usable: Cores it is let run on.
        quota: Cores' worth of time that its container may use; None: all of them.
    """

    usable: int
    quota: float | None

    @property
    def whole(self) -> int:
        """Threads that can really run at once."""
        return self.usable if self.quota is None else max(1, min(self.usable, round(self.quota)))


def cores() -> Cores:
    """As the system says."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        allowed, period = Path("/sys/fs/cgroup/cpu.max").read_text(encoding="ascii").split()
        return Cores(usable, None if allowed == "max" else float(allowed) / float(period))
    except (OSError, ValueError):
        return Cores(usable, None)


def whisper_threads(wanted: int, found: Cores) -> int:
    """What faster-whisper computes with; `wanted` 0: half of the cores, `WHISPER_MOST` at most.

    While it decodes the end of a turn, the turn is judged, the model asked and the microphone heard: with a thread on
    each of two cores it took longer (docs/lab/experiments.md).
    """
    return wanted or max(1, min(WHISPER_MOST, found.whole // 2))


def piper_threads(wanted: int, found: Cores) -> int:
    """What Piper computes with; `wanted` 0: all cores, `PIPER_MOST` at most, for nothing else is waited for then."""
    return wanted or min(PIPER_MOST, found.whole)
