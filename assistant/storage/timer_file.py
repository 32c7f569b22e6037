"""Stores timers, alarms and reminders in one SQLite file. Several processes may share it. Blocks: call it in a thread.

An entry that is due is claimed by the process that announces it, so that it rings once. The process deletes it when it
was heard. If the process is killed before that, the claim expires and the next start finds the entry again.
"""

import os
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from itertools import combinations
from pathlib import Path

from assistant.skills.timers.stored_timers import Pending, StoredTimer, Write, planned_of
from assistant.support.paths import data_folder
from audio.private_file import make_private_folder, open_private

VERSION = 4
"""Version of the tables, in the file's `user_version`."""

BUSY_TIMEOUT_S = 2.0
"""Longest wait for another process that writes."""

CLAIM_LASTS_S = 15.0
"""A claim older than this is void: the process that made it has ended before the announcement was heard."""

MAX_ROWS = 200
"""More entries than all processes can set. A larger file was not written by this program."""

_SCHEMA = """
CREATE TABLE timers (
    key TEXT PRIMARY KEY, length_s REAL, name TEXT, due_at REAL, left_s REAL, local_time TEXT, fold INTEGER NOT NULL,
    announcement TEXT NOT NULL, claimed_at REAL, weekdays TEXT, room TEXT NOT NULL DEFAULT '',
    planned TEXT
);
"""
_ADDED_IN = {2: "weekdays TEXT", 3: "room TEXT NOT NULL DEFAULT ''", 4: "planned TEXT"}
"""Columns by the version that has added them."""
_SET_ASIDE = "CREATE TABLE IF NOT EXISTS damaged AS SELECT * FROM timers WHERE false"
_COLUMNS = (
    *("length_s", "name", "due_at", "left_s", "local_time", "fold", "announcement", "weekdays", "room"),
    "planned",
)

_YEARS = range(1970, 2200)
_LAST_DUE_AT = 230 * 366 * 86400.0  # seconds since 1970; not before the end of `_YEARS`
_LONGEST_S = 366 * 86400.0


class TimerFileError(Exception):
    """The file cannot be used. The text is a part of a sentence: the file and the reason.

    Attributes:
        lasting: Whether another attempt would fail, too.
    """

    def __init__(self, text: str, *, lasting: bool) -> None:
        super().__init__(text)
        self.lasting = lasting


@dataclass(frozen=True, slots=True)
class Exchanged:
    """The result of an exchange with the file.

    Attributes:
        claimed: For each of the claims, whether it was made. An entry that was changed or is claimed is not claimed.
        rows: All entries that no live process has claimed; None if nothing has changed since the last call.
        removed: Whether the file was removed or replaced by somebody else, so that nothing was done.
        damaged: Number of entries with impossible content that were moved into the table `damaged`.
    """

    claimed: tuple[bool, ...] = ()
    rows: tuple[StoredTimer, ...] | None = None
    removed: bool = False
    damaged: int = 0


def timers_path(environ: Mapping[str, str]) -> Path:
    """Returns the file of the user's timers, in the user's data folder. Raises HomeError."""
    return data_folder(environ) / "timers.sqlite3"


