"""Opens an SQLite file of the user (conversations, lists), for one call at a time, and says why it cannot be used."""

import errno
import os
import sqlite3
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from audio.private_file import make_private_folder, open_private

VERSION = 1
"""Version of the tables, in the file's `user_version`."""

BUSY_TIMEOUT_S = 3.0
"""Longest wait for another process, or another conversation of this process, that uses the file."""

_SCHEMA = (
    "CREATE TABLE conversations (number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL, owner TEXT NOT NULL, "
    "began_at TEXT NOT NULL, changed_s REAL NOT NULL, title TEXT NOT NULL, turns INTEGER NOT NULL, "
    "continues TEXT NOT NULL, UNIQUE (owner, id))",
    "CREATE INDEX by_owner ON conversations (owner, changed_s)",
    "CREATE TABLE items (number INTEGER PRIMARY KEY AUTOINCREMENT, conversation INTEGER NOT NULL, line BLOB NOT NULL, "
    "words TEXT NOT NULL)",
    "CREATE INDEX by_conversation ON items (conversation, number)",
    "CREATE TABLE imported (name TEXT PRIMARY KEY)",
)
_PASSING = frozenset(
    {
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_INTERRUPT,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_READONLY,
    }
)
"""Errors after which the file may be usable later."""


class ConversationFileError(OSError):
    """The file cannot be used. Its `strerror` is a part of a sentence: the reason.

    Attributes:
        lasting: Whether another attempt would fail, too.
        text: The file and the reason.
    """

    def __init__(self, path: Path, reason: str, *, lasting: bool) -> None:
        super().__init__(errno.EIO, reason)
        self.lasting = lasting
        self.text = f"{path} cannot be used ({reason})"


class ConversationDatabase:
    """The open file. Thread-safe: one call at a time, the others wait.

    Args:
        path: The file; created with its folder at the first change, readable by the user only.
        timeout_s: Longest wait for others that use the file.
        schema: Statements that create the tables of a new file.
    """

    def __init__(self, path: Path, timeout_s: float, schema: Sequence[str] = _SCHEMA) -> None:
        self.path = path
        self._schema = schema
        self._timeout_s = timeout_s
        self._lock = threading.Lock()
        self._database: sqlite3.Connection | None = None
        self._inode: tuple[int, int] | None = None

    def close(self) -> None:
        """Closes the file. The next call opens it again."""
        with self._lock:
            self._close()

    @contextmanager
    def created(self) -> Generator[sqlite3.Connection]:
        """Gives the open file, and creates it if there is none. Raises ConversationFileError."""
        with self.opened(create=True) as database:
            assert database is not None
            yield database

    @contextmanager
    def opened(self, *, create: bool = False) -> Generator[sqlite3.Connection | None]:
        """Gives the open file; None if there is none and it must not be created. Raises ConversationFileError."""
        if not self._lock.acquire(timeout=self._timeout_s):
            raise ConversationFileError(self.path, "it is in use", lasting=False)
        try:
            self._close_if_removed()
            if self._database is None and (create or self.path.exists()):
                self._database = self._open()
            yield self._database
        except ConversationFileError:
            raise
        except (sqlite3.Error, OSError, ValueError) as error:
            raise self._failure(error) from error
        finally:
            self._lock.release()

    def _open(self) -> sqlite3.Connection:
        make_private_folder(self.path.parent)
        if not self.path.exists():
            os.close(open_private(self.path, os.O_RDWR))
        database = sqlite3.connect(self.path, timeout=self._timeout_s, isolation_level=None, check_same_thread=False)
        try:
            _check_version(database)
            database.execute("PRAGMA journal_mode = WAL")
            database.execute("PRAGMA synchronous = FULL")
            database.execute("PRAGMA secure_delete = ON")
            _create_tables(database, self._schema)
        except BaseException:
            database.close()
            raise
        self._inode = _inode(self.path)
        return database

    def _close_if_removed(self) -> None:
        """Closes the file if somebody else has removed or replaced it."""
        if self._database is not None:
            with suppress(OSError):
                if _inode(self.path) == self._inode:
                    return
            self._close()

    def _close(self) -> None:
        database, self._database = self._database, None
        if database is not None:
            database.close()

    def _failure(self, error: Exception) -> ConversationFileError:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # without its extension
        if code != sqlite3.SQLITE_BUSY:
            self._close()
        reason = str(getattr(error, "strerror", "") or error)
        lasting = not isinstance(error, OSError) and code not in _PASSING
        return ConversationFileError(self.path, reason, lasting=lasting)


@contextmanager
def changing(database: sqlite3.Connection) -> Generator[None]:
    """Runs a transaction that changes the file: all of it or nothing."""
    with database:
        database.execute("BEGIN IMMEDIATE")
        yield


def _inode(path: Path) -> tuple[int, int]:
    stat = path.stat()
    return stat.st_dev, stat.st_ino


def _check_version(database: sqlite3.Connection) -> int:
    (version,) = database.execute("PRAGMA user_version").fetchone()
    if version > VERSION:
        raise ValueError("a newer version of Repartee has written it: update Repartee")
    return int(version)


def _create_tables(database: sqlite3.Connection, schema: Sequence[str]) -> None:
    """Creates the tables of a new file."""
    if _check_version(database) == VERSION:
        return
    with changing(database):
        if _check_version(database) == 0:  # no other process was faster
            for statement in schema:
                database.execute(statement)
            database.execute(f"PRAGMA user_version = {VERSION}")
