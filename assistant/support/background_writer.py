"""Writes entries to a file in the background, so that no conversation waits for the disk."""

import asyncio
import errno
import os
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Generic, TypeVar

MAX_WAITING = 1000
"""Entries kept while the disk is slow or full: hours of conversation. Beyond it the oldest are dropped and reported."""

LAST_WRITE_TIMEOUT_S = 5.0
RETRY_S = 1.0

Entry = TypeVar("Entry")


class BackgroundWriter(Generic[Entry]):
    """Writes entries to one file. Not thread-safe: call it on the event loop; the disk is accessed in a thread.

    Attributes:
        dropped: Entries that were dropped: too many were queued, or they could not be written in the end.
    """

    def __init__(
        self,
        path: Path,
        write: Callable[[Sequence[Entry]], None],
        report_problem: Callable[[str], None],
        *,
        threads: Executor,
        waits: str,
        lost: Callable[[int], str],
        count_lost: Callable[[int, str], None] | None = None,
        report_lost: Callable[[str], None] | None = None,
        afterwards: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """Writes nothing yet.

        Args:
            path: Used in messages.
            write: Writes all entries or none, in a thread, one call at a time. Raises OSError.
            report_problem: Receives one message when the disk begins to fail, and one whenever entries are lost.
            threads: The threads of the disk, apart from those of asyncio.
            waits: End of the first message: what is pending while the disk fails, and what to do.
            lost: Returns the end of the last message for the number of entries that could not be written.
            report_lost: Receives the messages about lost entries instead of `report_problem`.
            count_lost: Called whenever entries are dropped, with their number and the reason.
            afterwards: Awaited after each successful write.
        """
        self.dropped = 0
        self._dropped_reported = 0
        self._path, self._threads = path, threads
        self._write_all = write
        self._report_failure = report_problem
        self._failure_reported = False
        self._pending_text, self._lost_text, self._after_write = waits, lost, afterwards
        self._count_lost, self._report_lost = count_lost, report_lost or report_problem
        self._error = "the disk is too slow"  # or the last error of the disk
        self._waiting: deque[Entry] = deque()
        self._in_flight: tuple[Entry, ...] = ()
        self._writing: asyncio.Future[None] | None = None
        self._wakeup = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()

    def queue_entries(self, entries: Iterable[Entry]) -> None:
        """Queues entries; never blocks."""
        self._waiting.extend(entries)
        if (too_many := len(self._waiting) - MAX_WAITING) > 0:
            for _ in range(too_many):
                self._waiting.popleft()
            self._drop(too_many, self._error)
        if self._waiting:
            self._idle.clear()
            self._wakeup.set()

    async def settle(self) -> None:
        """Waits until everything is written. The caller sets the deadline, because a disk may stay full."""
        await self._idle.wait()

    async def run(self) -> None:
        """Writes queued entries until cancelled, then writes the rest."""
        try:
            while True:
                await self._wakeup.wait()
                self._wakeup.clear()
                if error := await self._write():
                    self._error = error
                    if not self._failure_reported:
                        self._failure_reported = True
                        self._report_failure(f"{self._path} cannot be written ({error}); {self._pending_text}")
                    await asyncio.sleep(RETRY_S)
                    self._wakeup.set()
        finally:
            await self._flush()

    async def _flush(self) -> None:
        """Writes the remaining entries, including those being written. Reports what is lost."""
        error = "the disk did not answer"
        try:
            async with asyncio.timeout(LAST_WRITE_TIMEOUT_S):
                if self._writing is not None:
                    error = await self._write() or error
                if self._waiting:
                    error = await self._write() or error
        except TimeoutError:
            pass
        finally:  # also if this coroutine is cancelled
            unwritten = len(self._in_flight) + len(self._waiting)
            self._in_flight = ()
            self._waiting.clear()
            if unwritten:
                self._drop(unwritten, error)
            if lost := self.dropped - self._dropped_reported:
                self._dropped_reported = self.dropped
                self._report_lost(f"{self._path}: {error}; {self._lost_text(lost)}")

    def _drop(self, count: int, why: str) -> None:
        self.dropped += count
        if self._count_lost is not None:
            self._count_lost(count, why)

    async def _write(self) -> str:
        """Writes the queued entries, or awaits the write in progress. Returns the error text, "" on success.

        On cancellation the thread continues: it cannot be stopped, and its entries must not be written twice.
        """
        if self._writing is None:
            self._in_flight = tuple(self._waiting)
            self._waiting.clear()
            self._writing = asyncio.get_running_loop().run_in_executor(self._threads, self._write_all, self._in_flight)
        await asyncio.wait([self._writing])
        writing, taken = self._writing, self._in_flight
        self._writing, self._in_flight = None, ()
        try:
            writing.result()
        except OSError as error:
            self._waiting.extendleft(reversed(taken))
            return error.strerror or repr(error)
        self._failure_reported = False
        if (lost := self.dropped - self._dropped_reported) > 0:
            self._dropped_reported = self.dropped
            lines = "a line is" if lost == 1 else f"{lost} lines are"
            self._report_lost(f"{self._path}: the disk was full or too slow; {lines} lost.")
        if not self._waiting:
            self._idle.set()
        if self._after_write is not None:
            await self._after_write()
        return ""


def append_whole(file: int, content: bytes) -> None:
    """Appends all of `content` to an open file and syncs it, or appends nothing. Raises OSError."""
    whole = os.fstat(file).st_size
    left = memoryview(content)
    try:
        while left:
            left = left[os.write(file, left) :]
        os.fsync(file)
    except OSError:
        os.ftruncate(file, whole)  # a full disk may take part of a line
        raise
    if not os.fstat(file).st_nlink:  # the file was removed while it was open, so the content is lost
        raise FileNotFoundError(errno.ENOENT, "the file was removed while it was written")
