"""Sets a thread's name for system tools (`top -H`), which Python does only from 3.14 on."""

import contextlib
import threading
from collections.abc import Generator
from pathlib import Path


@contextlib.contextmanager
def thread_named(name: str) -> Generator[None]:
    """Sets the system's name of this thread for the block. Threads that a library starts in it keep the name.

    Does nothing without /proc. The system keeps 15 characters.
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
