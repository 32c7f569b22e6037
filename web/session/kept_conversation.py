"""Keeps the conversation of one client on the server, if the client asks for it, and continues a kept one.

Until a client asks, nothing of its conversation is written.
"""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from starlette.websockets import WebSocket

from assistant.end_of_turn.priors import SpeakerPauseStats
from assistant.events import Problem, ReplySent, SessionEvent, TurnFinished
from assistant.history.history import History
from assistant.history.items import Item, UserMessage, without_resumed_rests
from assistant.history.shown_speakers import without_numbers
from assistant.pipeline.session import Session
from assistant.setup.conversation import new_session
from assistant.storage.conversation_database import ConversationFileError
from assistant.storage.conversation_file import ConversationFile, KeptConversation, owner_of_browser
from assistant.storage.conversation_store import ConversationStore, kept_pauses
from assistant.support.disk_threads import CONVERSATION_THREADS
from assistant.support.notice import Notice, notice
from web.limits.session_acceptor import is_guest
from web.phone.session import call_of
from web.wire.realtime import Realtime
from web.wire.values.session_config import Keeping

if TYPE_CHECKING:
    from assistant.setup.answering.user_memory import UserMemory

_log = logging.getLogger(__name__)

MAX_CONTINUED = 500
"""Items of a kept conversation that the history gets; older ones stay in the file."""

SETTLE_TIMEOUT_S = 5.0
"""Longest wait of a client's next command for a kept conversation to be read."""

NOT_OFFERED = notice("conversations_not_offered")
GONE = notice("conversation_gone")
REMEDY = "choose Nowhere under Keep conversations"


