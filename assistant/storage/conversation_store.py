"""Stores one conversation while it runs, so that it can be resumed.

A conversation is written when a reply of it is complete, and after each turn. A reply that still plays is a draft: what
was heard of it replaces it. A resumed conversation continues in its
place. If another program has continued it meanwhile, the rest is stored as a conversation of its own, with a copy of
what was said before.
"""

import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Self

from assistant.end_of_turn.priors import PauseCounts
from assistant.events import ReplySent, ReplyStarted, ReplyStopped, SessionEvent, TurnFinished
from assistant.history.items import AssistantMessage, Item, ItemId
from assistant.storage.conversation_database import ConversationFileError
from assistant.storage.conversation_file import (
    TERMINAL,
    ContinuedElsewhereError,
    ConversationFile,
    KeptConversation,
    Place,
)
from assistant.support.background_writer import BackgroundWriter
from assistant.support.disk_threads import CONVERSATION_THREADS
from assistant.support.notice import Notice, notice
from assistant.support.paths import data_folder
from assistant.turns.events import ReplyId

MAX_NAMES = 1000
"""Conversations among which a name is searched, newest first."""

DELETED = "This conversation was deleted. What is said from now on is not kept."


@dataclass(frozen=True, slots=True)
class Draft:
    """The reply that is complete and still plays; None: it is no longer part of the conversation."""

    message: AssistantMessage | None


@dataclass(slots=True)
class _OpenReply:
    """A reply that may still play. `sent_text`: its text, once it is complete and until it is stopped."""

    item: ItemId
    sent_text: str | None = None


class ResumeError(Exception):
    """A conversation cannot be resumed. The text is one sentence: what is wrong and what to do next."""


def conversations_folder(environ: Mapping[str, str]) -> Path:
    """Returns the folder of conversations: beside the models, in the user's data folder."""
    return data_folder(environ) / "conversations"


def conversations_path(environ: Mapping[str, str]) -> Path:
    """Returns the file of conversations. Raises HomeError."""
    return conversations_folder(environ) / "conversations.sqlite3"


def unwritable(file: ConversationFile) -> str:
    """Returns why no conversation can be stored and what to do; "" if one can. Creates nothing. Blocks."""
    folder = file.path.parent
    lost, off = "the conversation is not stored.", "set talk.remember = false."
    try:
        there = next(place for place in (folder, *folder.absolute().parents) if place.exists())
        if not there.is_dir():
            return f"{there} is a file: {lost} Remove it, or {off}"
        with tempfile.TemporaryFile(dir=there):
            pass
        file.check()
    except ConversationFileError as error:
        return f"{error.text}: {lost} Move it away, or {off}" if error.lasting else ""
    except OSError as error:
        why = error.strerror or repr(error)
        return f"{folder} cannot be written ({why}): {lost} Make it writable, or {off}"
    return ""


def kept_pauses(file: ConversationFile, owner: str) -> tuple[PauseCounts, Notice | None]:
    """Returns the pauses of the owner's earlier conversations, and why they are ignored, if they are. Blocks.

    A file that cannot be used is reported where the conversation is written.
    """
    counts: PauseCounts | None = PauseCounts()
    with suppress(ConversationFileError):
        counts = file.pauses(owner).get(owner, counts) if file.keeps_pauses else counts
    return (PauseCounts(), notice("pauses_damaged")) if counts is None else (counts, None)


