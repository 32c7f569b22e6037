"""The tables of facts, in the file of kept conversations: the SQL. Each function works on the open file.

Facts belong to an owner, and go with the conversation in which they were said.
"""

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from assistant.memory.facts import MAX_FACT_CHARS, MAX_FACTS, Fact

_CREATE = (
    "CREATE TABLE IF NOT EXISTS facts (key TEXT PRIMARY KEY, owner TEXT NOT NULL, conversation TEXT NOT NULL, "
    "text TEXT NOT NULL, said_at TEXT NOT NULL)",
    "CREATE INDEX IF NOT EXISTS facts_by_owner ON facts (owner, conversation)",
    "CREATE TABLE IF NOT EXISTS fact_owners (owner TEXT PRIMARY KEY, enabled INTEGER NOT NULL, "
    "revision INTEGER NOT NULL)",
    "CREATE TABLE IF NOT EXISTS fact_readings (owner TEXT NOT NULL, conversation TEXT NOT NULL, item INTEGER NOT NULL, "
    "claimed_s REAL NOT NULL, PRIMARY KEY (owner, conversation))",
)
_ADDED = (
    ("facts", "is_drawn", "INTEGER NOT NULL DEFAULT 0"),
    ("fact_readings", "speaker", "TEXT NOT NULL DEFAULT ''"),
)
"""Columns that were added later: table, name and type."""


@dataclass(frozen=True, slots=True)
class OwnerState:
    """State of an owner.

    Attributes:
        enabled: Whether the owner wants a memory.
        revision: Changes with every change of the owner's facts.
    """

    enabled: bool = True
    revision: int = 0


@dataclass(frozen=True, slots=True)
class Reading:
    """A conversation from which facts are to be drawn.

    Attributes:
        owner: Whose it is.
        conversation: Its id.
        began_at: ISO 8601.
        changed_s: When it changed last, in seconds since 1970.
        item: Number of the last item that was read.
        speaker: Name of the voice whose words were read; "" if none had a name.
        lines: The items after it, as they are stored, with their numbers.
    """

    owner: str
    conversation: str
    began_at: str
    changed_s: float
    item: int
    speaker: str
    lines: tuple[tuple[int, bytes], ...]


def exists(database: sqlite3.Connection) -> bool:
    """Returns whether there are the tables, with all their columns."""
    return all(_has_column(database, table, column) for table, column, _ in _ADDED)


def create(database: sqlite3.Connection) -> None:
    """Creates the tables, in a transaction, unless they are there."""
    if exists(database):
        return
    for statement in _CREATE:
        database.execute(statement)
    for table, column, kind in _ADDED:
        if not _has_column(database, table, column):
            database.execute(f"ALTER TABLE {table} ADD COLUMN {column} {kind}")


def _has_column(database: sqlite3.Connection, table: str, column: str) -> bool:
    query = "SELECT 1 FROM pragma_table_info(?) WHERE name = ?"
    return database.execute(query, (table, column)).fetchone() is not None


def state_of(database: sqlite3.Connection, owner: str) -> OwnerState:
    """Returns the state of an owner."""
    row = database.execute("SELECT enabled, revision FROM fact_owners WHERE owner = ?", (owner,)).fetchone()
    return OwnerState() if row is None else OwnerState(bool(row[0]), int(row[1]))


def facts_of(database: sqlite3.Connection, owner: str) -> tuple[Fact, ...]:
    """Returns the facts of an owner, the oldest first."""
    rows = database.execute(
        "SELECT key, text, said_at, conversation, is_drawn FROM facts WHERE owner = ? "
        "ORDER BY said_at DESC, key LIMIT ?",
        (owner, MAX_FACTS),
    )
    facts = [fact for row in rows if (fact := _fact(row)) is not None]
    return tuple(sorted(facts, key=lambda fact: (fact.said_at, fact.key)))


def write(database: sqlite3.Connection, owner: str, changes: Mapping[str, Fact | None]) -> None:
    """Writes and deletes facts of an owner. Nobody changes those of another."""
    for key, fact in changes.items():
        database.execute("DELETE FROM facts WHERE key = ? AND owner = ?", (key, owner))
        if fact is not None:
            database.execute(
                "INSERT OR IGNORE INTO facts (key, owner, conversation, text, said_at, is_drawn) "
                "VALUES (?, ?, ?, ?, ?, ?)",
                (key, owner, fact.conversation, fact.text, fact.said_at, fact.is_drawn),
            )
    if changes:
        beyond = "SELECT key FROM facts WHERE owner = ? ORDER BY said_at DESC, key LIMIT -1 OFFSET ?"
        database.execute(f"DELETE FROM facts WHERE key IN ({beyond})", (owner, MAX_FACTS))  # noqa: S608
        _bump(database, owner)


def delete_all(database: sqlite3.Connection, owner: str) -> int:
    """Deletes all facts of an owner. Returns their number. Nothing is drawn from the conversations so far."""
    if not exists(database):
        return 0
    deleted = database.execute("DELETE FROM facts WHERE owner = ?", (owner,)).rowcount
    discard_readings(database, owner)
    _bump(database, owner)
    return deleted


