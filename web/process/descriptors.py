"""Reads and raises the limit on this process's file descriptors."""

from contextlib import suppress
from pathlib import Path

MAX_DESCRIPTORS = 65_536
"""The limit is raised to at most this. Some child processes loop over all descriptors up to the limit."""

_FOLDERS = (Path("/proc/self/fd"), Path("/dev/fd"))


def raise_limit() -> None:
    """Raises this process's limit as far as the system permits. On desktops it is often 1024 or less."""
    with suppress(ImportError, ValueError, OSError):
        import resource  # noqa: PLC0415 - not on every system

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        limit = MAX_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, MAX_DESCRIPTORS)
        if soft != resource.RLIM_INFINITY and soft < limit:
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))


def limit() -> int | None:
    """Returns the limit; None if it is unknown or unlimited."""
    with suppress(ImportError, ValueError, OSError):
        import resource  # noqa: PLC0415 - not on every system

        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        return None if soft == resource.RLIM_INFINITY else soft
    return None


def free() -> int | None:
    """Returns how many descriptors are left; None if unknown or unlimited. Takes microseconds for each open one."""
    most = limit()
    if most is None:
        return None
    for folder in _FOLDERS:
        with suppress(OSError):
            return most - sum(1 for _ in folder.iterdir()) + 1  # listing the folder uses one
    # The folder exists and cannot be opened: no descriptor is left.
    return 0 if _FOLDERS[0].is_dir() else None
