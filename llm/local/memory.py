"""Memory that this machine has free for a model."""

import os
import sys
from pathlib import Path

MEMINFO = Path("/proc/meminfo")
CONTAINER = Path("/sys/fs/cgroup")


def available_bytes() -> int | None:
    """Returns the free memory, within the limit of a container; None if the system does not tell."""
    known = [free_bytes for free_bytes in (_of_system(), _of_container()) if free_bytes is not None]
    return min(known, default=None)


def _of_system() -> int | None:
    try:
        for line in MEMINFO.read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    if sys.platform == "win32":
        return _of_windows()
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return None


def _of_container() -> int | None:
    """Returns what a container's limit leaves. Its files in memory can be given up, so they do not count."""
    try:
        limit = (CONTAINER / "memory.max").read_text(encoding="ascii").strip()
        used = int((CONTAINER / "memory.current").read_text(encoding="ascii"))
        lines = (CONTAINER / "memory.stat").read_text(encoding="ascii").splitlines()
        files = next((int(line.split()[1]) for line in lines if line.startswith("inactive_file ")), 0)
        return None if limit == "max" else max(0, int(limit) - used + files)
    except (OSError, ValueError, IndexError):
        return None


def _of_windows() -> int | None:
    import ctypes  # noqa: PLC0415 - only there

    class Status(ctypes.Structure):
        _fields_ = (
            ("length", ctypes.c_ulong),
            ("load", ctypes.c_ulong),
            *((name, ctypes.c_ulonglong) for name in ("total", "free", "pages", "free_pages", "space", "free_space")),
            ("extended", ctypes.c_ulonglong),
        )

    status = Status()
    status.length = ctypes.sizeof(Status)
    kernel = getattr(ctypes, "windll").kernel32  # noqa: B009 - unknown to type checkers elsewhere
    return int(status.free) if kernel.GlobalMemoryStatusEx(ctypes.byref(status)) else None
