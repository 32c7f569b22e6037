"""Lines in and out without making a conversation wait: a terminal or a pipe may stall, and a file cannot be awaited.

Threads do the waiting, as daemons: one that is stuck in a pipe must not keep the program alive. They work on every
system, where readiness of a console or a pipe does not.
"""

import asyncio
import os
import queue
import sys
import threading
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from typing import TextIO

MOST_LINES = 1000
"""That wait to be written; more are left out and counted: whoever does not read must not hold up a conversation."""

MOST_TYPED = 16
"""Lines that were read and not yet taken; the rest stays in the pipe."""

LINE_CHARS = 2000
"""The longest line that is read; what is longer is left out as a whole."""

CLOSING_S = 1.0
"""For the last lines."""


class LineWriter:
    """Writes lines in a thread of its own. Made on the event loop.

    Attributes:
        left_out: How many lines were not written because nobody read.
    """

    def __init__(self, file: TextIO, gone: Callable[[], None]) -> None:
        """Write to `file`; `gone` is called on the event loop once nobody reads any more."""
        self.left_out = 0
        self._file = file
        self._gone = gone
        self._loop = asyncio.get_running_loop()
        self._lines: queue.Queue[str | None] = queue.Queue(MOST_LINES)
        self._thread = threading.Thread(target=self._write, name="lines out", daemon=True)
        self._thread.start()

    def write(self, text: str) -> None:
        """Write a line, or several."""
        try:
            self._lines.put_nowait(text)
        except queue.Full:
            self.left_out += 1

    async def aclose(self) -> None:
        """Write what is left, within a second."""
        if self._thread.is_alive():
            try:
                self._lines.put_nowait(None)
            except queue.Full:
                return  # it is stuck: nobody reads
            await asyncio.to_thread(self._thread.join, CLOSING_S)

    def _write(self) -> None:
        encoding = self._file.encoding or "utf-8"
        try:
            while (text := self._lines.get()) is not None:
                # A terminal that cannot show a character shows another one; no words may end a conversation.
                self._file.write(text.encode(encoding, "replace").decode(encoding, "replace") + "\n")
                self._file.flush()
        except (OSError, ValueError):
            self._let_go()

    def _let_go(self) -> None:
        with suppress(OSError, ValueError):
            # Else the interpreter complains of the same pipe once more when it ends.
            os.dup2(os.open(os.devnull, os.O_WRONLY), self._file.fileno())
        with suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._gone)


def standard_input() -> TextIO | None:
    """A reader of its own on standard input, None where there is none.

    Not `sys.stdin`: a thread that waits in it holds its lock, and the interpreter, ending, would want it.
    """
    if sys.stdin is None or sys.stdin.closed:
        return None
    try:
        return open(sys.stdin.fileno(), encoding=sys.stdin.encoding, errors="replace", closefd=False)
    except (OSError, ValueError):
        return None


async def lines_of(file: TextIO) -> AsyncGenerator[str]:
    """The lines of a file as they come, stripped. Ends with the file."""
    loop = asyncio.get_running_loop()
    lines: asyncio.Queue[str | None] = asyncio.Queue()  # bounded by the permits
    permits = threading.BoundedSemaphore(MOST_TYPED)

    def read() -> None:
        while True:
            line = _next_line(file)
            permits.acquire()
            try:
                loop.call_soon_threadsafe(lines.put_nowait, line)
            except RuntimeError:  # the loop has ended
                return
            if line is None:
                return

    threading.Thread(target=read, name="lines in", daemon=True).start()
    while (line := await lines.get()) is not None:
        permits.release()
        if line:
            yield line


def _next_line(file: TextIO) -> str | None:
    """None at the end; "" for a line that is too long."""
    try:
        line = file.readline(LINE_CHARS)
        if len(line) < LINE_CHARS or line.endswith("\n"):
            return line.strip() if line else None
        while (rest := file.readline(LINE_CHARS)) and not rest.endswith("\n"):
            pass
    except (OSError, ValueError):
        return None
    return ""
