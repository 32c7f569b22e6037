"""Daemon threads that are inside a library of C++, which a program that ends waits for.

They are daemons because a library that hangs must not keep the process from ending. But a daemon that wants the
interpreter's lock back while the interpreter is taken apart is ended by it, which C++ takes for a failure: it aborts
the process (SIGABRT), and the program's own exit status is lost.
"""

import atexit
import os
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager

LIMIT_S = 5.0
"""Longer than it takes to load any model but the largest, or any other from a slow disk."""

_threads: set[threading.Thread] = set()


@contextmanager
def at_work() -> Generator[None]:
    """What this thread does here is waited for where the program ends meanwhile."""
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
    except KeyboardInterrupt:  # once more: at once
        os._exit(130)
