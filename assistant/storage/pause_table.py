"""The table of how often the owners of kept conversations pause: a row for each owner, in the conversations' file."""

import sqlite3

from assistant.end_of_turn.priors import PauseCounts

_CREATE = (
    "CREATE TABLE IF NOT EXISTS pauses (owner TEXT PRIMARY KEY, pauses REAL NOT NULL, turns REAL NOT NULL, "
    "changed_s REAL NOT NULL)"
)


def write(database: sqlite3.Connection, owner: str, counts: PauseCounts, now_s: float) -> None:
    """Replaces the counts of an owner. The first write creates the table."""
    database.execute(_CREATE)
    database.execute("INSERT OR REPLACE INTO pauses VALUES (?, ?, ?, ?)", (owner, counts.pauses, counts.turns, now_s))


def read(database: sqlite3.Connection, owner: str | None, now_s: float) -> dict[str, PauseCounts | None]:
    """Returns the counts of this owner, or of all, faded by their age; None for a damaged row."""
    if not _exists(database):
        return {}
    rows = database.execute(
        "SELECT owner, pauses, turns, changed_s FROM pauses WHERE ? IS NULL OR owner = ?", (owner, owner)
    )
    return {name: _counts(values, now_s) for name, *values in rows}


def delete_orphans(database: sqlite3.Connection) -> None:
    """Deletes the counts of owners who have no conversation any more."""
    if _exists(database):
        database.execute("DELETE FROM pauses WHERE owner NOT IN (SELECT owner FROM conversations)")


def _exists(database: sqlite3.Connection) -> bool:
    query = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'pauses'"
    return database.execute(query).fetchone() is not None


def _counts(values: list[object], now_s: float) -> PauseCounts | None:
    match values:
        case [float(pauses), float(turns), float(changed_s)]:
            counts = PauseCounts(pauses, turns)
            return counts.after(now_s - changed_s) if counts.is_plausible else None
    return None