class ConversationStore:
    """Stores one conversation. Not thread-safe: call it on the event loop. It accesses the disk in a thread.

    Attributes:
        name: Name of the conversation: its id in the file.
        items: Items of the resumed conversation; empty for a new one.
        continues: Name of the resumed conversation; "" for a new one.
        continued_at: When the resumed conversation began, ISO 8601; "" where that is not known.
    """

    def __init__(
        self,
        file: ConversationFile,
        name: str,
        began_at: str,
        report_problem: Callable[[str], None],
        *,
        owner: str = TERMINAL,
        resumed: KeptConversation | None = None,
        remedy: str = "set talk.remember = false",
    ) -> None:
        """Prepares a conversation. Nothing is written yet.

        Args:
            file: The file.
            name: A unique name for what is new.
            began_at: Wall clock, ISO 8601.
            report_problem: Receives one sentence for the user when the file cannot be used.
            owner: Whose conversation it is.
            resumed: The conversation that is continued.
            remedy: How the user ends the storing; the end of a sentence.
        """
        self.name = name if resumed is None else resumed.id
        self.items: tuple[Item, ...] = () if resumed is None else resumed.items
        self.continues = "" if resumed is None else resumed.id
        self.continued_at = "" if resumed is None else resumed.began_at
        self._file, self._owner, self._remedy = file, owner, remedy
        self._new_name, self._began_at = name, began_at
        self._report_problem = report_problem
        self._place: Place | None = None if resumed is None else resumed.place
        self._written = list(self.items)
        self._stored_ids: set[ItemId] = {item.id for item in self.items}
        self._open_replies: dict[ReplyId, _OpenReply] = {}  # in order
        self._drafted: ItemId | None = None  # the message whose draft is queued or stored
        self._pauses: PauseCounts | None = None  # up to the last finished turn; written with its items
        self._ended = False  # nothing more is written
        self._notice = ""  # written in the thread, reported on the event loop
        self._writer: BackgroundWriter[Item | Draft] = BackgroundWriter(
            file.path,
            self._write,
            report_problem,
            threads=CONVERSATION_THREADS,
            waits=f"the conversation waits in memory. Check the free space, or {remedy}.",
            lost=self._lost,
            afterwards=self._report,
        )

    @classmethod
    def open(
        cls, file: ConversationFile, conversation: str, name: str, began_at: str, report_problem: Callable[[str], None]
    ) -> Self:
        """Resumes a conversation of the terminal. `items` holds what was said in it. Nothing is written yet.

        Items that cannot be read are skipped and reported to `report_problem`. Blocks while the file is read.

        Args:
            file: The file.
            conversation: Name of the old conversation, or its beginning; "" is the latest.
            name: A unique name, for the case that another program continues it too.
            began_at: Wall clock, ISO 8601.
            report_problem: Receives one sentence for the user when the file cannot be used.

        Raises:
            ResumeError: There is no such conversation, or it cannot be read.
        """
        try:
            old = file.load(TERMINAL, _full_name(file, conversation))
        except ConversationFileError as error:
            raise ResumeError(f"{error.text}.") from error
        if old is None:
            raise ResumeError("the conversation was deleted just now.")
        if old.lost:
            lost = "an item is" if old.lost == 1 else f"{old.lost} items are"
            report_problem(f"{old.id}: {lost} damaged and left out of the conversation")
        return cls(file, name, began_at, report_problem, resumed=old)

    @property
    def is_stored(self) -> bool:
        """Whether the conversation is in the file."""
        return self._place is not None

    @property
    def path(self) -> Path:
        """The file."""
        return self._file.path

    # ---- session events ----

    def record(self, event: SessionEvent, items: Sequence[Item], pauses: PauseCounts | None = None) -> None:
        """Processes a session event. `items`: the history now, up to the first message whose words are
        unknown. `pauses`: the user's pauses so far.

        The items of a finished turn are stored; of a reply that is complete and may still play, those before it and a
        draft.
        """
        match event:
            case ReplyStarted():
                self._open_replies[event.reply_id] = _OpenReply(event.item)
            case ReplySent() if event.reply_id in self._open_replies:
                reply = self._open_replies[event.reply_id]
                reply.sent_text = event.text
                self._draft(reply.item, event.text, items)
            case ReplyStopped() if event.reason == "went on" and not event.heard:
                retracted = self._open_replies.pop(event.reply_id, None)
                if retracted is not None and retracted.item == self._drafted:
                    self._drop_draft()
            case ReplyStopped() if event.reply_id in self._open_replies:
                stopped = self._open_replies[event.reply_id]
                stopped.sent_text = None
                if stopped.item == self._drafted:
                    self._drop_draft()
            case TurnFinished():
                self._pauses = pauses
                turn = event.record.turn
                self._open_replies = {id_: reply for id_, reply in self._open_replies.items() if id_.turn != turn}
                unfinished = next(iter(self._open_replies.values()), None)
                self._drop_draft()
                self.remember(takewhile(lambda item: unfinished is None or item.id != unfinished.item, items))
                if unfinished is not None and unfinished.sent_text is not None:
                    self._draft(unfinished.item, unfinished.sent_text, items)  # written together with the items

    def remember(self, items: Iterable[Item]) -> None:
        """Queues the items that are not stored yet. They must not change any more. Never blocks."""
        if self._ended:
            return
        new = [item for item in items if item.id not in self._stored_ids]
        self._stored_ids.update(item.id for item in new)
        self._writer.queue_entries(new)

    def _draft(self, reply: ItemId, text: str, items: Sequence[Item]) -> None:
        """Queues the items before a reply that is complete, and the reply, unless one before it may still change."""
        before = tuple(takewhile(lambda item: item.id != reply, items))
        new = [item for item in before if item.id not in self._stored_ids]
        if (
            self._ended
            or len(before) == len(items)
            or any(isinstance(item, AssistantMessage) and not item.withdrawn for item in new)
        ):
            return
        self.remember(new)
        self._writer.queue_entries([Draft(AssistantMessage(reply, text))])
        self._drafted = reply

    def _drop_draft(self) -> None:
        if self._drafted is not None and not self._ended:
            self._drafted = None
            self._writer.queue_entries([Draft(None)])

    def continue_as(self, items: Iterable[Item]) -> None:
        """Notes under which ids the resumed items are in the history now."""
        self._stored_ids = {item.id for item in items}

    def end(self) -> None:
        """Stores nothing more."""
        self._ended = True

    async def settle(self) -> None:
        """Waits until everything is written. The caller sets a time limit, because a disk may stay full."""
        await self._writer.settle()

    # ---- the disk ----

    def _lost(self, _items: int) -> str:
        return "the end of the conversation is not stored." if self.is_stored else "the conversation is not stored."

    async def run(self) -> None:
        """Writes queued items until it is cancelled, and then the remaining ones."""
        await self._writer.run()

    async def _report(self) -> None:
        if self._notice:
            notice, self._notice = self._notice, ""
            self._report_problem(notice)

    def _write(self, entries: Sequence[Item | Draft]) -> None:
        """Writes items; runs in a thread. Raises OSError if another attempt may succeed."""
        if self._ended:
            return
        items = [entry for entry in entries if not isinstance(entry, Draft)]
        last = entries[-1]
        drafts = [last.message] if isinstance(last, Draft) and last.message is not None else []
        if not items and not drafts and self._place is None:
            return
        try:
            self._store(items, drafts)
        except ConversationFileError as error:
            if not error.lasting:
                raise
            self._ended = True
            self._notice = f"{error.text}: the conversation is not kept. Move the file away, or {self._remedy}."
        else:
            self._written += items

    def _store(self, items: Sequence[Item], drafts: Sequence[AssistantMessage]) -> None:
        if self._place is None:
            whole = (*self._written, *items)
            self._place = self._file.create(
                self._owner, self.name, self._began_at, whole, drafts=drafts, pauses=self._pauses
            )
            return
        try:
            place = self._file.append(self._owner, self.name, self._place, items, drafts=drafts, pauses=self._pauses)
        except ContinuedElsewhereError:
            copied = (*self._written, *items)
            place = self._file.create(
                self._owner,
                self._new_name,
                self._began_at,
                copied,
                continues=self.name,
                drafts=drafts,
                pauses=self._pauses,
            )
            self.name = self._new_name
        if place is None:
            self._ended, self._notice = True, DELETED
        else:
            self._place = place


def _full_name(file: ConversationFile, prefix: str) -> str:
    """Returns the full name of the wanted conversation of the terminal. Raises ResumeError, ConversationFileError."""
    names = [summary.id for summary in file.summaries(TERMINAL, MAX_NAMES)]
    if not names:
        raise ResumeError(f"{file.path} contains no conversation: set talk.remember = true to store conversations.")
    matching = [name for name in names if name.startswith(prefix)]
    if prefix in names or not prefix:
        return prefix or names[0]
    if len(matching) == 1:
        return matching[0]
    which = f"{len(matching)} conversations begin" if matching else "no conversation begins"
    raise ResumeError(f'{which} with "{prefix}" in {file.path}; choose one of {", ".join((matching or names)[:5])}.')
