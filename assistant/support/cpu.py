"""Counts the usable cores and divides them among the engines."""

import os
from dataclasses import dataclass
from pathlib import Path

BUSY_LOAD = 0.5
"""Load per core from which other programs slow decodes down even if these get a core: cores may share their units."""


@dataclass(frozen=True, slots=True)
class Cores:
    """Processor cores available to this process.

    Attributes:
        usable: Cores in the process's affinity mask.
        quota: CPU limit of the container in cores; None if unlimited.
    """

    usable: int
    quota: float | None

    @property
    def whole(self) -> int:
        """Number of threads that can run at the same time."""
        return self.usable if self.quota is None else max(1, min(self.usable, round(self.quota)))


def cores() -> Cores:
    """Returns the cores according to the operating system."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        allowed, period = Path("/sys/fs/cgroup/cpu.max").read_text(encoding="ascii").split()
        return Cores(usable, None if allowed == "max" else float(allowed) / float(period))
    except (OSError, ValueError):
        return Cores(usable, None)


def is_busy() -> bool:
    """Returns whether other programs kept the processor busy in the last minute; False if it is unknown."""
    try:
        return os.getloadavg()[0] > BUSY_LOAD * cores().whole
    except (AttributeError, OSError):
        return False


def half_of_cores(cores: Cores) -> int:
    """Returns the threads for a language model on this machine: half of the cores.

    The speech engines keep the others. With all cores, the first token took six times as long during a decode
    (docs/lab/local-model.md).
    """
    return max(1, cores.whole // 2)


def engine_threads(threads: int, cores: Cores, most: int) -> int:
    """Returns the threads for a speech engine that can use `most`. `threads` 0: half of the cores.

    Other work runs while the end of a turn is decoded: the EOT estimate, the LLM request and the audio input. On two
    cores, two threads were slower (docs/lab/experiments.md).
    """
    return threads if threads and most > 1 else max(1, min(most, cores.whole // 2))
