"""Writes log lines from a thread, so that a slow output never stops the event loop.

The output may be a pipe that nobody reads any more, or a file on a disk that is full or hangs.
"""

import logging
import queue
import sys
import threading
import time
from io import RawIOBase
from typing import TextIO, cast

MAX_LINES = 1000
"""Lines that wait for the output. Beyond it new ones are dropped and counted."""

LAST_LINES_S = 1.0
"""Time for the waiting lines at the end of the process, in seconds."""

BLOCKED_S = 0.02
"""Wait in seconds before an output that does not block is tried again."""

LOST = "repartee: {count} log lines were lost, because the output did not take them"


class LogWriter(logging.Handler):
    """Formats records where they are logged, and writes them in its own thread, which the first record starts."""

    def __init__(self, stream: TextIO | None = None) -> None:
        """`stream`: the output; None: standard error."""
        super().__init__()
        stream = stream or sys.stderr
        # Unbuffered: what a buffer holds when the disk is full would be counted as lost, and written later.
        self._output = cast("RawIOBase", getattr(stream.buffer, "raw", stream.buffer))
        self._encoding = stream.encoding or "utf-8"
        self._broken_line = False  # the last line was written in part
        self._lines: queue.Queue[str] = queue.Queue(MAX_LINES)
        self._lost = 0
        self._all_written = threading.Event()
        self._all_written.set()
        self._thread: threading.Thread | None = None
        self._guard = threading.Lock()  # of the count, and of the end

    def emit(self, record: logging.LogRecord) -> None:
        """Queues the record's line, or counts it as lost. Never blocks; the caller holds the handler's lock."""
        try:
            line = self.format(record)
        except Exception:  # noqa: BLE001 - as every handler does
            self.handleError(record)
            return
        if self._thread is None:
            self._thread = threading.Thread(target=self._write_lines, name="log", daemon=True)
            self._thread.start()
        with self._guard:
            self._all_written.clear()
            try:
                self._lines.put_nowait(line)
            except queue.Full:
                self._lost += 1

    def flush(self) -> None:
        """Waits until everything is written, at most `LAST_LINES_S`."""
        self._all_written.wait(LAST_LINES_S)

    def _write_lines(self) -> None:
        while True:
            written = self._write(self._lines.get())
            with self._guard:
                self._lost += not written
                if not self._lines.empty():
                    continue
                lost = self._lost
            if lost and written and self._write(LOST.format(count=lost)):
                with self._guard:
                    self._lost -= lost
            with self._guard:
                if self._lines.empty():
                    self._all_written.set()

    def _write(self, line: str) -> bool:
        """Writes a line. Returns False if the output did not take all of it: the disk is full, or it was closed."""
        text = f"\n{line}\n" if self._broken_line else f"{line}\n"
        left = memoryview(text.encode(self._encoding, "backslashreplace"))
        whole = len(left)
        try:
            while left:
                taken = self._output.write(left)
                if taken is None:
                    time.sleep(BLOCKED_S)
                else:
                    left = left[taken:]
        except (OSError, ValueError):
            self._broken_line = self._broken_line or len(left) < whole
            return False
        self._broken_line = False
        return True
