"""The protocol as one client sees it: its messages become commands, what happens becomes its messages.

No I/O and no clock. Whoever calls any method fetches `to_send` right after. Facts about a reply that the client never
heard of, or that is over, are not for it: they change nothing.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import assert_never

from assistant.events import (
    ChunkSpoken,
    FunctionCalled,
    InterimWords,
    ItemForgotten,
    Problem,
    ReplySent,
    ReplyStarted,
    ReplyStopped,
    SessionEvent,
    SpeechDiscarded,
    SpeechStarted,
    TurnFinished,
    UserTurnCommitted,
    WordsTimed,
)
from assistant.history.items import Item, ItemId
from assistant.turns.events import ReplyId
from audio.units import Pcm
from web.wire.commands import (
    CancelResponse,
    ClearOutput,
    Command,
    CommitInput,
    CreateItem,
    CreateResponse,
    DeleteItem,
    RetrieveItem,
    TruncateItem,
    UpdateSession,
)
from web.wire.errors import ProtocolError, Refusal, refused
from web.wire.input_events import InputEvents
from web.wire.item_order import ItemOrder
from web.wire.items import JsonObject, item_object
from web.wire.outbox import Outbox
from web.wire.parse import Reader
from web.wire.reply_ids import response_id
from web.wire.responses import Responses
from web.wire.server_events import ExtensionType, error_object
from web.wire.session_config import SessionConfig
from web.wire.session_object import Service, SessionDescription, session_object


class Realtime:
    """One client's end of the protocol."""

    def __init__(
        self, config: SessionConfig, service: Service, *, session_id: str, expires_at_s: int | None = None
    ) -> None:
        """A client that has just connected; nothing is said before `begin`.

        Args:
            config: Its settings, until it changes them.
            service: What it is told about the server.
            session_id: As session.created shows it.
            expires_at_s: When the session ends at the latest, in seconds since 1970; None: never.
        """
        self._session = SessionDescription(session_id, service, expires_at_s)
        self._reader = Reader(config, service.language)
        self._outbox = Outbox()
        self._order = ItemOrder()
        self._listening = InputEvents(self._outbox, self._order)
        self._speaking = Responses(f"conv_{session_id}", self._outbox, self._order)

    @property
    def config(self) -> SessionConfig:
        """The settings in force."""
        return self._reader.config

    # ---- what the client says ----

    def receive(self, text: str) -> tuple[Command, ...]:
        """The command that a message is; none where it is wrong: its error is ready to be sent. Never raises.

        Errors of single fields are ready, too, before what comes of the command.
        """
        command = self._reader.read(text)
        match command:
            case ProtocolError():
                self.report(command)
                return ()
            case UpdateSession():
                self._report_all(command.refused)
                self._reader.config = command.config
            case CommitInput():
                self._listening.committing.append(command)
            case CreateResponse():
                self._report_all(command.refused)
                self._speaking.ask(command)
        return (command,)

    def to_send(self) -> list[str]:
        """The messages for the client since the last call, in order."""
        return self._outbox.drain()

    # ---- what became of its commands ----

    def begin(
        self,
        history: Sequence[Item] = (),
        *,
        resumed: bool = False,
        heard_ms: float = 0.0,
        under_way: ItemId | None = None,
    ) -> None:
        """The first words: the session, and what is in the conversation already.

        Args:
            history: It.
            resumed: The client had connections before.
            heard_ms: How much sound has come from it on those.
            under_way: The message of a reply that is yet to be told of; it keeps its place.
        """
        self._session = replace(self._session, resumed=resumed, heard_ms=heard_ms)
        self._outbox.add("session.created", {"session": session_object(self._session, self.config)})
        for item in history:
            if item.id == under_way:
                self._order.reserve(item.id)
            else:
                self._add_item(item)

    def come_back(
        self, history: Sequence[Item], *, expires_at_s: int | None, heard_ms: float, under_way: ItemId | None = None
    ) -> None:
        """The client is back on another connection: the first words there. What it asked for before stays so."""
        self._outbox.drain()
        self._order.begin_anew()
        self._session = replace(self._session, expires_at_s=expires_at_s)
        self.begin(history, resumed=True, heard_ms=heard_ms, under_way=under_way)

    def session_updated(self, command: UpdateSession, *, voice: str | None = None) -> None:
        """The settings of the command are in force; `voice` is the one in use, whatever was asked for."""
        if voice is not None:
            self._reader.config = replace(self.config, voice=voice)
        config = replace(command.config, voice=voice or command.config.voice)
        self._outbox.add("session.updated", {"session": session_object(self._session, config)})

    def input_cleared(self) -> None:
        """The input buffer is empty."""
        self._outbox.add("input_audio_buffer.cleared", {})

    def item_created(self, command: CreateItem, item: Item) -> None:
        """The item is in the history, with this id."""
        self._add_item(item, command.after, written=True)

    def item_retrieved(self, command: RetrieveItem, item: Item | None) -> None:
        """The item as the history has it; None: it has none of this id.

        A reply of which nothing was remembered, or not yet, is none there, but one to the client, which may ask.
        """
        if item is not None:
            shown = self._shown(item)
        elif (response := self._speaking.of_item(command.item_id)) is not None:
            shown = response.message()
        else:
            self.refuse(command, "item_retrieve_invalid_item_id")
            return
        self._outbox.add("conversation.item.retrieved", {"item": shown})

    def item_deleted(self, item_id: ItemId) -> None:
        """The item is no longer in the history."""
        if (response := self._speaking.of_item(item_id)) is not None:
            response.delete()
        self._order.remove(item_id)
        self._outbox.add("conversation.item.deleted", {"item_id": item_id})

    def is_written(self, item_id: ItemId) -> bool:
        """The client knows this message of the assistant as text: there is no sound of it to be cut."""
        return self._order.is_written(item_id)

    def truncating(self, item_id: ItemId) -> None:
        """The client cuts this item while it plays: where, `item_truncated` says, and nothing else does."""
        if (response := self._speaking.of_item(item_id)) is not None:
            response.cut_by_client = True

    def item_truncated(self, item_id: ItemId, audio_end_ms: int) -> None:
        """The history has the item as far as it was heard."""
        cut = {"item_id": item_id, "content_index": 0, "audio_end_ms": audio_end_ms}
        self._outbox.add("conversation.item.truncated", cut)

    def output_cleared(self, command: ClearOutput, reply: ReplyId | None) -> None:
        """What was not played of the reply yet was dropped; None: nothing was being played."""
        if reply is None:
            self.refuse(command, "output_audio_buffer_clear_empty")
        else:
            self._outbox.add("output_audio_buffer.cleared", {"response_id": response_id(reply)})

    def request_dropped(self) -> None:
        """The response that the client asked for is not begun any more: it has cancelled it."""
        self._speaking.cancel()

    def refuse(self, command: Command, refusal: Refusal, **about: object) -> None:
        """The command is not done, for this reason; `about`: what the message names that the command does not."""
        if isinstance(command, CommitInput) and command in self._listening.committing:
            self._listening.committing.remove(command)
        self._speaking.refuse(command)
        error = refused(refusal, command.event_id, _named_by(command) | about)
        if isinstance(command, CancelResponse) and command.reply is None:
            error = replace(error, param=None)  # it named no response
        self.report(error)

    def report(self, error: ProtocolError) -> None:
        """Anything else that went wrong."""
        self._outbox.add("error", {"error": error_object(error)})

    def _report_all(self, errors: Sequence[ProtocolError]) -> None:
        for error in errors:
            self.report(error)

    # ---- what happens ----

    def tell(self, fact: SessionEvent, invented_ms: float | None = None, *, request_waits: bool = True) -> None:
        """Something happened in the conversation. Never raises.

        Args:
            fact: It.
            invented_ms: Of speech that is over, how much silence the client never sent lies on the line before its end;
                without it the client is not told.
            request_waits: A response that the client asked for may still be to come. Else a reply that begins is it.
        """
        match fact:
            case SpeechStarted() | InterimWords() | SpeechDiscarded() | UserTurnCommitted():
                self._listening.tell(fact, self.config, invented_ms)
            case ReplyStarted(reply):
                by_origin = self._listening.was_requested(reply.turn) or not self.config.answers
                requested = by_origin or not request_waits
                self._speaking.begin(fact, self.config, requested=requested)
            case ChunkSpoken() | FunctionCalled() | ReplySent() | ReplyStopped():
                self._speaking.tell(fact)
            case WordsTimed():
                if self.config.extensions.events:
                    self._speaking.place(fact)
            case ItemForgotten(item):
                self.item_deleted(item)
            case TurnFinished(record):
                if self.config.extensions.events:
                    trace = record.to_json(told=self.config.extensions.told)
                    self._outbox.add_written(f'{{"type":"repartee.trace","turn":{record.turn},"trace":{trace}')
            case Problem(what):
                self._tell_extension("repartee.notice", {"text": what})
            case _:
                assert_never(fact)

    def sound(self, reply: ReplyId, pcm: Pcm) -> bool:
        """The next sound of a reply for the client: int16 (n,) at 24 kHz. False: that reply is not under way."""
        return self._speaking.play(reply, pcm)

    def duck(self, reply: ReplyId) -> None:
        """Somebody may be interrupting this reply: lower it."""
        self._tell_loudness("repartee.duck", reply)

    def unduck(self, reply: ReplyId) -> None:
        """It was nothing."""
        self._tell_loudness("repartee.unduck", reply)

    # ---- inside ----

    def _add_item(self, item: Item, after: ItemId | None = None, *, written: bool = False) -> None:
        previous = self._order.insert(item.id, after, written=written)
        fields: JsonObject = {"previous_item_id": previous, "item": self._shown(item)}
        self._outbox.add("conversation.item.added", fields)
        self._outbox.add("conversation.item.done", fields)

    def _shown(self, item: Item) -> JsonObject:
        return item_object(item, transcribed=self.config.transcription, written=self._order.is_written(item.id))

    def _tell_loudness(self, kind: ExtensionType, reply: ReplyId) -> None:
        if self.config.extensions.duck:
            self._tell_extension(kind, {"response_id": response_id(reply)})

    def _tell_extension(self, kind: ExtensionType, fields: JsonObject) -> None:
        if self.config.extensions.events:
            self._outbox.add(kind, fields)


def _named_by(command: Command) -> dict[str, object]:
    """The ids and amounts in a command, for messages about it."""
    match command:
        case CreateItem(_, item, after):
            return {"item_id": item.id, "previous_item_id": after, "call_id": getattr(item, "call_id", "")}
        case TruncateItem(_, item_id, audio_end_ms):
            return {"item_id": item_id, "audio_end_ms": audio_end_ms}
        case RetrieveItem(_, item_id) | DeleteItem(_, item_id):
            return {"item_id": item_id}
    return {}
