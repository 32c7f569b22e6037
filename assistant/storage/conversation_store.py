"""Stores conversations in files, so that they can be resumed: one file each, one line for each finished item.

A resumed conversation gets a new file that begins with the content of the old one. The old file stays as it is. So no
two processes ever write to one file, and no locks are needed. A file is created together with its first turn, under a
temporary name, and then renamed.
"""

import os
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import takewhile
from pathlib import Path
from typing import Self

from assistant.events import ReplyStarted, ReplyStopped, SessionEvent, TurnFinished
from assistant.history.items import Item, ItemId
from assistant.storage.store_format import Heading, NewerVersionError, heading_line, item_lines, parse_conversation
from assistant.support.background_writer import BackgroundWriter, append_whole
from assistant.support.paths import data_folder
from audio.private_file import BINARY, make_private_folder, open_private

_SUFFIX = ".jsonl"


class ResumeError(Exception):
    """A conversation cannot be resumed. The text is one sentence: what is wrong and what to do next."""


def conversations_folder(environ: Mapping[str, str]) -> Path:
    """Returns the folder of conversations: beside the models, in the user's data folder."""
    return data_folder(environ) / "conversations"


def unwritable(folder: Path) -> str:
    """Returns why no conversation can be stored in the folder and what to do; "" if one can. Leaves nothing behind."""
    lost, off = "the conversation is not stored.", "set talk.remember = false."
    try:
        there = next(place for place in (folder, *folder.absolute().parents) if place.exists())
        if not there.is_dir():
            return f"{there} is a file: {lost} Remove it, or {off}"
        with tempfile.TemporaryFile(dir=there):
            pass
    except OSError as error:
        why = error.strerror or repr(error)
        return f"{folder} cannot be written ({why}): {lost} Make it writable, or {off}"
    return ""


