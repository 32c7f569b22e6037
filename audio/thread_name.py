"""A thread's name for the system's own tools (`top -H`), which Python itself tells it only from 3.14 on."""

import contextlib
import threading
from collections.abc import Generator
from pathlib import Path


@contextlib.contextmanager
def thread_named(name: str) -> Generator[None]:
    """Until the end of the block the system calls this thread so, and for good those that a library begins in it.

    Where there is no /proc, nothing happens. The system keeps 15 letters.
    """
    place = Path(f"/proc/self/task/{threading.get_native_id()}/comm")
    before = None
    with contextlib.suppress(OSError):
        before = place.read_text()
        place.write_text(name)
    try:
        yield
    finally:
        if before is not None:
            with contextlib.suppress(OSError):
                place.write_text(before)
