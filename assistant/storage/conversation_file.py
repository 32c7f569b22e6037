"""Stores conversations in one SQLite file. Several processes may share it. Blocks: call it in a thread.

Each conversation has an owner: the terminal of this machine's user, or a browser. Nobody reads or changes the
conversations of another owner. Search has an index where SQLite was built with FTS5; otherwise it reads all words.
"""

import hashlib
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from assistant.end_of_turn.priors import PauseCounts
from assistant.history.items import AssistantMessage, Item, UserMessage
from assistant.history.mcp_items import McpItem
from assistant.memory import fact_table
from assistant.storage import conversation_search, pause_table
from assistant.storage.conversation_database import (
    BUSY_TIMEOUT_S,
    ConversationDatabase,
    ConversationFileError,
    changing,
)
from assistant.storage.conversation_search import Summary, folded
from assistant.storage.store_format import item_lines, parse_items

TERMINAL = "terminal"
"""Owner of the conversations of `repartee talk`."""

MAX_FILE_BYTES = 2 << 30
"""Beyond this size nothing more is stored for browsers: whoever may use the server could fill the disk."""

MAX_TITLE_CHARS = 80


@dataclass(frozen=True, slots=True)
class Retention:
    """Limits of what is kept for one browser.

    Attributes:
        max_age_s: Conversations that did not change for so long are deleted; 0: never.
        max_conversations: Beyond it the oldest are deleted.
    """

    max_age_s: float
    max_conversations: int


@dataclass(frozen=True, slots=True)
class Place:
    """Place in the file at which the next items of a conversation are appended.

    Attributes:
        number: The conversation's number in the file.
        last: Number of its last item.
        drafts: Number of items at the end that the next write replaces.
    """

    number: int
    last: int
    drafts: int = 0


@dataclass(frozen=True, slots=True)
class KeptConversation:
    """A conversation with its content.

    Attributes:
        id: Its id, unique for its owner.
        title: The beginning of the user's first message.
        began_at: ISO 8601.
        changed_s: When it changed last, in seconds since 1970.
        continues: Id of the conversation it was copied from; "" for none.
        items: Its items, in order.
        lost: Number of items that could not be read.
        place: Where it is continued.
    """

    id: str
    title: str
    began_at: str
    changed_s: float
    continues: str
    items: tuple[Item, ...]
    lost: int
    place: Place


def owner_of_browser(secret: str) -> str:
    """Returns the owner for the secret of a browser. The file does not contain the secret."""
    return "browser " + hashlib.sha256(secret.encode()).hexdigest()


