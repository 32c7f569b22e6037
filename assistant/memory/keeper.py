"""Keeps the facts of the owners who talk in this process: reads them, and writes what changes. Never blocks a turn."""

import asyncio
import logging
import weakref
from collections.abc import Callable
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass, field

from assistant.memory.fact_index import FactIndex
from assistant.memory.facts import ConversationFacts, Fact, PendingFacts, UserFacts
from assistant.memory.memory_file import MemoryFile, OwnerFacts
from assistant.memory.notes import is_standing
from assistant.memory.recalling_chat import Recall
from assistant.support.notice import notice
from llm.cache import CacheStoreError

log = logging.getLogger(__name__)

RETRY_S = 1.0
LAST_WRITE_TIMEOUT_S = 5.0


@dataclass(slots=True)
class FactKeeper:
    """Connects the facts of all owners with their file. Run `run` as a task; not thread-safe.

    Attributes:
        file: The file.
        recall: Finds facts.
        threads: Runs the file's calls.
        report_problem: Receives one sentence for the user when the file begins to fail.
    """

    file: MemoryFile
    recall: Recall
    threads: Executor
    report_problem: Callable[[str], None]
    _owners: "weakref.WeakValueDictionary[str, UserFacts]" = field(default_factory=weakref.WeakValueDictionary)
    _due: dict[str, UserFacts] = field(default_factory=dict)  # to be written or read, the first first
    _begun: list[tuple[str, str, Callable[[str, str], None]]] = field(default_factory=list)  # conversations to note
    _wakeup: asyncio.Event = field(default_factory=asyncio.Event)
    _settled: asyncio.Event = field(default_factory=asyncio.Event)
    _busy: bool = False
    _reported: bool = False
    _stored: bool = True  # whether the file can be used

    def open(self, owner: str, conversation: str) -> ConversationFacts:
        """Returns the facts of an owner for one conversation. They are read in the background."""
        facts = self._owners.get(owner)
        if facts is None:
            facts = self._owners[owner] = UserFacts(owner, enabled=self._stored, wake=self.refresh)
        self.refresh(facts)
        return ConversationFacts(facts, conversation)

    def draw_from(self, owner: str, conversation: str) -> None:
        """Has facts drawn from a kept conversation when it is finished. Never blocks."""
        self._begun.append((owner, conversation, self.file.begin_reading))
        self._wakeup.set()

    def leave_out(self, owner: str, conversation: str) -> None:
        """Has no facts drawn from a conversation. Never blocks."""
        self._begun.append((owner, conversation, self.file.end_reading))
        self._wakeup.set()

    def refresh(self, facts: UserFacts) -> None:
        """Has pending changes written, and changes of others read. Called when a turn begins. Never blocks."""
        if self._stored:
            self._due[facts.owner] = facts
            self._wakeup.set()

    def changed(self, owner: str) -> None:
        """Has the facts of an owner read again, if the owner talks in this process."""
        facts = self._owners.get(owner)
        if facts is not None:
            self.refresh(facts)

    async def run(self) -> None:
        """Writes and reads until it is cancelled, then writes the rest."""
        if self.recall.embedder is not None:
            await self._load_embedder()
        try:
            while True:
                await self._wakeup.wait()
                self._wakeup.clear()
                await self.exchange_all()
        finally:
            with suppress(TimeoutError):
                async with asyncio.timeout(LAST_WRITE_TIMEOUT_S):
                    await self.exchange_all()
            self.file.close()

    async def settle(self) -> None:
        """Waits until every change is in the file. The caller sets the deadline, because a disk may stay full."""
        while self._stored and (self._due or self._begun or self._busy):
            self._settled.clear()
            await self._settled.wait()

    async def exchange_all(self) -> None:
        """Writes and reads what is due."""
        self._busy = True
        try:
            await self._begin_readings()
            while self._due and self._stored:
                owner = next(iter(self._due))
                facts = self._due.pop(owner)
                if not await self._exchange(facts):
                    self._due.setdefault(owner, facts)
                    await asyncio.sleep(RETRY_S)
        finally:
            self._busy = False
            self._settled.set()

    async def _begin_readings(self) -> None:
        while self._begun and self._stored:
            owner, conversation, note = self._begun[0]
            begin = asyncio.wrap_future(self.threads.submit(note, owner, conversation))
            try:
                await asyncio.shield(begin)
            except OSError as error:
                if not self._on_failure(error):
                    self._wakeup.set()
                    await asyncio.sleep(RETRY_S)
                return
            self._begun.pop(0)

    async def _exchange(self, facts: UserFacts) -> bool:
        """Writes what is pending of one owner and reads. Returns False if it must be tried again.

        The first time it only reads: an owner who wants no memory has nothing written.
        """
        is_first = facts.revision < 0
        pending = PendingFacts({}) if is_first else facts.take_pending()
        call = asyncio.wrap_future(self.threads.submit(self.file.exchange, facts.owner, pending, facts.revision))
        try:
            # On cancellation the thread continues: it cannot be stopped, and nothing must be written twice.
            kept: OwnerFacts = await asyncio.shield(call)
        except asyncio.CancelledError:
            try:
                await call
            except OSError:
                facts.put_back(pending)
                self._due.setdefault(facts.owner, facts)  # the last write tries again
            raise
        except OSError as error:
            facts.put_back(pending)
            return self._on_failure(error)
        self._reported = False
        facts.revision = kept.revision
        if kept.facts is not None:
            facts.adopt(kept.facts, enabled=kept.enabled)
            await self._index(facts)
        if is_first and facts.has_pending:
            self.refresh(facts)
        return True

    async def _index(self, facts: UserFacts) -> None:
        """Prepares the search, so that no reply waits for it."""
        await asyncio.wrap_future(self.recall.thread.submit(_prepare, facts.index, facts.facts))
        if self.recall.embedder is not None:
            self.recall.embedding_thread.submit(_embed_missing, self.recall, facts)

    async def _load_embedder(self) -> None:
        assert self.recall.embedder is not None
        try:
            await asyncio.wrap_future(self.recall.embedding_thread.submit(self.recall.embedder.load))
        except CacheStoreError as error:
            log.info("memory: facts are found by words only: %s", error)
            self.recall.embedder = None

    def _on_failure(self, error: OSError) -> bool:
        """Reports a failure. Returns whether to give up."""
        text = getattr(error, "text", str(error))
        if getattr(error, "lasting", False):
            self._stored = False
            for facts in self._owners.values():
                facts.switch_off()  # nothing is promised that cannot be stored
            self.report_problem(notice("memory_unused", reason=text))
            return True
        if not self._reported:
            self._reported = True
            self.report_problem(notice("memory_waits", reason=text))
        return False


def _prepare(index: FactIndex, facts: tuple[Fact, ...]) -> None:
    index.update({fact.key: fact.text for fact in facts})
    for fact in facts:
        is_standing(fact)  # keeps the result: a regular expression takes 50 µs for each


def _embed_missing(recall: Recall, facts: UserFacts) -> None:
    with suppress(CacheStoreError):
        recall.embed_missing(facts)
