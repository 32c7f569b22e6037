"""Reads and writes lines without blocking a conversation, because a terminal or pipe may stall.

Daemon threads do the blocking work: a thread stuck in a pipe must not keep the program alive. Unlike readiness
notification for consoles and pipes, threads work on every system.
"""

import asyncio
import os
import queue
import sys
import threading
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from typing import TextIO

from assistant.support.console import wrapped_for

MAX_LINES = 1000
"""Maximum number of lines queued for writing. Further lines are dropped and counted, so that a stalled reader causes no
delay."""

MAX_TYPED = 16
"""Maximum number of lines read in advance; the rest stays in the pipe."""

LINE_CHARS = 2000
"""Longest line that is read, in characters; longer lines are dropped."""

CLOSE_TIMEOUT_S = 1.0
"""Seconds to write the last lines."""


class LineWriter:
    """Writes lines in its own thread. Created on the event loop.

    Attributes:
        left_out: Number of lines dropped because the reader was too slow.
    """

    def __init__(self, file: TextIO, gone: Callable[[], None]) -> None:
        """Writes to `file`; `gone` is called on the event loop when the reader has closed the output."""
        self.left_out = 0
        self._file = file
        self._gone = gone
        self._loop = asyncio.get_running_loop()
        self._lines: queue.Queue[str | None] = queue.Queue(MAX_LINES)
        self._thread = threading.Thread(target=self._write, name="lines out", daemon=True)
        self._thread.start()

    def write(self, text: str) -> None:
        """Writes one or more lines."""
        try:
            self._lines.put_nowait(text)
        except queue.Full:
            self.left_out += 1

    async def aclose(self) -> None:
        """Writes the remaining lines, within a second."""
        if self._thread.is_alive():
            try:
                self._lines.put_nowait(None)
            except queue.Full:
                return  # blocked: the output is not read
            await asyncio.to_thread(self._thread.join, CLOSE_TIMEOUT_S)

    def _write(self) -> None:
        encoding = self._file.encoding or "utf-8"
        try:
            while (text := self._lines.get()) is not None:
                text = "\n".join(wrapped_for(self._file, line) for line in text.split("\n"))
                # Characters outside the encoding are replaced, so that no text can end the conversation.
                self._file.write(text.encode(encoding, "replace").decode(encoding, "replace") + "\n")
                self._file.flush()
        except (OSError, ValueError):
            self._discard_output()

    def _discard_output(self) -> None:
        with suppress(OSError, ValueError):
            # Otherwise the interpreter reports an error for the same pipe at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), self._file.fileno())
        with suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._gone)


def standard_input() -> TextIO | None:
    """Opens a separate reader on standard input; None if there is none.

    Not `sys.stdin`: a thread waiting in it holds its lock, which the interpreter needs at exit.
    """
    if sys.stdin is None or sys.stdin.closed:
        return None
    try:
        return open(sys.stdin.fileno(), encoding=sys.stdin.encoding, errors="replace", closefd=False)
    except (OSError, ValueError):
        return None


async def lines_of(file: TextIO) -> AsyncGenerator[str]:
    """Yields the lines of a file as they arrive, stripped, until its end; "" for a line that is empty or too long."""
    loop = asyncio.get_running_loop()
    lines: asyncio.Queue[str | None] = asyncio.Queue()  # limited by the permits
    permits = threading.BoundedSemaphore(MAX_TYPED)

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
        yield line


def _next_line(file: TextIO) -> str | None:
    """Returns the next line; None at the end, "" for a line that is too long."""
    try:
        line = file.readline(LINE_CHARS)
        if len(line) < LINE_CHARS or line.endswith("\n"):
            return line.strip() if line else None
        while (rest := file.readline(LINE_CHARS)) and not rest.endswith("\n"):
            pass
    except (OSError, ValueError):
        return None
    return ""
