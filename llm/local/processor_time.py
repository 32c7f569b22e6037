"""Reads from /proc whether a process computes or waits for a processor. Linux only."""

import os
from pathlib import Path

IDLE_SHARE = 0.01
"""Share of a processor below which a process does not compute."""

_PROC = Path("/proc")


def processor_s(pid: int, proc: Path = _PROC) -> float:
    """Returns the processor time of a process and its threads, in seconds; 0 if it is unknown."""
    try:
        fields = _fields(proc / str(pid))
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, AttributeError):
        return 0.0


def is_starved(pid: int, proc: Path = _PROC) -> bool:
    """Returns whether a thread of the process runs or waits for a processor; False if it is unknown."""
    try:
        threads = list((proc / str(pid) / "task").iterdir())
    except OSError:
        return False
    return any(_state(thread) == "R" for thread in threads)


def _state(thread: Path) -> str:
    try:
        return _fields(thread)[0]
    except (OSError, IndexError):
        return ""  # it has ended


def _fields(folder: Path) -> list[str]:
    return (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()
