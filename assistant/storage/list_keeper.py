"""Keeps the user's lists in their file while the program runs. One task accesses the file, in a thread."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from assistant.skills.lists.items import ListItem, UserLists
from assistant.storage.conversation_database import ConversationFileError
from assistant.storage.list_file import ListFile
from assistant.support.disk_threads import CONVERSATION_THREADS
from assistant.support.notice import notice

READ_EVERY_S = 1.0
"""Interval at which changes of other processes are read."""

LAST_WRITE_TIMEOUT_S = 5.0


@dataclass(slots=True)
class ListKeeper:
    """Connects the lists with their file. Run `run` as a task.

    Attributes:
        lists: The lists of all conversations.
        file: Their file.
        report_problem: Receives one sentence for the user when the file begins to fail.
    """

    lists: UserLists
    file: ListFile
    report_problem: Callable[[str], None]
    _wakeup: asyncio.Event = field(default_factory=asyncio.Event)
    _in_flight: "tuple[asyncio.Future[tuple[ListItem, ...]], dict[str, ListItem | None]] | None" = None
    _reported: bool = False
    _exchanged: asyncio.Event = field(default_factory=asyncio.Event)  # set after the exchange in progress or the next

    def shared(self) -> UserLists:
        """Returns the lists, for one more conversation."""
        return self.lists

    async def run(self) -> None:
        """Writes and reads until it is cancelled, then writes the rest."""
        self.lists.wake = self._wakeup.set
        try:
            while True:
                self._wakeup.clear()
                if self.lists.stored:
                    await self._exchange()
                with suppress(TimeoutError):
                    async with asyncio.timeout(READ_EVERY_S):
                        await self._wakeup.wait()
        finally:
            await self._finish()

    async def settle(self) -> None:
        """Waits until every change is in the file. The caller sets the deadline, because a disk may stay full."""
        while (self.lists.stored and self.lists.pending) or self._in_flight is not None:
            await self._exchanged.wait()

    async def _exchange(self) -> None:
        """Writes what is pending and reads, or completes the exchange in progress."""
        if self._in_flight is None:
            pending = self.lists.take_pending()
            call = asyncio.get_running_loop().run_in_executor(CONVERSATION_THREADS, self.file.exchange, pending)
            self._in_flight = call, pending
        # On cancellation the thread continues: it cannot be stopped, and nothing must be written twice.
        await asyncio.wait([self._in_flight[0]])
        self._exchanged.set()
        self._exchanged = asyncio.Event()
        (call, pending), self._in_flight = self._in_flight, None
        try:
            rows = call.result()
        except ConversationFileError as error:
            self.lists.put_back(pending)
            self._on_failure(error)
            return
        self._reported = False
        self.lists.adopt(rows)

    def _on_failure(self, error: ConversationFileError) -> None:
        if error.lasting:
            self.lists.store_failed()
            self.report_problem(notice("lists_in_memory", reason=error.text))
        elif not self._reported:
            self._reported = True
            self.report_problem(notice("lists_wait", reason=error.text))

    async def _finish(self) -> None:
        """Writes what is left."""
        with suppress(TimeoutError):
            async with asyncio.timeout(LAST_WRITE_TIMEOUT_S):
                if self._in_flight is not None:
                    await self._exchange()
                if self.lists.stored and self.lists.pending:
                    await self._exchange()
        if self.lists.stored and (self._in_flight is not None or self.lists.pending):
            self.report_problem(notice("lists_unsaved", file=self.file.path))
        if self._in_flight is None:
            self.file.close()
