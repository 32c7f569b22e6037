"""Entries on their way to a file, written aside so that no conversation waits for a disk."""

import asyncio
import errno
import os
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from pathlib import Path
from typing import Generic, TypeVar

MOST_WAITING = 1000
"""Entries kept while the disk is slow or full: hours of conversation. Then the oldest are given up, which is said."""

LAST_WRITE_TIMEOUT_S = 5.0
RETRY_S = 1.0

Entry = TypeVar("Entry")


class BackgroundWriter(Generic[Entry]):
    """What is to be written to one file. Lives on the event loop; the disk is touched in a thread.

    Attributes:
        dropped: Entries given up: too many waited, or they could not be written in the end.
    """

    def __init__(
        self,
        path: Path,
        write: Callable[[Sequence[Entry]], None],
        complain: Callable[[str], None],
        *,
        waits: str,
        lost: Callable[[int], str],
        count_lost: Callable[[int, str], None] | None = None,
        complain_lost: Callable[[str], None] | None = None,
        afterwards: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """Nothing is written yet.

        Args:
            path: For the sentences.
            write: Writes all or nothing, in a thread, one call at a time. Raises OSError.
            complain: Hears one sentence when the disk begins to fail, and one of whatever is lost.
            waits: What waits while it fails, and what to do; the end of the first sentence.
            lost: From the number of entries that could not be written in the end to the end of the last one.
            complain_lost: Hears the sentences about what is lost, in place of `complain`.
            count_lost: Told at once whenever entries are given up: how many, and why.
            afterwards: Awaited after whatever was written.
        """
        self.dropped = 0
        self._dropped_said = 0
        self._path = path
        self._write_all = write
        self._complain = complain
        self._complained = False
        self._waits, self._lost, self._afterwards = waits, lost, afterwards
        self._count_lost, self._complain_lost = count_lost, complain_lost or complain
        self._error = "the disk is too slow"  # or what it says
        self._waiting: deque[Entry] = deque()
        self._taken: tuple[Entry, ...] = ()
        self._writing: asyncio.Future[None] | None = None
        self._came = asyncio.Event()
        self._settled = asyncio.Event()
        self._settled.set()

    def put(self, entries: Iterable[Entry]) -> None:
        """Have entries written; never blocks."""
        self._waiting.extend(entries)
        if (too_many := len(self._waiting) - MOST_WAITING) > 0:
            for _ in range(too_many):
                self._waiting.popleft()
            self._lose(too_many, self._error)
        if self._waiting:
            self._settled.clear()
            self._came.set()

    async def settle(self) -> None:
        """Wait until everything is written; the caller brings the deadline, for a disk may stay full."""
        await self._settled.wait()

    async def run(self) -> None:
        """The writer's task: writes what comes until it is cancelled, and then what is left."""
        try:
            while True:
                await self._came.wait()
                self._came.clear()
                if error := await self._write():
                    self._error = error
                    if not self._complained:
                        self._complained = True
                        self._complain(f"{self._path} cannot be written ({error}); {self._waits}")
                    await asyncio.sleep(RETRY_S)
                    self._came.set()
        finally:
            await self._write_the_rest()

    async def _write_the_rest(self) -> None:
        """Also what the thread is at. What is lost is said."""
        error = "the disk did not answer"
        try:
            async with asyncio.timeout(LAST_WRITE_TIMEOUT_S):
                if self._writing is not None:
                    error = await self._write() or error
                if self._waiting:
                    error = await self._write() or error
        except TimeoutError:
            pass
        finally:  # also where whoever ends this has no more time
            unwritten = len(self._taken) + len(self._waiting)
            self._taken = ()
            self._waiting.clear()
            if unwritten:
                self._lose(unwritten, error)
            if lost := self.dropped - self._dropped_said:
                self._dropped_said = self.dropped
                self._complain_lost(f"{self._path}: {error}; {self._lost(lost)}")

    def _lose(self, count: int, why: str) -> None:
        self.dropped += count
        if self._count_lost is not None:
            self._count_lost(count, why)

    async def _write(self) -> str:
        """Write what waits, or see what becomes of what is being written; says what is wrong.

        Cancelled, the thread goes on: it cannot be stopped, and what it writes must not be written again.
        """
        if self._writing is None:
            self._taken = tuple(self._waiting)
            self._waiting.clear()
            self._writing = asyncio.get_running_loop().run_in_executor(None, self._write_all, self._taken)
        await asyncio.wait([self._writing])
        writing, taken = self._writing, self._taken
        self._writing, self._taken = None, ()
        try:
            writing.result()
        except OSError as error:
            self._waiting.extendleft(reversed(taken))
            return error.strerror or repr(error)
        self._complained = False
        if (lost := self.dropped - self._dropped_said) > 0:
            self._dropped_said = self.dropped
            lines = "a line is" if lost == 1 else f"{lost} lines are"
            self._complain_lost(f"{self._path}: the disk was full or too slow; {lines} lost.")
        if not self._waiting:
            self._settled.set()
        if self._afterwards is not None:
            await self._afterwards()
        return ""


def append_whole(file: int, content: bytes) -> None:
    """Add all of it to an open file, or nothing; it is on the disk then. Raises OSError."""
    whole = os.fstat(file).st_size
    left = memoryview(content)
    try:
        while left:
            left = left[os.write(file, left) :]
        os.fsync(file)
    except OSError:
        os.ftruncate(file, whole)  # a full disk takes half a line
        raise
    if not os.fstat(file).st_nlink:  # its name went while it was open: what was written goes with it
        raise FileNotFoundError(errno.ENOENT, "the file was removed while it was written")
