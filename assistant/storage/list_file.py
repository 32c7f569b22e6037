"""Stores lists and notes in one SQLite file. Several processes may share it. Blocks: call it in a thread."""

import sqlite3
from collections.abc import Mapping
from pathlib import Path

from assistant.skills.lists.items import MAX_ITEM_CHARS, MAX_ITEMS, ListItem
from assistant.storage.conversation_database import ConversationDatabase, changing
from assistant.support.paths import data_folder

BUSY_TIMEOUT_S = 2.0
"""Longest wait for another process that writes."""

_SCHEMA = (
    "CREATE TABLE items (key TEXT PRIMARY KEY, list_name TEXT NOT NULL, text TEXT NOT NULL, position INTEGER NOT NULL)",
)

Changes = Mapping[str, ListItem | None]
"""Items to write, by key; None: the item is removed."""


def lists_path(environ: Mapping[str, str]) -> Path:
    """Returns the file of the user's lists and notes, in the user's data folder. Raises HomeError."""
    return data_folder(environ) / "lists.sqlite3"


class ListFile:
    """The file. It is created with the first item, readable by the user only. Thread-safe."""

    def __init__(self, path: Path, *, timeout_s: float = BUSY_TIMEOUT_S) -> None:
        """`timeout_s`: longest wait for another process that writes."""
        self.path = path
        self._database = ConversationDatabase(path, timeout_s, _SCHEMA)

    def exchange(self, changes: Changes) -> tuple[ListItem, ...]:
        """Writes all changes, or none of them; then returns all items. Raises ConversationFileError."""
        with self._database.opened(create=any(change is not None for change in changes.values())) as database:
            if database is None:
                return ()
            if changes:
                with changing(database):
                    _write(database, changes)
            rows = database.execute(
                "SELECT key, list_name, text, position FROM items ORDER BY position, key LIMIT ?", (MAX_ITEMS * 2,)
            ).fetchall()
        return tuple(item for row in rows if (item := _item(row)) is not None)

    def close(self) -> None:
        """Closes the file. The next call opens it again."""
        self._database.close()


def _write(database: sqlite3.Connection, changes: Changes) -> None:
    for key, item in changes.items():
        if item is None:
            database.execute("DELETE FROM items WHERE key = ?", (key,))
        else:
            database.execute(
                "INSERT OR REPLACE INTO items (key, list_name, text, position) VALUES (?, ?, ?, ?)",
                (key, item.list_name, item.text, item.position),
            )


def _item(row: tuple[object, ...]) -> ListItem | None:
    """Returns an item; None if another program has written something else."""
    match row:
        case (str(key), str(list_name), str(text), int(position)) if 0 < len(text) <= MAX_ITEM_CHARS and list_name:
            return ListItem(key, list_name, text, position)
    return None