class ConversationStore:
    """Stores one conversation. Not thread-safe: call it on the event loop. It accesses the disk in a thread.

    Attributes:
        name: Name of the conversation.
        path: Its file, created with its first turn.
        items: Items of the resumed conversation; empty for a new one.
        continues: Name of the resumed conversation; "" for a new one.
        continued_at: When the resumed conversation began, ISO 8601; "" where that is not known.
    """

    def __init__(
        self,
        folder: Path,
        name: str,
        began_at: str,
        report_problem: Callable[[str], None],
        *,
        items: tuple[Item, ...] = (),
        continues: str = "",
        continued_at: str = "",
    ) -> None:
        """Use `create` or `open` instead."""
        self.name = name
        self.path = folder / f"{name}{_SUFFIX}"
        self.items = items
        self.continues = continues
        self.continued_at = continued_at
        self._heading = Heading(began_at, continues)
        self._stored_ids: set[ItemId] = {item.id for item in items}
        self._open_reply: ReplyStarted | None = None
        self._created = False
        self._writer = BackgroundWriter(
            self.path,
            self._write,
            report_problem,
            waits="the conversation waits in memory. Check the free space, or set talk.remember = false.",
            lost=self._lost,
        )

    @classmethod
    def create(cls, folder: Path, name: str, began_at: str, report_problem: Callable[[str], None]) -> Self:
        """Returns the store of a new conversation. Nothing is written yet.

        Args:
            folder: Folder of conversations.
            name: A unique name.
            began_at: Wall clock, ISO 8601.
            report_problem: Receives one sentence for the user when the disk fails.
        """
        return cls(folder, name, began_at, report_problem)

    @classmethod
    def open(cls, folder: Path, wanted: str, name: str, began_at: str, report_problem: Callable[[str], None]) -> Self:
        """Resumes a conversation under another name. `items` holds what was said in it. Nothing is written yet.

        Lines that cannot be read are skipped and reported to `report_problem`. Blocks while the file is read.

        Args:
            folder: Folder of conversations.
            wanted: Name of the old conversation, or its beginning; "" is the latest.
            name: A unique name for the new one.
            began_at: Wall clock, ISO 8601.
            report_problem: Receives one sentence for the user when the disk fails.

        Raises:
            ResumeError: There is no such conversation, or it cannot be read.
        """
        old = _full_name(folder, wanted)
        try:
            content = (folder / f"{old}{_SUFFIX}").read_bytes()
            found = parse_conversation(content)
        except OSError as error:
            raise ResumeError(f"{folder / old}{_SUFFIX} cannot be read ({error.strerror or error}).") from error
        except NewerVersionError as error:
            what = f"{folder / old}{_SUFFIX} was written by a newer version ({error})"
            raise ResumeError(f"{what}: update Repartee.") from error
        if found.lost:
            lost = "a line is" if found.lost == 1 else f"{found.lost} lines are"
            report_problem(f"{old}: {lost} damaged and left out of the conversation")
        old_at = "" if found.heading is None else found.heading.began_at
        return cls(folder, name, began_at, report_problem, items=found.items, continues=old, continued_at=old_at)

    @staticmethod
    def names(folder: Path) -> tuple[str, ...]:
        """Returns the names of the stored conversations, the most recently changed first."""
        dated: list[tuple[int, str]] = []
        with suppress(OSError):  # no folder: nothing was ever stored
            for path in folder.iterdir():
                if path.suffix == _SUFFIX and path.is_file():
                    with suppress(OSError):  # it was deleted just now
                        dated.append((path.stat().st_mtime_ns, path.stem))
        return tuple(name for _, name in sorted(dated, reverse=True))

    # ---- session events ----

    def record(self, event: SessionEvent, items: Sequence[Item]) -> None:
        """Processes a session event. `items` is the history at this moment; the items of a finished turn are stored."""
        match event:
            case ReplyStarted():
                self._open_reply = event
            case ReplyStopped() if event.reason == "went on":
                self._open_reply = None
            case TurnFinished():
                if self._open_reply is not None and self._open_reply.reply.turn == event.record.turn:
                    self._open_reply = None
                unfinished = None if self._open_reply is None else self._open_reply.item
                self.remember(takewhile(lambda item: item.id != unfinished, items))

    def remember(self, items: Iterable[Item]) -> None:
        """Queues the items that are not stored yet. They must not change any more. Never blocks."""
        new = [item for item in items if item.id not in self._stored_ids]
        self._stored_ids.update(item.id for item in new)
        self._writer.put(new)

    async def settle(self) -> None:
        """Waits until everything is written. The caller sets a time limit, because a disk may stay full."""
        await self._writer.settle()

    # ---- the disk ----

    def _lost(self, _items: int) -> str:
        return "the end of the conversation is not stored." if self._created else "the conversation is not stored."

    async def run(self) -> None:
        """Writes queued items until it is cancelled, and then those that are left."""
        await self._writer.run()

    def _write(self, items: Sequence[Item]) -> None:
        """Writes items; runs in a thread. Raises OSError."""
        if self._created:
            _append_lines(self.path, item_lines(items))
        else:
            _create_file(self.path, heading_line(self._heading) + item_lines((*self.items, *items)))
            self._created = True


def _full_name(folder: Path, wanted: str) -> str:
    """Returns the full name of the wanted conversation. Raises ResumeError."""
    names = ConversationStore.names(folder)
    try:
        is_file = folder.exists() and not folder.is_dir()
    except OSError as error:
        raise ResumeError(f"{folder} cannot be read ({error.strerror or error}).") from error
    if is_file:
        raise ResumeError(f"{folder} is a file, not a folder of conversations: remove it.")
    if not names:
        raise ResumeError(f"{folder} contains no conversation: set talk.remember = true to store conversations.")
    matching = [name for name in names if name.startswith(wanted)]
    if wanted in names or not wanted:
        return wanted or names[0]
    if len(matching) == 1:
        return matching[0]
    which = f"{len(matching)} conversations begin" if matching else "no conversation begins"
    raise ResumeError(f'{which} with "{wanted}" in {folder}; choose one of {", ".join((matching or names)[:5])}.')


def _create_file(path: Path, content: bytes) -> None:
    """Creates the file completely or not at all. Raises OSError."""
    make_private_folder(path.parent)
    unfinished = path.with_suffix(".part")
    file = open_private(unfinished, os.O_WRONLY | os.O_TRUNC)
    try:
        append_whole(file, content)
    except OSError:
        os.close(file)
        unfinished.unlink(missing_ok=True)
        raise
    os.close(file)
    unfinished.rename(path)


def _append_lines(path: Path, content: bytes) -> None:
    """Appends whole lines or nothing. Raises OSError, also if the file is gone: a user who deleted it meant to."""
    file = os.open(path, os.O_WRONLY | os.O_APPEND | BINARY)
    try:
        append_whole(file, content)
    finally:
        os.close(file)
