"""Lists and searches the stored conversations of one owner.

The search index is an FTS5 table of trigrams, so that it finds parts of words in every language. It is filled when
somebody searches. Where SQLite has no FTS5, all words of the owner are compared: the results are the same.
"""

import re
import sqlite3
import time
import unicodedata
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache

MAX_QUERY_CHARS = 200
MAX_TERMS = 8
"""Limits of one search; what is beyond them is ignored."""

TRIGRAM = 3
"""Shortest term that the index finds, in characters."""

SEARCH_TIMEOUT_S = 2.0
"""A search that takes longer is aborted with "interrupted"."""

MAX_FILL_CHARS = 500_000
"""Characters that one search adds to the index, about; the words of the others are compared. While the index is filled,
nothing else uses the file: 20 million characters took 6 s of CPU time."""

SNIPPET_CHARS = 120

_COLUMNS = "conversations.number, conversations.id, title, began_at, changed_s, turns"


@dataclass(frozen=True, slots=True)
class Summary:
    """One line of a list of conversations.

    Attributes:
        id: Its id.
        title: The beginning of the user's first message.
        began_at: ISO 8601.
        changed_s: When it changed last, in seconds since 1970.
        turns: Number of the user's turns.
        snippet: The words around the first result of a search, in lower case; "" without a search.
    """

    id: str
    title: str
    began_at: str
    changed_s: float
    turns: int
    snippet: str = ""


def folded(text: str) -> str:
    """Returns text for comparison: without case, accents and line breaks."""
    plain = unicodedata.normalize("NFKD", text.casefold().replace("\0", " "))
    without_accents = "".join(char for char in plain if not unicodedata.combining(char))
    return " ".join(without_accents.split()).encode(errors="replace").decode()  # SQLite stores no half surrogate pair


def newest(database: sqlite3.Connection, owner: str, limit: int, before_s: float | None) -> list[Summary]:
    """Returns the newest conversations of an owner; see `ConversationFile.summaries`."""
    rows = database.execute(
        f"SELECT {_COLUMNS} FROM conversations WHERE owner = ? AND (? IS NULL OR changed_s < ?) "  # noqa: S608
        "ORDER BY changed_s DESC, number DESC LIMIT ?",
        (owner, before_s, before_s, limit),
    )
    return [Summary(*row[1:]) for row in rows]


def search(database: sqlite3.Connection, owner: str, words: str, limit: int) -> list[Summary]:
    """Returns the newest conversations in which one item contains all the words."""
    terms = list(dict.fromkeys(folded(words[:MAX_QUERY_CHARS]).split()))[:MAX_TERMS]
    if not terms:
        return []
    conditions = ["owner = ?", *["instr(items.words, ?) > 0"] * len(terms)]
    values: list[object] = [owner, *terms]
    indexed = [term for term in terms if len(term) >= TRIGRAM]
    if indexed and has_index():
        conditions.append(
            "(items.number > ? OR items.number IN (SELECT rowid FROM word_index WHERE word_index MATCH ?))"
        )
        values.append(_fill_index(database))
        values.append(" ".join('"' + term.replace('"', '""') + '"' for term in indexed))
    with _limited_time(database):
        rows = database.execute(
            f"SELECT {_COLUMNS}, items.words, max(items.number) FROM items JOIN conversations "  # noqa: S608
            f"ON conversations.number = items.conversation WHERE {' AND '.join(conditions)} "
            "GROUP BY conversations.number ORDER BY changed_s DESC, conversations.number DESC LIMIT ?",
            (*values, limit),
        ).fetchall()
    return [replace(Summary(*row[1:6]), snippet=_snippet(row[6], terms[0])) for row in rows]


def forget(database: sqlite3.Connection, number: int, first: int = 0) -> bool:
    """Removes the items of a conversation, from the item `first` on, from the index, before they are deleted.

    Returns whether the index had any of them.
    """
    if not _index_exists(database):
        return False
    if not has_index():  # a process with another SQLite made the index; the next search with it makes it anew
        database.execute("DELETE FROM index_state")
        return False
    removed = database.execute(
        "INSERT INTO word_index (word_index, rowid, words) SELECT 'delete', number, words FROM items "
        "WHERE conversation = ? AND number >= ? AND number <= (SELECT coalesce(max(indexed), 0) FROM index_state)",
        (number, first),
    )
    return removed.rowcount > 0


def purge(database: sqlite3.Connection) -> None:
    """Removes the words of forgotten items from the index for good: it only marks them as deleted."""
    if _index_exists(database) and has_index():
        database.execute("INSERT INTO word_index (word_index) VALUES ('optimize')")


@cache
def has_index() -> bool:
    """Returns whether this SQLite can index words."""
    database = sqlite3.connect(":memory:")
    try:
        database.execute("CREATE VIRTUAL TABLE one USING fts5(words, tokenize = 'trigram')")
    except sqlite3.Error:
        return False
    finally:
        database.close()
    return True


def _index_exists(database: sqlite3.Connection) -> bool:
    return database.execute("SELECT 1 FROM sqlite_master WHERE name = 'index_state'").fetchone() is not None


def _fill_index(database: sqlite3.Connection) -> int:
    """Adds items that are not in the index yet, as many as one search may add. Returns the number of the last one."""
    with database:
        database.execute("BEGIN IMMEDIATE")
        if not _index_exists(database):
            database.execute("CREATE TABLE index_state (indexed INTEGER NOT NULL)")
            database.execute(
                "CREATE VIRTUAL TABLE word_index USING fts5(words, content = 'items', content_rowid = 'number', "
                "tokenize = 'trigram')"
            )
        (indexed,) = database.execute("SELECT max(indexed) FROM index_state").fetchone()
        if indexed is None:
            database.execute("INSERT INTO word_index (word_index) VALUES ('delete-all')")
        first = last = int(indexed or 0)
        chars = 0
        for number, length in database.execute(
            "SELECT number, length(words) FROM items WHERE number > ? ORDER BY number", (first,)
        ):
            last, chars = number, chars + length
            if chars >= MAX_FILL_CHARS:
                break
        if last == indexed:
            return last
        database.execute(
            "INSERT INTO word_index (rowid, words) SELECT number, words FROM items WHERE number > ? AND number <= ?",
            (first, last),
        )
        database.execute("DELETE FROM index_state")
        database.execute("INSERT INTO index_state VALUES (?)", (last,))
    return last


@contextmanager
def _limited_time(database: sqlite3.Connection) -> Generator[None]:
    ends_s = time.monotonic() + SEARCH_TIMEOUT_S
    database.set_progress_handler(lambda: time.monotonic() > ends_s, 10_000)
    try:
        yield
    finally:
        database.set_progress_handler(None, 0)


def _snippet(words: str, term: str) -> str:
    position = max(0, words.find(term) - SNIPPET_CHARS // 3)
    begin = words.rfind(" ", 0, position) + 1 if position else 0
    cut = words[begin : begin + SNIPPET_CHARS]
    tail = "…" if begin + SNIPPET_CHARS < len(words) else ""
    return ("…" if begin else "") + re.sub(r"\s+", " ", cut).strip() + tail
