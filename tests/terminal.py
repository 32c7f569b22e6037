"""A pseudo-terminal with a program in it."""

import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path


class Terminal:
    """A program in a pseudo-terminal, and all of its output."""

    def __init__(self, command: Sequence[str | Path], environ: Mapping[str, str], folder: Path) -> None:
        import fcntl  # noqa: PLC0415 - not on every system
        import pty  # noqa: PLC0415
        import struct  # noqa: PLC0415
        import termios  # noqa: PLC0415

        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 20, 120, 0, 0))
        self.process = subprocess.Popen(
            command, stdin=theirs, stdout=theirs, stderr=theirs, env=environ, cwd=folder, start_new_session=True
        )
        os.close(theirs)
        os.set_blocking(self._ours, False)
        self.wrote = b""

    def until(self, text: bytes, within_s: float = 40.0) -> None:
        deadline_s = time.monotonic() + within_s
        while text not in self.wrote:
            assert time.monotonic() < deadline_s, self.wrote[-2000:]
            self.read()

    def read(self) -> bool:
        """Reads available output. Returns False at the end."""
        time.sleep(0.01)
        try:
            more = os.read(self._ours, 1 << 16)
        except BlockingIOError:
            return True
        except OSError:  # no process has it open any more
            return False
        self.wrote += more
        return bool(more)

    def press(self, keys: bytes) -> None:
        os.write(self._ours, keys)

    def end(self) -> int:
        deadline_s = time.monotonic() + 10
        while self.read() and self.process.poll() is None:
            assert time.monotonic() < deadline_s
        while self.read() and time.monotonic() < deadline_s:
            continue
        return self.process.wait(5)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._ours)
