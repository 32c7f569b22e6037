"""The Realtime protocol for one client: parses its messages to commands, and converts session events to messages.

Has no I/O and no clock. After any method, the caller sends the messages of `to_send`. Events about a reply that the
client does not know, or that is over, are ignored.
"""

import binascii
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import replace
from typing import Any, assert_never

from assistant.events import (
    AnnouncementStarted,
    ChunkSpoken,
    FunctionCalled,
    InterimWords,
    ItemForgotten,
    LanguageChanged,
    ListsChanged,
    MarkupWritten,
    McpApprovalRequested,
    McpCallEnded,
    McpCallStarted,
    Problem,
    ReplySent,
    ReplyStarted,
    ReplyStopped,
    SessionEvent,
    SilenceTimedOut,
    SpeechDiscarded,
    SpeechEnded,
    SpeechStarted,
    TimersChanged,
    TurnFinished,
    UserTurnCommitted,
    WakeWordHeard,
    WordsTimed,
)
from assistant.history.items import ROOT, AssistantMessage, Item, ItemId
from assistant.home import ServiceCall
from assistant.support.notice import Notice
from assistant.turns.events import ReplyId
from audio.units import Pcm
from web.wire.incoming.commands import (
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
from web.wire.incoming.parse import Reader
from web.wire.items.item_order import ItemOrder
from web.wire.items.items import JsonObject, item_object
from web.wire.items.sound_encoding import NO_SOUNDS, with_sounds
from web.wire.outgoing.hidden_addresses import record_for_client, without_addresses
from web.wire.outgoing.input_events import InputEvents, tell_transcript
from web.wire.outgoing.mcp_events import McpEvents
from web.wire.outgoing.out_of_band import OutOfBandResponses
from web.wire.outgoing.outbox import Outbox
from web.wire.outgoing.responses import Responses
from web.wire.outgoing.server_events import ExtensionType, error_object, list_objects, timer_object
from web.wire.outgoing.session_object import Service, SessionDescription, session_object
from web.wire.values.beta import server_event
from web.wire.values.errors import ProtocolError, Refusal, refused
from web.wire.values.reply_ids import response_id
from web.wire.values.session_config import SessionConfig


class Realtime:
    """The protocol state of one client.

    Attributes:
        config: The settings in force. Those that the client has requested are in force once they are applied.
        out_of_band: Sends the events of responses outside of the conversation.
    """

    def __init__(
        self,
        config: SessionConfig,
        service: Service,
        *,
        session_id: str,
        expires_at_s: int | None = None,
        id_tag: str = "",
    ) -> None:
        """Creates the state for a client that has just connected. No message is sent before `begin`.

        Args:
            config: The initial settings.
            service: Description of the server for the client.
            session_id: The id in session.created.
            expires_at_s: Latest end of the session, in seconds since 1970; None: never.
            id_tag: Part of the ids of events and responses, eight hexadecimal digits, that no other session has.
        """
        self._id_tag = id_tag
        self._session = SessionDescription(session_id, service, expires_at_s)
        self._offer = service.offer
        self.config = config
        self._reader = Reader(config, service.language, service.offer)
        self._outbox = Outbox(id_tag)
        self._order = ItemOrder()
        self._input_events = InputEvents(self._outbox, self._order)
        self._responses = Responses(f"conv_{session_id}", self._outbox, self._order, id_tag)
        self.mcp = McpEvents(self._outbox, self._order)
        self.out_of_band = OutOfBandResponses(self._outbox, self._order, id_tag)

    def use_positions(self, inserted_before_ms: Callable[[float], float]) -> None:
        """Sets what tells how much silence was inserted before a position, in ms."""
        self._input_events.inserted_before_ms = inserted_before_ms

    def use_logprobs(self, logprobs: Callable[[str], list[JsonObject] | None]) -> None:
        """Sets what returns the probabilities of a transcript's tokens, for clients that want them."""
        self._input_events.logprobs = logprobs

    @property
    def session_id(self) -> str:
        """The id in session.created."""
        return self._session.session_id

    def response_id(self, reply_id: ReplyId) -> str:
        """Returns the id of a reply's response."""
        return response_id(reply_id, self._id_tag)

    # ---- client messages ----

    def receive(self, text: str) -> tuple[Command, ...]:
        """Parses a message. Returns its command, or none if it is invalid; the error is then queued. Never raises.

        Errors of single fields are queued before the results of the command.
        """
        return self._received(self._reader.read(text))

    def receive_in_steps(self, text: str) -> Generator[None, None, tuple[Command, ...]]:
        """Does what `receive` does, in steps: yields where other tasks of the event loop may run."""
        return self._received((yield from self._reader.read_in_steps(text)))

    def _received(self, command: Command | ProtocolError) -> tuple[Command, ...]:
        match command:
            case ProtocolError():
                self.report(command)
                return ()
            case UpdateSession():
                self._report_all(command.refused)
                self._reader.config = command.config
            case CommitInput():
                self._input_events.committing.append(command)
            case CreateItem():
                self._report_all(command.refused)
            case CreateResponse():
                self._report_all(command.refused)
                if not command.options.out_of_band:
                    self._responses.ask(command)
        return (command,)

    def to_send(self) -> list[str]:
        """Returns the messages for the client since the last call, in order."""
        texts = self._outbox.drain()
        if self.config.beta:
            texts = [told for text in texts if (told := server_event(text)) is not None]
        return texts

    # ---- results of commands ----

    def begin(
        self,
        history: Sequence[Item] = (),
        *,
        resumed: bool = False,
        heard_ms: float = 0.0,
        under_way: ItemId | None = None,
    ) -> None:
        """Sends the first events: the session and the items that are in the conversation already.

        Args:
            history: The items.
            resumed: Whether the client had connections before.
            heard_ms: Length of the audio received on those.
            under_way: The message of the reply in progress, which is sent later; its place is reserved.
        """
        self._session = replace(self._session, resumed=resumed, heard_ms=heard_ms)
        self._outbox.add_event("session.created", {"session": session_object(self._session, self.config)})
        for item in history:
            if item.id == under_way:
                self._order.reserve(item.id)
            else:
                self._add_item(item)

    def on_reconnect(
        self, history: Sequence[Item], *, expires_at_s: int | None, heard_ms: float, under_way: ItemId | None = None
    ) -> None:
        """Sends the first events to a client that resumes on another connection. Its settings stay."""
        self._outbox.drain()
        self._order.begin_anew()
        self.mcp.begin_anew()
        self._session = replace(self._session, expires_at_s=expires_at_s)
        self.begin(history, resumed=True, heard_ms=heard_ms, under_way=under_way)

    def session_updated(self, *, voice: str | None = None) -> None:
        """Confirms the settings in force; `voice` is the one in use, whatever was requested."""
        self._change_config({} if voice is None else {"voice": voice})

    def choice_failed(self, error: ProtocolError, used: Mapping[str, Any]) -> None:
        """Reports that chosen engines cannot be used. `used`: the fields of `SessionConfig` that apply instead."""
        self.report(error)
        self._change_config(used)

    def _change_config(self, used: Mapping[str, Any]) -> None:
        """Changes fields of the settings in force and of the next ones. Tells the client."""
        self.config, self._reader.config = replace(self.config, **used), replace(self._reader.config, **used)
        self._outbox.add_event("session.updated", {"session": session_object(self._session, self.config)})

    def choices_pending(self, names: Sequence[str]) -> None:
        """Reports which chosen engines are being loaded; none: the choice is in force."""
        self._outbox.add_event("repartee.choices", {"pending": list(names)})

    def input_cleared(self) -> None:
        """Confirms that the input buffer was cleared."""
        self._outbox.add_event("input_audio_buffer.cleared", {})

    def item_created(self, command: CreateItem, item: Item) -> None:
        """Confirms that the item was added to the history."""
        self._add_item(item, command.after, written=command.written)

    def recording_transcribed(self, item_id: ItemId, part: int, words: str | None, duration_s: float) -> None:
        """Sends the transcript of a recording in a message; None: it could not be transcribed."""
        if self.config.transcription:
            tell_transcript(self._outbox, item_id, part, words, duration_s)

    def item_retrieved(
        self, command: RetrieveItem, item: Item | None, sounds: Mapping[int, tuple[Pcm, int]] = NO_SOUNDS
    ) -> None:
        """Sends an item of the history with its images and its sound.

        A reply that is not in the history, or not yet, is an item to the client, which may request it.

        Args:
            command: The request.
            item: The item; None: the history has no item of this id.
            sounds: The sound that is kept of content parts, int16 (n,), and its sample rate.
        """
        if item is not None:
            shown = item_object(
                item,
                transcribed=self.config.transcription,
                written=self._order.is_written(item.id),
                images=True,
            )
        elif (response := self._responses.of_item(command.item_id)) is not None:
            shown = response.message()
        else:
            self.refuse(command, "item_retrieve_invalid_item_id")
            return
        self._outbox.add_event("conversation.item.retrieved", {"item": with_sounds(shown, sounds, self.config)})

    def item_deleted(self, item_id: ItemId) -> None:
        """Reports that the item was deleted from the history."""
        if (response := self._responses.of_item(item_id)) is not None:
            response.delete()
        self._order.remove(item_id)
        self.mcp.deleted(item_id)
        self._outbox.add_event("conversation.item.deleted", {"item_id": item_id})

    def is_written(self, item_id: ItemId) -> bool:
        """Returns whether the client knows this assistant message as text, so that it has no audio to truncate."""
        return self._order.is_written(item_id)

    def mark_truncated_by_client(self, item_id: ItemId) -> None:
        """Notes that the client truncates this item while it plays: only `item_truncated` reports the position."""
        if (response := self._responses.of_item(item_id)) is not None:
            response.cut_by_client = True

    def item_truncated(self, item_id: ItemId, audio_end_ms: int) -> None:
        """Confirms that the item was truncated to what was heard."""
        cut = {"item_id": item_id, "content_index": 0, "audio_end_ms": audio_end_ms}
        self._outbox.add_event("conversation.item.truncated", cut)

    def reply_heard(self, item: AssistantMessage, *, continued: bool = False) -> None:
        """Tells a client that shows Markdown which of a stopped reply was heard.

        `continued`: the rest follows as a response of its own.
        """
        if self._shows_markup:
            told = {"item_id": item.id, "markup": item.markup, "unheard": item.unheard}
            self._tell_extension("repartee.heard", {**told, **({"continued": True} if continued else {})})

    def output_cleared(self, command: ClearOutput, reply_id: ReplyId | None) -> None:
        """Confirms that unplayed audio of the reply was dropped; None: nothing was playing."""
        if reply_id is None:
            self.refuse(command, "output_audio_buffer_clear_empty")
        else:
            self._outbox.add_event("output_audio_buffer.cleared", {"response_id": self.response_id(reply_id)})

    def request_dropped(self) -> None:
        """Drops requested responses that have not begun, because the client cancelled them."""
        self._responses.cancel()

    def refuse(self, command: Command, refusal: Refusal, **about: object) -> None:
        """Sends the error for a refused command; `about`: values in the message that the command does not contain."""
        if isinstance(command, CommitInput) and command in self._input_events.committing:
            self._input_events.committing.remove(command)
        self._responses.refuse(command)
        error = refused(refusal, command.event_id, _named_by(command) | about)
        if isinstance(command, CancelResponse) and command.reply_id is None:
            error = replace(error, param=None)  # it named no response
        self.report(error)

    def report(self, error: ProtocolError) -> None:
        """Sends an error."""
        self._outbox.add_event("error", {"error": error_object(error)})

    def _report_all(self, errors: Sequence[ProtocolError]) -> None:
        for error in errors:
            self.report(error)

    # ---- session events ----

    def on_event(self, event: SessionEvent, *, reply_request_pending: bool = True) -> None:
        """Converts an event of the session to messages. Never raises.

        Args:
            event: The event.
            reply_request_pending: Whether a response that the client requested may still come. If not, a reply that
                begins is it.
        """
        match event:
            case (
                SpeechStarted() | InterimWords() | SpeechEnded() | SpeechDiscarded() | SilenceTimedOut()
                | UserTurnCommitted()
            ):  # fmt: skip
                self._input_events.on_event(event, self.config)
            case ReplyStarted(reply_id):
                by_origin = self._input_events.was_requested(reply_id.turn) or not self.config.answers
                requested = by_origin or not reply_request_pending
                self._responses.begin(event, self.config, requested=requested)
            case McpCallStarted(reply_id=None) | McpCallEnded(reply_id=None):
                self.mcp.on_event(event)
            case (
                ChunkSpoken() | FunctionCalled() | McpApprovalRequested() | McpCallStarted() | McpCallEnded()
                | ReplySent() | ReplyStopped()
            ):  # fmt: skip
                self._responses.on_event(event)
            case WordsTimed() | MarkupWritten():
                if self.config.extensions.events:
                    self._responses.add_extension(event)
            case ItemForgotten(item):
                self.item_deleted(item)
            case TurnFinished(record):
                if self.config.extensions.events:
                    trace = record_for_client(record).to_json(turn_events=self.config.extensions.turn_events)
                    self._outbox.add_written(f'{{"type":"repartee.trace","turn":{record.turn},"trace":{trace}')
            case Problem():
                self._tell_notice(event)
            case TimersChanged() | ListsChanged() | WakeWordHeard() | LanguageChanged() | AnnouncementStarted():
                self._tell_extra(event)
            case _:
                assert_never(event)

    def _tell_notice(self, problem: Problem) -> None:
        shown = str if problem.private else without_addresses
        told: JsonObject = {"text": shown(problem.text)}
        if isinstance(problem.text, Notice):
            values = problem.text.values
            told |= {"code": problem.text.code, "values": {name: shown(value) for name, value in values.items()}}
        if problem.language in self._offer.options.languages:
            told["language"] = problem.language
        self._tell_extension("repartee.notice", told)

    def _tell_extra(
        self, event: TimersChanged | ListsChanged | WakeWordHeard | LanguageChanged | AnnouncementStarted
    ) -> None:
        """Tells what is set, on lists, called or announced, and the language of the conversation."""
        if isinstance(event, WakeWordHeard):
            self._tell_extension("repartee.wake_word", {"word": event.word, "at_ms": round(event.at_ms, 1)})
        elif isinstance(event, AnnouncementStarted):
            told: JsonObject = {"response_id": self.response_id(event.reply_id), "text": event.text}
            self._tell_extension("repartee.announcement", told)
        elif isinstance(event, LanguageChanged):
            self._tell_extension("repartee.language", {"language": event.language, "voice": event.voice})
        elif isinstance(event, ListsChanged):
            self._tell_extension("repartee.lists", {"lists": list_objects(event.items)})
        else:
            self._tell_extension("repartee.timers", {"timers": [timer_object(timer) for timer in event.timers]})

    def sound(self, reply_id: ReplyId, pcm: Pcm) -> bool:
        """Sends the next audio of a reply: int16 (n,) at 24 kHz. Returns False if that reply is not in progress."""
        return self._responses.send_audio(reply_id, pcm)

    def duck(self, reply_id: ReplyId, *, lower: bool) -> None:
        """Tells the client to duck this reply, because the user may be interrupting, or to restore the volume."""
        if self.config.extensions.duck:
            kind: ExtensionType = "repartee.duck" if lower else "repartee.unduck"
            self._tell_extension(kind, {"response_id": self.response_id(reply_id)})

    def listening_sound(self, pcm: Pcm) -> None:
        """Sends a listening sound, int16 (n,) at 24 kHz, to a client that plays it. It belongs to no response."""
        if self.config.extensions.listening_sounds:
            audio = binascii.b2a_base64(pcm.astype("<i2", copy=False).tobytes(), newline=False).decode("ascii")
            self._tell_extension("repartee.listening_sound", {"audio": audio})

    def listening_sound_stopped(self) -> None:
        """Tells the client to stop the listening sound, because the user goes on."""
        if self.config.extensions.listening_sounds:
            self._tell_extension("repartee.listening_sound_stopped", {})

    def yielded(self, room: str) -> None:
        """Tells the client that a satellite in `room` answers: it sleeps again."""
        self._tell_extension("repartee.wake_word.yielded", {"room": room})

    def items_restored(self, items: Sequence[Item]) -> None:
        """Sends the items of a kept conversation, which come before all others."""
        before = ROOT
        for item in items:
            self._add_item(item, before)
            before = item.id

    def conversation_kept(self, name: str, *, kept: bool) -> None:
        """Tells the client whether the conversation is kept, and its id."""
        self._tell_extension("repartee.conversation", {"id": name or None, "kept": kept})

    def home_call(self, call_id: str, call: ServiceCall) -> None:
        """Asks a client that has sent its home to call a service there."""
        data = {name: list(value) if isinstance(value, tuple) else value for name, value in call.data}
        named = {"call_id": call_id, "domain": call.domain, "service": call.service}
        self._tell_extension("repartee.home.call", {**named, "entity_ids": list(call.targets), "data": data})

    # ---- private ----

    def _add_item(self, item: Item, after: ItemId | None = None, *, written: bool = False) -> None:
        previous = self._order.insert(item.id, after, written=written)
        fields: JsonObject = {"previous_item_id": previous, "item": self._shown(item)}
        self._outbox.add_event("conversation.item.added", fields)
        self._outbox.add_event("conversation.item.done", fields)

    def _shown(self, item: Item) -> JsonObject:
        return item_object(
            item,
            transcribed=self.config.transcription,
            written=self._order.is_written(item.id),
            markup=self._shows_markup,
            speaker=self.config.extensions.events,
        )

    @property
    def _shows_markup(self) -> bool:
        return self.config.extensions.markup and self.config.extensions.events

    def _tell_extension(self, kind: ExtensionType, fields: JsonObject) -> None:
        if self.config.extensions.events:
            self._outbox.add_event(kind, fields)


def _named_by(command: Command) -> dict[str, object]:
    """Returns the ids and amounts in a command, for messages about it."""
    match command:
        case CreateItem(_, item, after):
            named = {"call_id": getattr(item, "call_id", ""), "approval_request_id": getattr(item, "request_id", "")}
            return {"item_id": item.id, "previous_item_id": after, **named}
        case TruncateItem(_, item_id, audio_end_ms):
            return {"item_id": item_id, "audio_end_ms": audio_end_ms}
        case RetrieveItem(_, item_id) | DeleteItem(_, item_id):
            return {"item_id": item_id}
    return {}
