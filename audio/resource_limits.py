"""Limits what a process that reads the file of a stranger may use."""

import os
from contextlib import suppress


def limit_resources(memory_bytes: int, computing_s: int) -> None:
    """Limits memory and processor time of this process where the system can, and forbids to write files.

    It also gets a low priority.
    """
    with suppress(ImportError, AttributeError, OSError, ValueError):
        os.nice(10)
    try:
        import resource  # noqa: PLC0415 - not on every system
    except ImportError:
        return
    for what, most in (
        (resource.RLIMIT_AS, memory_bytes),
        (resource.RLIMIT_CPU, computing_s),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        with suppress(OSError, ValueError):  # the system may refuse one
            resource.setrlimit(what, (most, most))
