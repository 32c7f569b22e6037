"""Detects stalls of the machine: a separate process wakes a hundred times a second and counts late wake-ups.

A virtual machine whose processors are taken away for 50 ms empties every sound card buffer. Average load does not
show this.
"""

import mmap
import os
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

MIN_STALL_S = 0.02
"""Minimum length of a stall in seconds: one block of a sound card, half of its buffer."""

_INTERVAL_S = 0.01
_COUNT = struct.Struct("<q")


class StallMonitor:
    """Runs from its creation until `stop`, or until this process has ended."""

    def __init__(self) -> None:
        with tempfile.NamedTemporaryFile(delete=False) as file:
            file.write(_COUNT.pack(0))
        self._file = Path(file.name)
        # Started by path: the child needs no import settings of the tests.
        self._process = subprocess.Popen([sys.executable, __file__, file.name, str(os.getpid())])

    @property
    def stall_count(self) -> int:
        """Returns the number of stalls so far."""
        (count,) = _COUNT.unpack(self._file.read_bytes())
        return int(count)

    def stop(self) -> None:
        """Stops. Idempotent."""
        self._process.terminate()
        self._process.wait()
        self._file.unlink(missing_ok=True)


def _count_stalls(file: Path, parent: int) -> None:
    with file.open("r+b") as opened, mmap.mmap(opened.fileno(), _COUNT.size) as shared:
        count = 0
        while os.getppid() == parent:
            due_s = time.monotonic() + _INTERVAL_S
            time.sleep(_INTERVAL_S)
            if time.monotonic() - due_s > MIN_STALL_S:
                count += 1
                shared[:] = _COUNT.pack(count)


if __name__ == "__main__":
    _count_stalls(Path(sys.argv[1]), int(sys.argv[2]))