def enable(database: sqlite3.Connection, owner: str, *, enabled: bool) -> None:
    """Keeps whether an owner wants a memory. Without one, nothing is drawn from the conversations so far."""
    state = state_of(database, owner)
    database.execute(
        "INSERT OR REPLACE INTO fact_owners (owner, enabled, revision) VALUES (?, ?, ?)",
        (owner, int(enabled), state.revision + 1),
    )
    if not enabled:
        discard_readings(database, owner)


def discard_readings(database: sqlite3.Connection, owner: str) -> None:
    """Draws nothing from the conversations so far, also from those that go on."""
    database.execute("DELETE FROM fact_readings WHERE owner = ?", (owner,))


def delete_of(database: sqlite3.Connection, conversations: Sequence[tuple[str, str]], *, expired: bool) -> None:
    """Deletes what was said in these conversations, by owner and id.

    `expired`: they are deleted by their age, not by the user. Their facts stay: they are kept for later conversations.
    """
    if not exists(database):
        return
    for owner, conversation in conversations:
        end_reading(database, owner, conversation)
        if not expired:
            database.execute("DELETE FROM facts WHERE owner = ? AND conversation = ?", (owner, conversation))
    for owner in dict.fromkeys(owner for owner, _ in conversations):
        _bump(database, owner)


def end_reading(database: sqlite3.Connection, owner: str, conversation: str) -> None:
    """Draws nothing from a conversation, also from what was said in it before."""
    database.execute("DELETE FROM fact_readings WHERE owner = ? AND conversation = ?", (owner, conversation))


def begin_reading(database: sqlite3.Connection, owner: str, conversation: str) -> None:
    """Notes that facts are to be drawn from a conversation, from what is said from now on."""
    row = database.execute(
        "SELECT max(items.number) FROM items JOIN conversations ON conversations.number = items.conversation "
        "WHERE conversations.owner = ? AND conversations.id = ?",
        (owner, conversation),
    ).fetchone()
    database.execute(
        "INSERT OR IGNORE INTO fact_readings (owner, conversation, item, claimed_s) VALUES (?, ?, ?, 0)",
        (owner, conversation, int(row[0] or 0)),
    )


def claim_reading(
    database: sqlite3.Connection, owners: Iterable[str] | None, changed_before_s: float, now_s: float, lease_s: float
) -> Reading | None:
    """Returns the oldest conversation with something unread, and reserves it; None if there is none.

    Args:
        database: The open file.
        owners: Whose conversations; None: those of all.
        changed_before_s: Only conversations that did not change since then.
        now_s: The time, in seconds since 1970.
        lease_s: How long no other process gets it. After a crash it is free again.
    """
    query = (
        "SELECT fact_readings.owner, id, began_at, changed_s, item, number, speaker "
        "FROM fact_readings JOIN conversations "
        "ON conversations.owner = fact_readings.owner AND conversations.id = fact_readings.conversation "
        "WHERE changed_s <= ? AND (claimed_s < ? OR claimed_s > ?) AND EXISTS "
        "(SELECT 1 FROM items WHERE items.conversation = conversations.number AND items.number > item) "
        "ORDER BY changed_s"
    )
    wanted = None if owners is None else frozenset(owners)
    for owner, name, began_at, changed_s, item, number, speaker in database.execute(
        query, (changed_before_s, now_s - lease_s, now_s)
    ).fetchall():
        if wanted is not None and owner not in wanted:
            continue
        if not state_of(database, owner).enabled:
            continue
        database.execute(
            "UPDATE fact_readings SET claimed_s = ? WHERE owner = ? AND conversation = ?", (now_s, owner, name)
        )
        rows = database.execute(
            "SELECT number, line FROM items WHERE conversation = ? AND number > ? ORDER BY number", (number, item)
        )
        lines = tuple((int(place), bytes(line)) for place, line in rows)
        return Reading(owner, name, began_at, changed_s, item, speaker, lines)
    return None


def release_reading(database: sqlite3.Connection, reading: Reading, item: int | None, claimed_s: float = 0.0) -> bool:
    """Gives a conversation back, read up to `item`; None: as far as before.

    `claimed_s`: the time since which it is reserved again, for its next part; 0: it is free.

    Returns whether it was still wanted, and not read as far by another process.
    """
    owned = reading.owner, reading.conversation
    if item is None:
        database.execute("UPDATE fact_readings SET claimed_s = 0 WHERE owner = ? AND conversation = ?", owned)
        return False
    done = database.execute(
        "UPDATE fact_readings SET claimed_s = ?, item = ?, speaker = ? "
        "WHERE owner = ? AND conversation = ? AND item < ?",
        (claimed_s, item, reading.speaker, *owned, item),
    )
    return done.rowcount > 0


def owners(database: sqlite3.Connection) -> list[str]:
    """Returns the owners that have facts."""
    return [owner for (owner,) in database.execute("SELECT DISTINCT owner FROM facts ORDER BY owner")]


def _bump(database: sqlite3.Connection, owner: str) -> None:
    state = state_of(database, owner)
    database.execute(
        "INSERT OR REPLACE INTO fact_owners (owner, enabled, revision) VALUES (?, ?, ?)",
        (owner, int(state.enabled), state.revision + 1),
    )


def _fact(row: tuple[object, ...]) -> Fact | None:
    """Returns a fact; None if another program has written something else."""
    match row:
        case (str(key), str(text), str(said_at), str(conversation), is_drawn) if 0 < len(text) <= MAX_FACT_CHARS:
            return Fact(key, text, said_at, conversation, bool(is_drawn))
    return None
