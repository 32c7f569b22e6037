"""Traces on disk: one line per finished turn, written aside so that no turn waits for a disk."""

import asyncio
import os
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from assistant.record import TurnRecord
from assistant.trace_folder import KEEP_ALL, Limits, tidy

MOST_WAITING = 1000
"""Records kept while the disk is slow or full: hours of conversation. Then the oldest are dropped, and counted."""

LAST_WRITE_TIMEOUT_S = 5.0


class TraceFile:
    """Appends records to one file per conversation. Lives on the event loop; the disk is touched in a thread.

    Attributes:
        path: The file; made with its first record.
        dropped: Records lost because the disk could not keep up.
    """

    def __init__(self, directory: Path, name: str, complain: Callable[[str], None], limits: Limits = KEEP_ALL) -> None:
        """A trace file `directory`/`name`.jsonl; `complain` hears one sentence when the disk fails.

        With its first record, traces beyond `limits` are removed from `directory`.
        """
        self.path = directory / f"{name}.jsonl"
        self.dropped = 0
        self._complain = complain
        self._complained = False
        self._limits = limits
        self._tidied = limits == KEEP_ALL
        self._waiting: deque[str] = deque()
        self._written: list[str] = []
        self._writing: asyncio.Future[None] | None = None
        self._came = asyncio.Event()

    def put(self, record: TurnRecord) -> None:
        """Have a record written; never blocks."""
        if len(self._waiting) >= MOST_WAITING:
            self._waiting.popleft()
            self.dropped += 1
        self._waiting.append(record.to_json())
        self._came.set()

    async def run(self) -> None:
        """The writer's task: writes what comes until it is cancelled, and then what is left."""
        try:
            while True:
                await self._came.wait()
                self._came.clear()
                if error := await self._write():
                    self._say(
                        f"{self.path} cannot be written ({error}); traces wait in memory. "
                        "Check trace.dir and the free space."
                    )
                    await asyncio.sleep(1.0)  # a full disk: try again with the next record, or in a second
                    self._came.set()
                    continue
                self._complained = False
        finally:
            await self._write_the_rest()

    async def _write_the_rest(self) -> None:
        """Also what the thread is at. What is lost is said."""
        error = "the disk did not answer"
        with suppress(TimeoutError):
            async with asyncio.timeout(LAST_WRITE_TIMEOUT_S):
                if self._writing is not None:
                    await self._write()
                if self._waiting:
                    error = await self._write()
        if lost := len(self._written) + len(self._waiting):
            turns = "a turn is" if lost == 1 else f"{lost} turns are"
            self._complain(f"{self.path}: {error}; {turns} not in the trace.")

    async def _write(self) -> str:
        """Write what waits, or see what becomes of what is being written; says what is wrong.

        Cancelled, the thread goes on: it cannot be stopped, and what it writes must not be written again.
        """
        if self._writing is None:
            self._written = list(self._waiting)
            self._waiting.clear()
            self._writing = asyncio.get_running_loop().run_in_executor(None, _append, self.path, self._written)
        await asyncio.wait([self._writing])
        writing, lines = self._writing, self._written
        self._writing, self._written = None, []
        try:
            writing.result()
        except OSError as error:
            self._waiting.extendleft(reversed(lines))
            return error.strerror or repr(error)
        if not self._tidied:
            self._tidied = True
            await self._tidy()
        return ""

    async def _tidy(self) -> None:
        now_s = datetime.now(UTC).timestamp()
        try:
            # As with writing, the thread goes on if nobody waits any longer.
            await asyncio.get_running_loop().run_in_executor(None, tidy, self.path, self._limits, now_s)
        except OSError as error:
            self._say(f"{self.path.parent}: old traces cannot be removed ({error.strerror or error}).")

    def _say(self, what: str) -> None:
        if not self._complained:
            self._complained = True
            self._complain(what)


def _append(path: Path, lines: list[str]) -> None:
    """Add whole lines, or nothing. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    left = memoryview("".join(f"{line}\n" for line in lines).encode())
    with path.open("ab", buffering=0) as file:  # a buffer would write what is left in it when it is closed
        whole = file.tell()
        try:
            while left:
                left = left[file.write(left) :]
            os.fsync(file.fileno())
        except OSError:
            file.truncate(whole)  # a full disk takes half a line
            raise
