"""Keeps the user's timers in their file while the program runs: writes changes, claims what is due, reads changes.

One task accesses the file, in a thread, so that no conversation waits for the disk.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from assistant.skills.timers.stored_timers import Pending
from assistant.skills.timers.timers import Alarm
from assistant.skills.timers.user_timers import SharedTimers
from assistant.storage.timer_file import Exchanged, TimerFile, TimerFileError
from assistant.support.disk_threads import CONVERSATION_THREADS
from assistant.support.notice import notice

READ_EVERY_S = 1.0
"""Interval at which changes of other processes are read."""

CALLS_WAIT_S = 10.0
"""Longest wait of a planned command for the file, which must not have it any more when it is made, in seconds. After it
the command is made, and perhaps again after a crash: a disk may stay full."""

LAST_WRITE_TIMEOUT_S = 5.0

FIRST_READ_TIMEOUT_S = 1.0
"""Longest wait for the first reading. A slow disk must not delay a conversation further."""


@dataclass(slots=True)
class TimerKeeper:
    """Connects the timers with their file. Run `run` as a task.

    Attributes:
        timers: The timers of all conversations.
        file: Their file.
        report_problem: Receives one sentence for the user when the file begins to fail.
        make_calls: Receives the planned commands that are due.
    """

    timers: SharedTimers
    file: TimerFile
    report_problem: Callable[[str], None]
    make_calls: Callable[[Alarm], None]
    _wakeup: asyncio.Event = field(default_factory=asyncio.Event)
    _in_flight: tuple["asyncio.Future[Exchanged]", Pending] | None = None
    _reported: bool = False
    _stored_s: float = 0.0  # loop time at which the file had all changes
    _exchanged: asyncio.Event = field(default_factory=asyncio.Event)  # set after the exchange in progress or the next
    _tried: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self) -> None:
        """Writes and reads until it is cancelled, then writes the rest."""
        self.timers.wake = self._wakeup.set
        loop = asyncio.get_running_loop()
        self._stored_s = loop.time()
        try:
            while True:
                self._wakeup.clear()
                self.timers.tick(loop.time())
                due = self.timers.due_calls
                if await self._store_changes() or loop.time() - self._stored_s > CALLS_WAIT_S:
                    for alarm in self.timers.take_due_calls(due):
                        self.make_calls(alarm)
                self._tried.set()
                try:
                    async with asyncio.timeout(min(READ_EVERY_S, self.timers.next_calls_s(loop.time()))):
                        await self._wakeup.wait()
                except TimeoutError:
                    continue
        finally:
            await self._finish()

    async def wait_for_first_reading(self) -> None:
        """Waits until the stored timers are known, or for `FIRST_READ_TIMEOUT_S`, so that they can be asked for."""
        with suppress(TimeoutError):
            async with asyncio.timeout(FIRST_READ_TIMEOUT_S):
                await self._tried.wait()

    async def settle(self) -> None:
        """Waits until every change is in the file. The caller sets the deadline, because a disk may stay full."""
        while (self.timers.stored and self.timers.pending) or self._in_flight is not None:
            await self._exchanged.wait()

    async def _store_changes(self) -> bool:
        """Exchanges changes with the file, if there is one; returns False if that failed."""
        if self.timers.stored and not await self._exchange():
            return not self.timers.stored
        self._stored_s = asyncio.get_running_loop().time()
        return True

    async def _exchange(self) -> bool:
        """Writes what is pending and reads what has changed, or completes the exchange in progress.

        Returns False if nothing was written.
        """
        if self._in_flight is None:
            pending = self.timers.take_pending()
            call = asyncio.get_running_loop().run_in_executor(CONVERSATION_THREADS, self.file.exchange, pending)
            self._in_flight = call, pending
        # On cancellation the thread continues: it cannot be stopped, and nothing must be written twice.
        await asyncio.wait([self._in_flight[0]])
        self._exchanged.set()
        self._exchanged = asyncio.Event()
        (call, pending), self._in_flight = self._in_flight, None
        try:
            exchanged = call.result()
        except TimerFileError as error:
            self.timers.put_back(pending)
            self._on_failure(error)
            return False
        self._reported = False
        if exchanged.removed:
            self.timers.put_back(pending)
            self.timers.store_all()
            self._wakeup.set()
            return False
        if exchanged.damaged:
            self.report_problem(notice("entries_damaged", file=self.file.path, count=exchanged.damaged))
        for row, permitted in zip(pending.claims, exchanged.claimed, strict=True):
            self.timers.on_claimed(row.key, permitted=permitted)
        if exchanged.rows is not None:
            self.timers.adopt(exchanged.rows, asyncio.get_running_loop().time())
        return True

    def _on_failure(self, error: TimerFileError) -> None:
        if error.lasting:
            self.timers.store_failed()
            self.report_problem(notice("timers_in_memory", reason=error))
        elif not self._reported:
            self._reported = True
            self.report_problem(notice("timers_wait", reason=error))

    async def _finish(self) -> None:
        """Writes what is left."""
        self.timers.end()
        try:
            async with asyncio.timeout(LAST_WRITE_TIMEOUT_S):
                if self._in_flight is not None:
                    await self._exchange()
                if self.timers.stored and self.timers.has_pending:
                    await self._exchange()
        except TimeoutError:
            pass
        if self.timers.stored and (self._in_flight is not None or self.timers.has_pending):
            self.report_problem(notice("timers_unsaved", file=self.file.path))
        if self._in_flight is None:
            self.file.close()
