"""Keeps cached answers in one SQLite file. Several processes may share it."""

import sqlite3
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np

from llm.cache import MAX_FOUND, STORE_TIMEOUT_S, CacheEntry, CacheStoreError, entry_id

CLOCK_ERROR_S = 86400.0
"""Entries from so far in the future were stored while the clock was wrong. They would outlive their age, in seconds."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS answers (
    id TEXT PRIMARY KEY, scope TEXT NOT NULL, form TEXT NOT NULL, words TEXT NOT NULL, language TEXT NOT NULL,
    request TEXT NOT NULL, answer TEXT NOT NULL, by TEXT NOT NULL, created_s REAL NOT NULL, used_s REAL NOT NULL,
    hits INTEGER NOT NULL, vector BLOB, UNIQUE (scope, words)
);
CREATE INDEX IF NOT EXISTS by_form ON answers (scope, form);
CREATE INDEX IF NOT EXISTS by_use ON answers (used_s);
"""
_COLUMNS = "id, scope, form, words, language, request, answer, by, created_s, vector, hits"
VERSION = 1


class SqliteStore:
    """A CacheStore in a file. Use it in one thread.

    Args:
        path: The file; created with its folder, readable by the user only. None: in memory, until it is closed.
        max_entries: Beyond it, the least recently used entry is removed.
        max_age_s: Older entries are removed.
        now_s: Returns the seconds since 1970.
        timeout_s: Longest wait for another process that writes.
        creates: Whether a missing file is created; else the store is then empty.
    """

    def __init__(
        self,
        path: Path | None,
        *,
        max_entries: int,
        max_age_s: float,
        now_s: Callable[[], float],
        timeout_s: float = STORE_TIMEOUT_S,
        creates: bool = True,
    ) -> None:
        self.name = "in memory" if path is None else f"sqlite {path}"
        self._path = path if path is None or creates or path.exists() else None
        self._max_entries = max_entries
        self._max_age_s = max_age_s
        self._now_s = now_s
        self._timeout_s = timeout_s
        self._database: sqlite3.Connection | None = None

    def find(self, scope: str, form: str, words: str) -> list[CacheEntry]:
        """See `CacheStore`."""
        with self._opened() as database:
            rows = database.execute(
                f"SELECT {_COLUMNS} FROM answers WHERE scope = ? AND form = ? AND created_s > ? AND created_s < ? "  # noqa: S608
                "ORDER BY id = ? DESC, used_s DESC LIMIT ?",
                (scope, form, *self._ages_s, entry_id(scope, words), MAX_FOUND),
            )
            return [_entry(row) for row in rows]

    def store_entry(self, entry: CacheEntry) -> None:
        """See `CacheStore`."""
        vector = None if entry.vector is None else entry.vector.astype("<f4").tobytes()
        with self._opened() as database, database:
            database.execute(
                f"INSERT OR REPLACE INTO answers ({_COLUMNS}, used_s) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",  # noqa: S608
                (
                    entry.id, entry.scope, entry.form, entry.words, entry.language, entry.request, entry.answer,
                    entry.by, entry.created_s, vector, entry.hits, self._now_s(),
                ),
            )  # fmt: skip
            self._remove_old(database)
            database.execute(
                "DELETE FROM answers WHERE id IN "
                "(SELECT id FROM answers ORDER BY used_s DESC, rowid DESC LIMIT -1 OFFSET ?)",
                (self._max_entries,),
            )

    def used(self, entry: CacheEntry) -> None:
        """See `CacheStore`."""
        with self._opened() as database, database:
            database.execute("UPDATE answers SET hits = hits + 1, used_s = ? WHERE id = ?", (self._now_s(), entry.id))

    def entries(self) -> list[CacheEntry]:
        """See `CacheStore`."""
        with self._opened() as database:
            rows = database.execute(
                f"SELECT {_COLUMNS} FROM answers WHERE created_s > ? AND created_s < ? ORDER BY used_s DESC",  # noqa: S608
                self._ages_s,
            )
            return [_entry(row) for row in rows]

    def forget(self, ids: Sequence[str]) -> int:
        """See `CacheStore`."""
        with self._opened() as database, database:
            removed = sum(
                database.execute("DELETE FROM answers WHERE id = ?", (stored_id,)).rowcount
                for stored_id in dict.fromkeys(ids)
            )
            self._remove_old(database)
        with self._opened() as database:  # the words are gone from the file; now from the log of changes, too
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return removed

    def close(self) -> None:
        """See `CacheStore`."""
        database, self._database = self._database, None
        if database is not None:
            database.close()

    @property
    def _ages_s(self) -> tuple[float, float]:
        """Times of the valid entries, exclusive. Those of the future are from a clock that was wrong."""
        now_s = self._now_s()
        return now_s - self._max_age_s, now_s + CLOCK_ERROR_S

    def _remove_old(self, database: sqlite3.Connection) -> None:
        database.execute("DELETE FROM answers WHERE created_s <= ? OR created_s >= ?", self._ages_s)

    @contextmanager
    def _opened(self) -> Generator[sqlite3.Connection]:
        """Opens the file at the first use. Raises CacheStoreError; the next use opens it again."""
        try:
            if self._database is None:
                self._database = self._open()
            yield self._database
        except (sqlite3.Error, OSError, ValueError) as error:
            if getattr(error, "sqlite_errorcode", None) != sqlite3.SQLITE_BUSY:
                self.close()
            raise CacheStoreError(f"the answer cache {self.name} cannot be used ({_reason(error)})") from error

    def _open(self) -> sqlite3.Connection:
        if self._path is not None:
            _make_private(self._path)
        database = sqlite3.connect(self._path or ":memory:", timeout=self._timeout_s)
        try:
            is_new = _is_new(database)
            database.execute("PRAGMA journal_mode = WAL")
            database.execute("PRAGMA synchronous = NORMAL")
            database.execute("PRAGMA secure_delete = ON")
            if is_new:
                database.executescript(_SCHEMA)
                database.execute(f"PRAGMA user_version = {VERSION}")
            with suppress(sqlite3.OperationalError), database:  # another process may be writing
                self._remove_old(database)
        except BaseException:
            database.close()
            raise
        return database


def _make_private(path: Path) -> None:
    """Creates the file with mode 0600, and its missing folders with mode 0700, whatever the umask. Raises OSError."""
    for folder in reversed(path.parents):
        if not folder.is_dir():
            folder.mkdir(0o700, exist_ok=True)
            folder.chmod(0o700)
    with suppress(FileExistsError):  # an existing file keeps its mode, which its owner may have chosen
        path.touch(0o600, exist_ok=False)
        path.chmod(0o600)


def _is_new(database: sqlite3.Connection) -> bool:
    """Returns whether the file has no tables yet. Raises ValueError if another version has written it."""
    (version,) = database.execute("PRAGMA user_version").fetchone()
    if version not in {0, VERSION}:
        raise ValueError("it was written by another version of Repartee; remove it")
    return bool(version == 0)


_Row = tuple[str, str, str, str, str, str, str, str, float, bytes | None, int]


def _entry(row: _Row) -> CacheEntry:
    stored_id, scope, form, words, language, request, answer, by, created_s, blob, hits = row
    vector = None if blob is None else np.frombuffer(blob, "<f4")
    return CacheEntry(stored_id, scope, form, words, language, request, answer, by, created_s, vector, hits)


def _reason(error: Exception) -> str:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # without its extension
    remedy = "; remove it" if code in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB} else ""
    return str(getattr(error, "strerror", "") or error) + remedy
