"""Measures how busy the machine is: processors that this program and others use, and how many threads want one.

It measures only. `audio/degradation.py` decides what a busy machine changes.
"""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

SHORTEST_S = 1.0
"""Shortest time between two measurements. The counters of the system move in steps of 10 ms."""

_PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class MachineLoad:
    """The load of the machine since the measurement before.

    Attributes:
        processors: Processors that this program may use.
        own: Processors that this process used on average, without its child processes.
        others: Processors that all other processes used on average.
        runnable: Threads of all programs that run or wait for a processor, at this moment.
        waiting: Share of the time in which a thread waited for a processor, 0..1; None: the system does not say.
    """

    processors: int
    own: float
    others: float
    runnable: int
    waiting: float | None = None

    @property
    def busy(self) -> bool:
        """Whether threads must wait because other programs compute: the engines are slow and not defective."""
        return self.others > self.processors / 4 and self.own + self.others > 0.9 * self.processors

    @property
    def text(self) -> str:
        """The load in words: "other programs use 1.8 of 2 processors"."""
        return f"other programs use {self.others:.1f} of {self.processors} processors"


class LoadReader(Protocol):
    """Reads the load of the machine."""

    def read(self) -> MachineLoad | None:
        """Returns the load; None: unknown. Never raises and never waits."""
        ...


class MachineLoadReader:
    """Reads the load from /proc; unknown on systems other than Linux.

    Takes 0.1 ms, and nothing within `SHORTEST_S` of the last measurement, which is then returned again.
    """

    def __init__(self, proc: Path = _PROC, clock: Callable[[], float] = time.monotonic) -> None:
        """Takes the first counters. `clock`: in seconds."""
        self._proc = proc
        self._clock = clock
        self._load: MachineLoad | None = None
        self._counters = self._read_counters()

    def read(self) -> MachineLoad | None:
        """See `LoadReader`. None also within `SHORTEST_S` of the beginning."""
        before = self._counters
        if before is not None and self._clock() - before.at_s < SHORTEST_S:
            return self._load
        self._counters = now = self._read_counters()
        self._load = None if before is None or now is None else _load(before, now)
        return self._load

    def _read_counters(self) -> "_Counters | None":
        try:
            hz = os.sysconf("SC_CLK_TCK")
            lines = (self._proc / "stat").read_text(encoding="ascii").splitlines()
            user, nice, system, _idle, _io_wait, irq, soft_irq, *_ = map(int, lines[0].split()[1:])
            runnable = next(int(line.split()[1]) for line in lines if line.startswith("procs_running"))
            fields = (self._proc / "self" / "stat").read_text(errors="replace").rpartition(")")[2].split()
            own = int(fields[11]) + int(fields[12])
        except (OSError, ValueError, IndexError, AttributeError, StopIteration):
            return None
        whole = user + nice + system + irq + soft_irq
        return _Counters(self._clock(), own / hz, whole / hz, runnable, self._waited_s())

    def _waited_s(self) -> float | None:
        try:
            some = (self._proc / "pressure" / "cpu").read_text(encoding="ascii").splitlines()[0]
            return int(some.rpartition("total=")[2]) / 1e6
        except (OSError, ValueError, IndexError):
            return None


@dataclass(frozen=True, slots=True)
class _Counters:
    """Processor time of this process and of all, and the time in which a thread waited, since the start, in seconds."""

    at_s: float
    own_s: float
    whole_s: float
    runnable: int
    waited_s: float | None


def _load(before: _Counters, now: _Counters) -> MachineLoad:
    passed_s = max(now.at_s - before.at_s, 1e-6)
    own = max(0.0, now.own_s - before.own_s) / passed_s
    whole = max(0.0, now.whole_s - before.whole_s) / passed_s
    waiting = None
    if before.waited_s is not None and now.waited_s is not None:
        waiting = min(1.0, max(0.0, now.waited_s - before.waited_s) / passed_s)
    # This thread is itself runnable while it reads.
    return MachineLoad(_processors(), own, max(0.0, whole - own), max(0, now.runnable - 1), waiting)


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
