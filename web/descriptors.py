"""File descriptors of this process: how many there may be and how many are left."""

from contextlib import suppress
from pathlib import Path

MOST = 65_536
"""A limit is raised to this at most: some programs that are started look at each descriptor up to the limit."""

_FOLDERS = (Path("/proc/self/fd"), Path("/dev/fd"))


def raise_limit() -> None:
    """Raise this process's own limit as far as the system permits; a desktop's is often 1024 or less."""
    with suppress(ImportError, ValueError, OSError):
        import resource  # noqa: PLC0415 - not on every system

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = MOST if hard == resource.RLIM_INFINITY else min(hard, MOST)
        if soft != resource.RLIM_INFINITY and soft < wanted:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def limit() -> int | None:
    """How many there may be; None: not known, or there is no limit."""
    with suppress(ImportError, ValueError, OSError):
        import resource  # noqa: PLC0415 - not on every system

        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        return None if soft == resource.RLIM_INFINITY else soft
    return None


def free() -> int | None:
    """How many are left; None: not known, or there is no limit. Microseconds for each that is open."""
    most = limit()
    if most is None:
        return None
    for folder in _FOLDERS:
        with suppress(OSError):
            return most - sum(1 for _ in folder.iterdir()) + 1  # the list itself takes one
    # Even the list cannot be opened: there is none left, where the folder is at all.
    return 0 if _FOLDERS[0].is_dir() else None