class ConversationFile:
    """The file. Thread-safe: one call at a time, the others wait.

    Args:
        path: The file; created with its folder when the first conversation is stored, readable by the user only.
        now_s: Returns the seconds since 1970.
        retention: How much is kept for each browser; None: everything. The terminal's conversations stay.
        timeout_s: Longest wait for others that use the file.
        keeps_pauses: Whether the pauses of the owners are kept, too (`turn.remember_pauses`).
    """

    def __init__(
        self,
        path: Path,
        now_s: Callable[[], float],
        retention: Retention | None = None,
        *,
        timeout_s: float = BUSY_TIMEOUT_S,
        keeps_pauses: bool = False,
    ) -> None:
        self.path = path
        self.keeps_pauses = keeps_pauses
        self._now_s = now_s
        self._retention = retention
        self._shared = ConversationDatabase(path, timeout_s)

    def close(self) -> None:
        """Closes the file. The next call opens it again."""
        self._shared.close()

    def check(self) -> None:
        """Opens the file, if there is one. Raises ConversationFileError if it cannot be used."""
        with self._shared.opened():
            pass

    # ---- one conversation ----

    def create(
        self,
        owner: str,
        name: str,
        began_at: str,
        items: Sequence[Item],
        continues: str = "",
        *,
        drafts: Sequence[AssistantMessage] = (),
        pauses: PauseCounts | None = None,
    ) -> Place:
        """Stores a new conversation with its first items, see `append`.

        Raises ConversationFileError; then nothing is stored.
        """
        with self._shared.created() as database, changing(database):
            self._check_size(database, owner)
            row = database.execute(
                "INSERT INTO conversations (id, owner, began_at, changed_s, title, turns, continues) "
                "VALUES (?, ?, ?, ?, '', 0, ?)",
                (name, owner, began_at, self._now_s(), continues),
            )
            number = row.lastrowid or 0
            last = self._append(database, number, (*items, *drafts))
            self._keep_pauses(database, owner, pauses)
            self._remove_old(database, owner)
        return Place(number, last, len(drafts))

    def append(
        self,
        owner: str,
        name: str,
        place: Place,
        items: Sequence[Item],
        *,
        drafts: Sequence[AssistantMessage] = (),
        pauses: PauseCounts | None = None,
    ) -> Place | None:
        """Appends items to a conversation, and drafts after them: replies of which not all is heard yet.

        `pauses`: the owner's counts, which replace the previous ones if the file keeps them.

        Returns where the next ones go; None if the conversation was deleted.

        Raises:
            ConversationFileError: Nothing is stored.
            ContinuedElsewhereError: Another program has appended items.
        """
        with self._shared.opened() as database:
            if database is None:
                return None
            with changing(database):
                known = database.execute(
                    "SELECT 1 FROM conversations WHERE number = ? AND owner = ? AND id = ?", (place.number, owner, name)
                ).fetchone()
                if known is None:
                    return None
                if _last_item(database, place.number) != place.last:
                    raise ContinuedElsewhereError
                self._check_size(database, owner)
                _delete_drafts(database, place)
                last = self._append(database, place.number, (*items, *drafts))
                self._keep_pauses(database, owner, pauses)
        return Place(place.number, last, len(drafts))

    def load(self, owner: str, name: str) -> KeptConversation | None:
        """Returns a conversation; None if this owner has no conversation with this id. Raises ConversationFileError."""
        with self._shared.opened() as database:
            if database is None:
                return None
            row = database.execute(
                "SELECT number, title, began_at, changed_s, continues FROM conversations WHERE owner = ? AND id = ?",
                (owner, name),
            ).fetchone()
            if row is None:
                return None
            number, title, began_at, changed_s, continues = row
            lines = database.execute("SELECT line FROM items WHERE conversation = ? ORDER BY number", (number,))
            items, lost = parse_items(bytes(line) for (line,) in lines)
            place = Place(number, _last_item(database, number))
        return KeptConversation(name, title, began_at, changed_s, continues, items, lost, place)

    def _append(self, database: sqlite3.Connection, number: int, items: Sequence[Item]) -> int:
        for item in items:
            if not isinstance(item, McpItem):
                words = item.text if isinstance(item, UserMessage) else ""
                words = f"{item.written} {item.unheard}".strip() if isinstance(item, AssistantMessage) else words
                database.execute(
                    "INSERT INTO items (conversation, line, words) VALUES (?, ?, ?)",
                    (number, item_lines([item]), folded(words)),
                )
        messages = [item for item in items if isinstance(item, UserMessage)]
        title = next((title for item in messages if (title := _title(item.text))), "")
        turns = sum(not item.continues for item in messages)
        database.execute(
            "UPDATE conversations SET changed_s = ?, turns = turns + ?, "
            "title = CASE title WHEN '' THEN ? ELSE title END WHERE number = ?",
            (self._now_s(), turns, title, number),
        )
        return _last_item(database, number)

    def owners(self) -> list[str]:
        """Returns the owners that have conversations, the terminal first. Raises ConversationFileError."""
        with self._shared.opened() as database:
            rows = [] if database is None else database.execute("SELECT DISTINCT owner FROM conversations").fetchall()
        return sorted((owner for (owner,) in rows), key=lambda owner: (owner != TERMINAL, owner))

    def pauses(self, owner: str | None = None) -> dict[str, PauseCounts | None]:
        """Returns the pauses of this owner, or of all, faded by their age; None: damaged.

        Raises ConversationFileError.
        """
        with self._shared.opened() as database:
            return {} if database is None else pause_table.read(database, owner, self._now_s())

    def _keep_pauses(self, database: sqlite3.Connection, owner: str, counts: PauseCounts | None) -> None:
        if self.keeps_pauses and counts is not None and counts.turns > 0:
            pause_table.write(database, owner, counts, self._now_s())

    # ---- all conversations of an owner ----

    def summaries(self, owner: str, limit: int, before_s: float | None = None) -> list[Summary]:
        """Returns the newest conversations; `before_s`: only conversations that changed last before this time.

        Raises ConversationFileError.
        """
        with self._shared.opened() as database:
            return [] if database is None else conversation_search.newest(database, owner, limit, before_s)

    def search(self, owner: str, words: str, limit: int) -> list[Summary]:
        """Returns the newest conversations with an item that contains all the words. Raises ConversationFileError."""
        with self._shared.opened() as database:
            return [] if database is None else conversation_search.search(database, owner, words, limit)

    def rename(self, owner: str, name: str, title: str) -> str | None:
        """Gives a conversation a title, cut to `MAX_TITLE_CHARS`; "" for the beginning of its first message.

        Returns the title; None if this owner has no conversation with this id. Raises ConversationFileError.
        """
        with self._shared.opened() as database:
            if database is None:
                return None
            with changing(database):
                known = database.execute(
                    "SELECT number FROM conversations WHERE owner = ? AND id = ?", (owner, name)
                ).fetchone()
                if known is None:
                    return None
                title = _title(title) or self._first_title(database, known[0])
                database.execute("UPDATE conversations SET title = ? WHERE number = ?", (title, known[0]))
        return title

    def delete(self, owner: str, name: str | None) -> list[str]:
        """Deletes one conversation of an owner, with what was remembered of it; None: all.

        The owner's pauses go with the last one.

        Returns their ids. Raises ConversationFileError.
        """
        with self._shared.opened() as database:
            if database is None:
                return []
            with changing(database):
                which, values = ("", (owner,)) if name is None else (" AND id = ?", (owner, name))
                matches = database.execute(f"SELECT number, id FROM conversations WHERE owner = ?{which}", values)  # noqa: S608
                rows = matches.fetchall()
                _delete(database, [number for number, _ in rows])
                if name is None:
                    fact_table.delete_all(database, owner)
            with suppress(sqlite3.Error):  # the words are gone from the file; now from the log of changes, too
                database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return [name for _, name in rows]

    @staticmethod
    def _first_title(database: sqlite3.Connection, number: int) -> str:
        lines = database.execute("SELECT line FROM items WHERE conversation = ? ORDER BY number", (number,))
        items, _ = parse_items(bytes(line) for (line,) in lines)
        texts = (item.text for item in items if isinstance(item, UserMessage))
        return next((title for text in texts if (title := _title(text))), "")

    # ---- import ----

    def imported_names(self) -> set[str]:
        """Returns the names of the conversations that `import_once` has stored. Raises ConversationFileError."""
        with self._shared.opened() as database:
            rows = [] if database is None else database.execute("SELECT name FROM imported").fetchall()
        return {name for (name,) in rows}

    def import_once(self, name: str, began_at: str, continues: str, items: Sequence[Item], changed_s: float) -> bool:
        """Stores a conversation that `talk` has kept in a file of its own. Returns False if that was done before.

        Raises ConversationFileError.
        """
        with self._shared.created() as database, changing(database):
            if database.execute("SELECT 1 FROM imported WHERE name = ?", (name,)).fetchone() is not None:
                return False
            database.execute("INSERT INTO imported (name) VALUES (?)", (name,))
            row = database.execute(
                "INSERT OR IGNORE INTO conversations (id, owner, began_at, changed_s, title, turns, continues) "
                "VALUES (?, ?, ?, ?, '', 0, ?)",
                (name, TERMINAL, began_at, changed_s, continues),
            )
            if row.rowcount:
                number = row.lastrowid or 0
                self._append(database, number, items)
                database.execute("UPDATE conversations SET changed_s = ? WHERE number = ?", (changed_s, number))
        return True

    # ---- limits ----

    def _check_size(self, database: sqlite3.Connection, owner: str) -> None:
        if owner == TERMINAL:
            return
        names = ("page_count", "freelist_count", "page_size")
        pages, free, size = (int(database.execute(f"PRAGMA {name}").fetchone()[0]) for name in names)
        if (pages - free) * size > MAX_FILE_BYTES:  # deletion leaves free pages, which are used again
            reason = f"it has reached {MAX_FILE_BYTES >> 30} GB: delete old conversations"
            raise ConversationFileError(self.path, reason, lasting=False)

    def _remove_old(self, database: sqlite3.Connection, owner: str) -> None:
        """Deletes conversations of browsers that are too old, and those of this one that are too many."""
        if self._retention is None or owner == TERMINAL:
            return
        old: list[tuple[int]] = []
        if self._retention.max_age_s:
            before_s = self._now_s() - self._retention.max_age_s
            query = "SELECT number FROM conversations WHERE owner <> ? AND changed_s < ?"
            old += database.execute(query, (TERMINAL, before_s)).fetchall()
        newest_first = "SELECT number FROM conversations WHERE owner = ? ORDER BY changed_s DESC, number DESC"
        beyond = (owner, self._retention.max_conversations)
        old += database.execute(f"{newest_first} LIMIT -1 OFFSET ?", beyond).fetchall()
        _delete(database, [number for (number,) in old], expired=True)


