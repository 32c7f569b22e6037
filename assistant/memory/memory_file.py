"""Stores the facts of all owners in the file of kept conversations. Several processes may share it. Blocks."""

import sqlite3
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from assistant.memory import fact_table
from assistant.memory.fact_table import Reading
from assistant.memory.facts import Fact, PendingFacts


class Database(Protocol):
    """The open file. Errors are OSError; an attribute `lasting` says whether another attempt would fail, too."""

    path: Path

    def created(self) -> AbstractContextManager[sqlite3.Connection]:
        """Gives the open file, and creates it if there is none."""
        ...

    def opened(self) -> AbstractContextManager[sqlite3.Connection | None]:
        """Gives the open file; None if there is none."""
        ...

    def close(self) -> None:
        """Closes the file. The next call opens it again."""
        ...


@dataclass(frozen=True, slots=True)
class OwnerFacts:
    """The facts of an owner in the file.

    Attributes:
        enabled: Whether the owner wants a memory.
        revision: Changes with every change.
        facts: The facts, the oldest first; None: `revision` is the one that was asked about.
    """

    enabled: bool
    revision: int
    facts: tuple[Fact, ...] | None


class MemoryFile:
    """The file. Thread-safe. All methods raise OSError if it cannot be used.

    Args:
        database: The open file.
        now_s: Returns the seconds since 1970.
    """

    def __init__(self, database: Database, now_s: Callable[[], float]) -> None:
        self._database = database
        self._now_s = now_s

    @property
    def path(self) -> Path:
        """The file."""
        return self._database.path

    def close(self) -> None:
        """Closes the file. The next call opens it again."""
        self._database.close()

    def exchange(self, owner: str, pending: PendingFacts, revision: int = -1) -> OwnerFacts:
        """Writes all changes of an owner, or none of them; then returns what the file has.

        `revision`: what the caller knows; its facts are not read again.
        """
        if not pending.is_empty:
            with self._database.created() as database, _changing(database):
                fact_table.create(database)
                fact_table.write(database, owner, pending.changes)
                if pending.forgets:
                    fact_table.discard_readings(database, owner)
            if pending.forgets or None in pending.changes.values():
                self._truncate_log()
        with self._database.opened() as kept:
            if kept is None or not fact_table.exists(kept):
                return OwnerFacts(enabled=True, revision=0, facts=None if revision == 0 else ())
            state = fact_table.state_of(kept, owner)
            facts = None if state.revision == revision else fact_table.facts_of(kept, owner)
        return OwnerFacts(state.enabled, state.revision, facts)

    def facts(self, owner: str) -> tuple[Fact, ...]:
        """Returns the facts of an owner, the oldest first."""
        return self.exchange(owner, PendingFacts({})).facts or ()

    def owners(self) -> list[str]:
        """Returns the owners that have facts."""
        with self._database.opened() as database:
            return [] if database is None or not fact_table.exists(database) else fact_table.owners(database)

    def change(self, owner: str, changes: Mapping[str, Fact | None]) -> None:
        """Writes and deletes facts. After a deletion nothing more is drawn from the conversations so far."""
        self.exchange(owner, PendingFacts(dict(changes), forgets=None in changes.values()))

    def delete_all(self, owner: str) -> int:
        """Deletes all facts of an owner. Returns their number."""
        with self._database.opened() as database:
            if database is None:
                return 0
            with _changing(database):
                deleted = fact_table.delete_all(database, owner)
        self._truncate_log()
        return deleted

    def enable(self, owner: str, *, enabled: bool) -> None:
        """Keeps whether an owner wants a memory."""
        with self._database.created() as database, _changing(database):
            fact_table.create(database)
            fact_table.enable(database, owner, enabled=enabled)

    # ---- conversations from which facts are drawn ----

    def begin_reading(self, owner: str, conversation: str) -> None:
        """Notes that facts are to be drawn from a conversation, from what is said from now on."""
        with self._database.created() as database, _changing(database):
            fact_table.create(database)
            if fact_table.state_of(database, owner).enabled:
                fact_table.begin_reading(database, owner, conversation)

    def end_reading(self, owner: str, conversation: str) -> None:
        """Draws nothing from a conversation, also from what was said in it before."""
        with self._database.opened() as database:
            if database is not None and fact_table.exists(database):
                with _changing(database):
                    fact_table.end_reading(database, owner, conversation)

    def claim_reading(self, owners: Iterable[str] | None, quiet_s: float, lease_s: float) -> Reading | None:
        """Returns a conversation with something unread that did not change for `quiet_s`, and reserves it."""
        with self._database.opened() as database:
            if database is None or not fact_table.exists(database):
                return None
            now_s = self._now_s()
            with _changing(database):
                return fact_table.claim_reading(database, owners, now_s - quiet_s, now_s, lease_s)

    def finish_reading(
        self, reading: Reading, item: int | None, changes: Mapping[str, Fact | None], *, goes_on: bool = False
    ) -> None:
        """Stores what was drawn, together with how far was read: all of it or nothing.

        `goes_on`: the caller reads the next part, so that the conversation stays reserved.

        If the user has asked to forget something meanwhile, or has deleted the conversation, nothing is stored.
        """
        with self._database.opened() as database:
            if database is None or not fact_table.exists(database):
                return
            with _changing(database):
                if fact_table.release_reading(database, reading, item, self._now_s() if goes_on else 0.0):
                    fact_table.write(database, reading.owner, changes)
        if None in changes.values():
            self._truncate_log()

    def _truncate_log(self) -> None:
        """Removes what was deleted from the log of changes; it is gone from the file already."""
        with self._database.opened() as database, suppress(sqlite3.Error):
            if database is not None:
                database.execute("PRAGMA wal_checkpoint(TRUNCATE)")


class _changing:  # noqa: N801 - used like a function
    """Runs a transaction that changes the file: all of it or nothing."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database

    def __enter__(self) -> None:
        self._database.execute("BEGIN IMMEDIATE")

    def __exit__(self, kind: type[BaseException] | None, *_error: object) -> None:
        try:
            if kind is None:
                self._database.execute("COMMIT")
        finally:
            if self._database.in_transaction:
                self._database.execute("ROLLBACK")
