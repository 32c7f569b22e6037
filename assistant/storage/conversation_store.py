"""Conversations kept in files, so that they can be gone on with: one file each, a line for each finished item.

Nobody writes to a file that another process may write to: a conversation that is gone on with gets a new file, which
begins with what the old one holds, and the old one stays as it is. So there is nothing to lock, and no lock to be left
behind by a process that was killed. A file comes into being whole, under another name first, with its first turn.
"""

import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import takewhile
from pathlib import Path
from typing import Self

from assistant.events import ReplyStarted, ReplyStopped, SessionEvent, TurnFinished
from assistant.history.items import Item, ItemId
from assistant.storage.store_format import Heading, NewerVersionError, heading_line, item_lines, remembered
from assistant.support.background_writer import BackgroundWriter, append_whole
from assistant.support.paths import at_home
from audio.private_file import BINARY, make_private_folder, open_private

_SUFFIX = ".jsonl"


class ResumeError(Exception):
    """A conversation cannot be gone on with. The text is one sentence: what, and what to do next."""


def conversations_folder(environ: Mapping[str, str]) -> Path:
    """Where conversations are kept: beside the models, in the user's data folder."""
    home = environ.get("XDG_DATA_HOME") or (environ.get("LOCALAPPDATA") if sys.platform == "win32" else "")
    return at_home(home or "~/.local/share") / "repartee" / "conversations"