class ContinuedElsewhereError(Exception):
    """Another program has continued the same conversation."""


def _last_item(database: sqlite3.Connection, number: int) -> int:
    (last,) = database.execute("SELECT max(number) FROM items WHERE conversation = ?", (number,)).fetchone()
    return int(last or 0)


def _delete_drafts(database: sqlite3.Connection, place: Place) -> None:
    if not place.drafts:
        return
    numbers = "SELECT number FROM items WHERE conversation = ? ORDER BY number DESC LIMIT ?"
    rows = database.execute(numbers, (place.number, place.drafts)).fetchall()
    if conversation_search.forget(database, place.number, min(number for (number,) in rows)):
        conversation_search.purge(database)
    database.executemany("DELETE FROM items WHERE number = ?", rows)


def _delete(database: sqlite3.Connection, numbers: Sequence[int], *, expired: bool = False) -> None:
    marks = ",".join("?" * len(numbers))
    named = database.execute(f"SELECT owner, id FROM conversations WHERE number IN ({marks})", numbers).fetchall()  # noqa: S608
    for number in numbers:
        conversation_search.forget(database, number)
        database.execute("DELETE FROM items WHERE conversation = ?", (number,))
        database.execute("DELETE FROM conversations WHERE number = ?", (number,))
    if numbers:
        pause_table.delete_orphans(database)
        fact_table.delete_of(database, named, expired=expired)
        conversation_search.purge(database)


def _title(text: str) -> str:
    title = " ".join("".join(char if char.isprintable() else " " for char in text[: 4 * MAX_TITLE_CHARS]).split())
    return title if len(title) <= MAX_TITLE_CHARS else title[: MAX_TITLE_CHARS - 1].rstrip() + "…"
