"""A thread's name for the system's own tools (`top -H`), which Python itself tells it only from 3.14 on."""

import contextlib
import threading
from pathlib import Path


def name_this_thread() -> None:
    """Tell the system what this thread is called; threads that a library begins in it are called so, too.

    Where there is no /proc, nothing happens. The system keeps 15 letters.
    """
    with contextlib.suppress(OSError):
        Path(f"/proc/self/task/{threading.get_native_id()}/comm").write_text(threading.current_thread().name)