def unwritable(folder: Path) -> str:
    """Why no conversation can be kept there, and what to do: a sentence; "" where one can. Leaves nothing behind."""
    lost, off = "nothing of the conversation is kept.", "set talk.remember = false."
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
    """What is kept of one conversation. Lives on the event loop; the disk is touched in a thread.

    Attributes:
        name: Of the conversation.
        path: Its file; made with its first turn.
        items: What it goes on from; empty for a new one.
        continues: The name of the conversation that it goes on from; "" for a new one.
        continued_at: When that one began, ISO 8601; "" where that is not known.
    """

    def __init__(
        self,
        folder: Path,
        name: str,
        began_at: str,
        complain: Callable[[str], None],
        *,
        items: tuple[Item, ...] = (),
        continues: str = "",
        continued_at: str = "",
    ) -> None:
        """See `create` and `open`."""
        self.name = name
        self.path = folder / f"{name}{_SUFFIX}"
        self.items = items
        self.continues = continues
        self.continued_at = continued_at
        self._heading = Heading(began_at, continues)
        self._kept: set[ItemId] = {item.id for item in items}
        self._under_way: ReplyStarted | None = None
        self._begun = False
        self._lines = BackgroundWriter(
            self.path,
            self._write,
            complain,
            waits="what was said waits in memory. Check the free space, or set talk.remember = false.",
            lost=self._lost,
        )

    @classmethod
    def create(cls, folder: Path, name: str, began_at: str, complain: Callable[[str], None]) -> Self:
        """A new conversation; `complain` hears one sentence when the disk fails. Nothing is written yet.

        Args:
            folder: Where conversations are kept.
            name: Of this one, as no other is called.
            began_at: Wall clock, ISO 8601.
            complain: For the person.
        """
        return cls(folder, name, began_at, complain)

    @classmethod
    def open(cls, folder: Path, wanted: str, name: str, began_at: str, complain: Callable[[str], None]) -> Self:
        """Go on with a conversation, under another name: `items` is what was said in it. Nothing is written yet.

        What of its file cannot be read is left out, which `complain` hears. Blocks for as long as reading takes.

        Args:
            folder: As in `create`.
            wanted: The name of the old one, or how it begins; "" is the latest.
            name: As in `create`.
            began_at: As in `create`.
            complain: As in `create`.

        Raises:
            ResumeError: There is none such, or it cannot be read.
        """
        old = _found(folder, wanted)
        try:
            content = (folder / f"{old}{_SUFFIX}").read_bytes()
            found = remembered(content)
        except OSError as error:
            raise ResumeError(f"{folder / old}{_SUFFIX} cannot be read ({error.strerror or error}).") from error
        except NewerVersionError as error:
            raise ResumeError(f"{folder / old}{_SUFFIX} is of a newer repartee ({error}): update this one.") from error
        if found.lost:
            lines = "a line" if found.lost == 1 else f"{found.lost} lines"
            complain(f"{old}: {lines} of the conversation could not be read, and what it said is left out")
        old_at = "" if found.heading is None else found.heading.began_at
        return cls(folder, name, began_at, complain, items=found.items, continues=old, continued_at=old_at)

    @staticmethod
    def names(folder: Path) -> tuple[str, ...]:
        """The conversations that are kept, the one in which something was said last coming first."""
        dated: list[tuple[int, str]] = []
        with suppress(OSError):  # no folder: nothing was ever kept
            for path in folder.iterdir():
                if path.suffix == _SUFFIX and path.is_file():
                    with suppress(OSError):  # it has just gone
                        dated.append((path.stat().st_mtime_ns, path.stem))
        return tuple(name for _, name in sorted(dated, reverse=True))

    # ---- what is said ----

    def tell(self, fact: SessionEvent, items: Sequence[Item]) -> None:
        """A fact of the conversation, and its history at this moment: what a finished turn has added is kept."""
        match fact:
            case ReplyStarted():
                self._under_way = fact
            case ReplyStopped() if fact.reason == "went on":
                self._under_way = None
            case TurnFinished():
                if self._under_way is not None and self._under_way.reply.turn == fact.record.turn:
                    self._under_way = None
                unfinished = None if self._under_way is None else self._under_way.item
                self.remember(takewhile(lambda item: item.id != unfinished, items))

    def remember(self, items: Iterable[Item]) -> None:
        """Have those written that are not yet; they will not change any more. Never blocks."""
        new = [item for item in items if item.id not in self._kept]
        self._kept.update(item.id for item in new)
        self._lines.put(new)

    async def settle(self) -> None:
        """Wait until everything is written; the caller brings the deadline, for a disk may stay full."""
        await self._lines.settle()

    # ---- the disk ----

    def _lost(self, _items: int) -> str:
        return "the end of the conversation is not kept." if self._begun else "nothing of the conversation is kept."

    async def run(self) -> None:
        """The writer's task: writes what comes until it is cancelled, and then what is left."""
        await self._lines.run()

    def _write(self, items: Sequence[Item]) -> None:
        """In a thread. Raises OSError."""
        if self._begun:
            _append(self.path, item_lines(items))
        else:
            _begin(self.path, heading_line(self._heading) + item_lines((*self.items, *items)))
            self._begun = True


def _found(folder: Path, wanted: str) -> str:
    """The name of the conversation that is wanted. Raises ResumeError."""
    names = ConversationStore.names(folder)
    try:
        is_file = folder.exists() and not folder.is_dir()
    except OSError as error:
        raise ResumeError(f"{folder} cannot be read ({error.strerror or error}).") from error
    if is_file:
        raise ResumeError(f"{folder} is a file, and no folder of conversations: remove it.")
    if not names:
        raise ResumeError(f"{folder} holds no conversation: set talk.remember = true to have them kept.")
    matching = [name for name in names if name.startswith(wanted)]
    if wanted in names or not wanted:
        return wanted or names[0]
    if len(matching) == 1:
        return matching[0]
    which = f"{len(matching)} conversations begin" if matching else "no conversation begins"
    raise ResumeError(f'{which} with "{wanted}" in {folder}; there is {", ".join((matching or names)[:5])}.')


def _begin(path: Path, content: bytes) -> None:
    """Make the file, whole or not at all. Raises OSError."""
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


def _append(path: Path, content: bytes) -> None:
    """Add whole lines, or nothing. Raises OSError, also where the file has gone: who removed it meant it."""
    file = os.open(path, os.O_WRONLY | os.O_APPEND | BINARY)
    try:
        append_whole(file, content)
    finally:
        os.close(file)
