"""Makes the program's exit wait for daemon threads that are inside a C++ library.

They are daemons so that a hanging library does not keep the process from ending. But the interpreter ends a daemon
thread that requests the GIL during shutdown. C++ code treats that as a failure and aborts the process (SIGABRT), and
the exit status is lost.
"""

import atexit
import os
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager

LIMIT_S = 5.0
"""Longest wait at exit, in seconds: enough to load any model except the largest or one on a slow disk."""

_threads: set[threading.Thread] = set()


@contextmanager
def at_work() -> Generator[None]:
    """Makes an exit of the program wait until the block ends in this thread."""
    thread = threading.current_thread()
    _threads.add(thread)
    try:
        yield
    finally:
        _threads.discard(thread)


@atexit.register
def _wait() -> None:
    until_s = time.monotonic() + LIMIT_S
    try:
        while _threads and time.monotonic() < until_s:
            time.sleep(0.01)
    except KeyboardInterrupt:  # a second Ctrl-C ends at once
        os._exit(130)