class TimerFile:
    """The file. One call at a time.

    Args:
        path: The file; created with its folder when the first entry is written, readable by the user only.
        now_s: Returns the seconds since 1970.
        timeout_s: Longest wait for another process that writes.
    """

    def __init__(self, path: Path, now_s: Callable[[], float], *, timeout_s: float = BUSY_TIMEOUT_S) -> None:
        self.path = path
        self._now_s = now_s
        self._timeout_s = timeout_s
        self._database: sqlite3.Connection | None = None
        self._inode: tuple[int, int] | None = None
        self._seen_version = -1
        self._any_claimed = False  # claims may expire without a change of the file

    def exchange(self, pending: Pending) -> Exchanged:
        """Writes all changes and claims entries, in one transaction; then reads. Raises TimerFileError.

        If writing fails, nothing is written. If the file was removed or replaced, nothing is done; the next call opens
        it again.
        """
        if self._was_removed():
            return Exchanged(removed=True)
        try:
            if self._database is None and not self.path.exists() and all(write.row is None for write in pending.writes):
                return Exchanged(tuple(False for _ in pending.claims))
            database = self._opened()
            made = () if pending.is_empty else self._write(database, pending)
            if not all(made):
                self._seen_version = -1  # an entry was changed by another process, perhaps before the last reading
        except (sqlite3.Error, OSError, ValueError) as error:
            raise self._failure(error) from error
        try:
            rows, damaged = self._read_changes(database)
            return Exchanged(made, rows, damaged=damaged)
        except sqlite3.Error as error:
            if pending.is_empty:
                raise self._failure(error) from error
            return Exchanged(made)  # the next call reads

    def _write(self, database: sqlite3.Connection, pending: Pending) -> tuple[bool, ...]:
        with database:
            database.execute("BEGIN IMMEDIATE")
            for write in pending.writes:
                _write(database, write)
            made = tuple(self._claim(database, row) for row in pending.claims)
            for key in pending.released:
                database.execute("UPDATE timers SET claimed_at = NULL WHERE key = ?", (key,))
            for key in pending.renewed:
                database.execute("UPDATE timers SET claimed_at = ? WHERE key = ?", (self._now_s(), key))
        return made

    def _read_changes(self, database: sqlite3.Connection) -> tuple[tuple[StoredTimer, ...] | None, int]:
        """Returns the entries if they may have changed, and the number of damaged ones that it has set aside."""
        (version,) = database.execute("PRAGMA data_version").fetchone()
        if version == self._seen_version and not self._any_claimed:
            return None, 0
        columns = ", ".join(_COLUMNS)
        rows = database.execute(
            f"SELECT rowid, claimed_at, key, {columns} FROM timers LIMIT {MAX_ROWS}"  # noqa: S608
        ).fetchall()
        timers = [(claimed_at, _stored_timer(tuple(values))) for _, claimed_at, *values in rows]
        damaged = [row[0] for row, (_, timer) in zip(rows, timers, strict=True) if timer is None]
        if damaged:
            _set_aside(database, damaged)
        self._seen_version = -1 if damaged else version  # more rows than the limit may be left
        free = [timer for claimed_at, timer in timers if timer is not None and not self._is_claimed(claimed_at)]
        self._any_claimed = len(free) < len(rows) - len(damaged)
        return tuple(free), len(damaged)

    def _was_removed(self) -> bool:
        """Returns whether the file was removed or replaced while it was open; then closes it."""
        if self._database is None:
            return False
        with suppress(OSError):
            if _inode(self.path) == self._inode:
                return False
        self.close()
        return True

    def close(self) -> None:
        """Closes the file."""
        database, self._database = self._database, None
        self._seen_version = -1
        if database is not None:
            database.close()

    def _is_claimed(self, claimed_at: object) -> bool:
        return isinstance(claimed_at, float) and abs(self._now_s() - claimed_at) <= CLAIM_LASTS_S

    def _claim(self, database: sqlite3.Connection, row: StoredTimer) -> bool:
        now_s = self._now_s()
        claimed = database.execute(
            "UPDATE timers SET claimed_at = ? WHERE key = ? AND due_at IS ? AND left_s IS ? AND local_time IS ? "
            "AND (claimed_at IS NULL OR abs(? - claimed_at) > ?)",
            (now_s, row.key, row.due_at, row.left_s, row.local_time, now_s, CLAIM_LASTS_S),
        )
        return claimed.rowcount == 1

    def _opened(self) -> sqlite3.Connection:
        """Opens the file at the first use. Raises OSError, sqlite3.Error, or ValueError for another version."""
        if self._database is not None:
            return self._database
        make_private_folder(self.path.parent)
        if not self.path.exists():
            os.close(open_private(self.path, os.O_RDWR))
        database = sqlite3.connect(
            self.path, timeout=self._timeout_s, isolation_level=None, check_same_thread=False
        )  # calls come from several threads, one after another
        try:
            database.text_factory = _text
            database.execute("PRAGMA secure_delete = ON")
            _prepare(database)
        except BaseException:
            database.close()
            raise
        self._database, self._inode = database, _inode(self.path)
        return database

    def _failure(self, error: Exception) -> TimerFileError:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # without its extension
        if code != sqlite3.SQLITE_BUSY:
            self.close()
        reason = str(getattr(error, "strerror", "") or error)
        lasting = code not in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_LOCKED}
        return TimerFileError(f"{self.path} cannot be used ({reason})", lasting=lasting)