@dataclass(slots=True)
class ConversationKeeper:
    """Stores the finished turns of one session. Not thread-safe: use it on the event loop.

    Attributes:
        session: Returns the session.
        realtime: The client's protocol state.
        report: Passes an event on to the client.
        tell: Called when there are messages to send.
        file: The file; None: the server keeps nothing for this client.
        memory: What is remembered across conversations; None: nothing is. It needs a kept conversation.
    """

    session: Callable[[], Session]
    realtime: Realtime
    report: Callable[[SessionEvent], None]
    tell: Callable[[], None]
    file: ConversationFile | None = None
    memory: "UserMemory | None" = None
    _keeping: Keeping | None = None
    _store: ConversationStore | None = None
    _pauses_of: str = ""  # owner whose pauses the session has
    _names: set[str] = field(default_factory=set)  # of the running conversation
    _changed: asyncio.Event = field(default_factory=asyncio.Event)
    _ready: asyncio.Event = field(default_factory=asyncio.Event)  # no kept conversation is being read

    def __post_init__(self) -> None:
        self._ready.set()

    def configure(self, keeping: Keeping | None) -> None:
        """Begins, changes or ends the keeping as the client wants. Takes effect in `run`."""
        if keeping == self._keeping or (keeping and self._keeping and self._is_same(keeping, self._keeping)):
            return
        self._keeping = keeping
        self.session().engines.skill_effects.facts = None
        if self._store is not None:
            self._store.end()  # what waits is not written either
            self._store = None
        if keeping is None:
            self.realtime.conversation_kept("", kept=False)
        elif keeping.conversation:
            self._ready.clear()
        self._changed.set()

    async def settle(self) -> None:
        """Waits until the kept conversation is in the history: what the client sends next follows it."""
        with suppress(TimeoutError):
            async with asyncio.timeout(SETTLE_TIMEOUT_S):
                await self._ready.wait()

    def _is_same(self, keeping: Keeping, before: Keeping) -> bool:
        """Returns whether the running conversation is meant: by its id, or by none."""
        return keeping.browser == before.browser and keeping.conversation in {"", *self._names}

    def record(self, event: SessionEvent) -> None:
        """Processes an event of the session."""
        if self._store is not None:
            items = self.session().history.items_with_words if isinstance(event, TurnFinished | ReplySent) else ()
            self._store.record(event, items, self.session().pause_stats.counts)
        if self.memory is not None:
            engines = self.session().engines
            self.memory.record(event, engines.skill_effects.facts)
            if isinstance(event, TurnFinished) and engines.skill_effects.facts is not None:
                self.memory.note_model(engines.direct_model, engines.skill_effects.facts)

    async def stored(self) -> None:
        """Waits until everything that was said is on disk. The caller sets the deadline."""
        if self._store is not None:
            await self._store.settle()

    async def run(self) -> None:
        """Reads and writes until it is cancelled, and then writes the rest."""
        while True:
            self._changed.clear()
            store = None if self._keeping is None else await self._open(self._keeping)
            if self._changed.is_set():
                continue
            self._ready.set()
            self._store = store
            if store is None:
                await self._changed.wait()
                continue
            async with asyncio.TaskGroup() as writing:
                writer = writing.create_task(store.run(), name="keep conversation")
                await self._changed.wait()
                writer.cancel()

    async def _open(self, keeping: Keeping) -> ConversationStore | None:
        """Returns the store of a new conversation, or of a kept one after adding its items to the history."""
        if self.file is None:
            self.realtime.conversation_kept("", kept=False)
            self.report(Problem(NOT_OFFERED, private=True))
            return None
        owner, kept = owner_of_browser(keeping.browser), None
        if keeping.conversation:
            try:
                kept = await asyncio.get_running_loop().run_in_executor(
                    CONVERSATION_THREADS, self.file.load, owner, keeping.conversation
                )
            except ConversationFileError as error:
                self.realtime.conversation_kept("", kept=False)
                self._problem(notice("conversation_unkept", reason=error.text))
                return None
            if kept is None:
                self.report(Problem(GONE, private=True))
        await self._restore_pauses(self.file, owner)
        if self._changed.is_set():
            return None
        began_at = datetime.now(UTC).isoformat(timespec="seconds")
        name = new_session.conversation_name()
        store = ConversationStore(
            self.file,
            name,
            began_at,
            lambda what: self._problem(notice("conversation_unwritten", reason=what)),
            owner=owner,
            resumed=kept,
            remedy=REMEDY,
        )
        self._names = {name, store.name}
        if kept is not None:
            self._continue(store, kept)
        if self.memory is not None:
            facts = self.memory.begin(owner, store.name, kept=True)
            self.session().engines.skill_effects.facts = facts
        self.realtime.conversation_kept(store.name, kept=True)
        self.tell()
        return store

    async def _restore_pauses(self, file: ConversationFile, owner: str) -> None:
        """Adds the pauses of the owner's earlier conversations to the session's.

        For the next conversation of this connection they are in the session already, unless they were deleted.
        """
        if not file.keeps_pauses:
            return
        counts, damaged = await asyncio.get_running_loop().run_in_executor(
            CONVERSATION_THREADS, kept_pauses, file, owner
        )
        if damaged:
            self._problem(damaged)
        session, before, self._pauses_of = self.session(), self._pauses_of, owner
        if before == owner and counts.turns:
            return
        stats = SpeakerPauseStats() if before else session.pause_stats
        session.pause_stats = stats.with_counts(counts)

    def _problem(self, what: Notice) -> None:
        _log.warning("%s", what)
        self.report(Problem(what))

    def _continue(self, store: ConversationStore, kept: KeptConversation) -> None:
        history = self.session().history
        restored = restore(history, newest(without_resumed_rests(kept.items)))
        store.continue_as(restored)
        self.realtime.items_restored(restored)


def file_for(file: ConversationFile | None, websocket: WebSocket) -> ConversationFile | None:
    """Returns the file for a client. A telephone caller and the client of a client secret may be anybody: none."""
    return None if call_of(websocket.scope) is not None or is_guest(websocket.scope) else file


def newest(items: tuple[Item, ...]) -> tuple[Item, ...]:
    """Returns the newest items, from the beginning of a turn on."""
    cut = items[-MAX_CONTINUED:]
    if len(cut) == len(items):
        return items
    starts = [index for index, item in enumerate(cut) if isinstance(item, UserMessage) and not item.continues]
    return cut[starts[0] :] if starts else cut


def restore(history: History, items: tuple[Item, ...]) -> list[Item]:
    """Puts items before the items of the history. Returns them, with new ids where these are taken."""
    first = history.reserve()
    is_new = first.endswith("_1") and not history.items
    earlier = without_numbers(items)
    restored = earlier if is_new else [replace(item, id=history.reserve()) for item in earlier]
    history.restore([*restored, *history.items])
    return restored