def _text(stored: bytes) -> str | bytes:
    """Returns a text of the file; bytes if it is none, so that its entry is damaged and not the whole file."""
    try:
        return stored.decode()
    except UnicodeDecodeError:
        return stored


def _inode(path: Path) -> tuple[int, int]:
    stat = path.stat()
    return stat.st_dev, stat.st_ino


def _prepare(database: sqlite3.Connection) -> None:
    """Creates the tables of a new file. Raises ValueError if a later version has written it."""
    (version,) = database.execute("PRAGMA user_version").fetchone()
    if version > VERSION:
        raise ValueError("a newer version of Repartee has written it")
    if version == VERSION:
        return
    with database:
        database.execute("BEGIN IMMEDIATE")
        (version,) = database.execute("PRAGMA user_version").fetchone()
        if version < VERSION:  # no other process was faster
            if not version:
                database.execute(_SCHEMA)
            for column in [column for added, column in _ADDED_IN.items() if 0 < version < added]:
                database.execute(f"ALTER TABLE timers ADD COLUMN {column}")
            database.execute(f"PRAGMA user_version = {VERSION}")


def _set_aside(database: sqlite3.Connection, row_ids: list[int]) -> None:
    """Moves damaged entries into a table that the program does not read, so that they are reported once."""
    marks = ", ".join("?" * len(row_ids))
    with database:
        database.execute("BEGIN IMMEDIATE")
        database.execute(_SET_ASIDE)
        # A file of an earlier version may have the table with fewer columns.
        columns = ", ".join(str(column[1]) for column in database.execute("PRAGMA table_info(damaged)"))
        database.execute(
            f"INSERT INTO damaged ({columns}) SELECT {columns} FROM timers WHERE rowid IN ({marks})",  # noqa: S608
            row_ids,
        )
        database.execute(f"DELETE FROM timers WHERE rowid IN ({marks})", row_ids)  # noqa: S608


def _write(database: sqlite3.Connection, write: Write) -> None:
    if write.row is None:
        database.execute("DELETE FROM timers WHERE key = ?", (write.key,))
        return
    values = [getattr(write.row, column) for column in _COLUMNS]
    if write.is_new:
        marks = ", ".join("?" * (len(values) + 1))
        database.execute(
            f"INSERT OR REPLACE INTO timers (key, {', '.join(_COLUMNS)}) VALUES ({marks})",  # noqa: S608
            (write.key, *values),
        )
        return
    changes = ", ".join(f"{column} = ?" for column in _COLUMNS)
    database.execute(  # the next time of an alarm that rings again is not claimed yet
        f"UPDATE timers SET {changes}, claimed_at = CASE WHEN local_time IS ? THEN claimed_at END WHERE key = ?",  # noqa: S608
        (*values, write.row.local_time, write.key),
    )


def _stored_timer(row: tuple[object, ...]) -> StoredTimer | None:
    """Returns an entry; None if its content is impossible, because the file is damaged or another program wrote it."""
    match row:
        case (
            str(key), float() | None as length_s, str() | None as name, float() | None as due_at,
            float() | None as left_s, str() | None as local_time, 0 | 1 as fold, str(announcement),
            str() | None as weekdays, str(room), str() | None as planned,
        ):  # fmt: skip
            if (
                [due_at, left_s, local_time].count(None) == (2 if planned is None or due_at is None else 1)
                and all(0 <= length <= _LONGEST_S for length in (length_s, left_s) if length is not None)
                and (due_at is None or 0 <= due_at <= _LAST_DUE_AT)
                and (local_time is None or _is_local_time(local_time))
                and (weekdays is None or (local_time is not None and weekdays in _weekday_texts()))
                and (planned is None or (local_time is not None and planned_of(planned) is not None))
            ):
                return StoredTimer(
                    key, length_s, name, due_at, left_s, local_time, fold, announcement, weekdays, room, planned
                )
    return None


def _is_local_time(text: str) -> bool:
    with suppress(ValueError):
        time = datetime.fromisoformat(text)
        return time.tzinfo is None and time.year in _YEARS
    return False


@cache
def _weekday_texts() -> frozenset[str]:
    """Returns all sets of weekdays as they are stored."""
    return frozenset("".join(days) for count in range(1, 8) for days in combinations("0123456", count))
