"""Carries out a client's commands about items: create, retrieve, delete, truncate. Keeps their sound."""

import math
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace

from assistant.events import (
    ChunkSpoken,
    ItemForgotten,
    ReplySent,
    ReplyStopped,
    SessionEvent,
    SpeechDiscarded,
    SpeechEnded,
    SpeechStarted,
    TurnFinished,
    UserTurnCommitted,
)
from assistant.history.items import (
    AssistantMessage,
    FunctionCallItem,
    FunctionOutput,
    Item,
    ItemId,
    SoundPart,
    UserMessage,
)
from assistant.history.mcp_items import McpApprovalResponse
from assistant.pipeline.session import Session
from assistant.turns.events import ReplyId
from audio.stt import Recognizer
from audio.units import Pcm, ms_of_reply_samples, reply_samples_of_ms
from web.client_audio.appended_audio import decoded
from web.client_audio.item_sounds import TAPE_RATE_HZ, ItemSounds, SpeechTape
from web.session.client_replies import ClientReplies
from web.session.mcp_session import McpSession
from web.session.recording_transcriber import RecordingTranscriber, WaitingRecording
from web.wire.incoming.commands import CreateItem, DeleteItem, RetrieveItem, TruncateItem
from web.wire.realtime import Realtime

MAX_HELD = 8
"""Retrieved items that are held until a reply begins."""

MAX_DELETED_IDS = 64
"""Ids of items deleted by the server that are remembered: a client's command about one may already be on its way."""


@dataclass(slots=True)
class ClientItems:
    """The items of one session, as its client changes them.

    Attributes:
        realtime: The client's protocol state.
        session: Returns the session.
        mcp: The client's MCP servers, whose calls it approves.
        replies: The replies. The current one is in the history only when it is over.
        recognizer: Returns a recognizer for recordings; None: there is none.
        on_transcribed: Called when a recording got its transcript.
        tape: The user's sound.
        transcriber: Transcribes recordings.
        sends_again: Whether sound is sent to the client once more, which is kept already.
    """

    realtime: Realtime
    session: Callable[[], Session]
    mcp: McpSession
    replies: ClientReplies
    recognizer: Callable[[], Awaitable[Recognizer]] | None
    on_transcribed: Callable[[], None]
    tape: SpeechTape = field(default_factory=SpeechTape)
    transcriber: RecordingTranscriber = field(init=False)
    sends_again: bool = False
    _sounds: ItemSounds = field(default_factory=ItemSounds)
    _awaits_reply: bool = False
    _stopped: ItemId | None = None  # the message of the last interrupted reply
    _held: list[RetrieveItem] = field(default_factory=list)
    _deleted_by_server: deque[ItemId] = field(default_factory=lambda: deque(maxlen=MAX_DELETED_IDS))

    def __post_init__(self) -> None:
        self.transcriber = RecordingTranscriber(self.recognizer, self._transcribed)

    # ---- events of the session ----

    def on_event(self, event: SessionEvent) -> None:
        """Follows the items: their sound, and what the server deletes. Call it before the reply's end takes effect."""
        match event:
            case SpeechStarted():
                self.tape.begin(event.turn, event.at_ms)
            case UserTurnCommitted():
                self._awaits_reply = event.answered
                self._keep_speech(event.turn, event.item, event.speech_end_ms)
                if event.origin == "resumed" and self._stopped is not None:
                    self._report_heard(self._stopped, continued=True)
            case SpeechEnded() | SpeechDiscarded():
                self._keep_speech(event.turn, event.item, event.at_ms)
            case ReplyStopped():
                self._reply_stopped(event)
                self._reply_begins()
            case ChunkSpoken() | ReplySent() | TurnFinished():
                self._reply_begins()
            case ItemForgotten(item):
                self._deleted_by_server.append(item)
                self._sounds.forget(item)

    def add_reply_sound(self, reply_id: ReplyId, pcm: Pcm) -> None:
        """Keeps the next sound of a reply, int16 (n,) at 24 kHz."""
        known = self.replies.find(reply_id)
        if known is not None and not self.sends_again:
            self._sounds.add_reply(known.started.item, pcm.copy())

    def _keep_speech(self, turn: int, item: Item | None, end_ms: float | None) -> None:
        pieces = self.tape.end(turn, end_ms)
        if pieces and isinstance(item, UserMessage) and item.spoken:
            self._sounds.keep_sound(item.id, 0, pieces, TAPE_RATE_HZ)

    def _reply_stopped(self, event: ReplyStopped) -> None:
        known = self.replies.find(event.reply_id)
        item = self.session().history.item_of(event.reply_id) if known is None else known.started.item
        if item is None:
            return
        if event.reason == "went on" and not event.heard:
            self._sounds.forget(item)
            if known is not None:
                self._deleted_by_server.append(item)
        else:
            self._sounds.cut(item, event.heard_ms)
            self._stopped = item
            self._report_heard(item)

    def _report_heard(self, item: ItemId, *, continued: bool = False) -> None:
        message = self.session().history.find(item)
        if isinstance(message, AssistantMessage):
            self.realtime.reply_heard(message, continued=continued)

    # ---- create ----

    def create(self, command: CreateItem) -> None:
        """Adds an item to the history; its recordings are transcribed after that."""
        history, item = self.session().history, command.item
        if item.id and history.is_taken(item.id):
            self.realtime.refuse(command, "item_create_duplicate_item_id")
            return
        if isinstance(item, FunctionOutput) and not _is_called(history.items, item.call_id):
            self.realtime.refuse(command, "invalid_tool_call_id")
            return
        if isinstance(item, FunctionCallItem) and _is_called(history.items, item.call_id):
            self.realtime.refuse(command, "call_id_taken")
            return
        if isinstance(item, McpApprovalResponse) and not self.mcp.awaits(item):
            self.realtime.refuse(command, "invalid_approval_request_id")
            return
        if command.recordings and self.transcriber.full:
            self.realtime.refuse(command, "too_many_recordings")
            return
        item = item if item.id else replace(item, id=history.reserve())
        if command.after in self._deleted_by_server:  # the item goes to the end instead
            command = replace(command, after=None)
        if not history.insert(item, command.after):
            self.realtime.refuse(command, "item_create_invalid_previous_item_id")
            return
        self.realtime.item_created(command, item)
        if isinstance(item, McpApprovalResponse):
            self.mcp.answered(item)
        self._keep_recordings(command, item)

    def _keep_recordings(self, command: CreateItem, item: Item) -> None:
        for part, recording in command.recordings.items():
            self._sounds.keep_sound(
                item.id, part, [decoded(recording.audio, recording.format)], recording.format.rate_hz
            )
            given = isinstance(item, UserMessage) and _transcript(item, part) is not None
            if isinstance(item, UserMessage) and not (given and not self.realtime.config.transcription):
                self.transcriber.add_recording(WaitingRecording(item.id, part, recording))

    def _transcribed(self, waiting: WaitingRecording, words: str | None) -> None:
        item = self.session().history.find(waiting.item)
        if isinstance(item, UserMessage) and item.parts:
            transcript = words or _transcript(item, waiting.part) or ""
            parts = (*item.parts[: waiting.part], SoundPart(transcript), *item.parts[waiting.part + 1 :])
            self.session().history.replace_message(UserMessage.of_parts(item.id, parts))
            self.realtime.recording_transcribed(
                waiting.item, waiting.part, None if words is None else transcript, waiting.recording.duration_s
            )
        self.on_transcribed()

    # ---- retrieve ----

    def retrieve(self, command: RetrieveItem) -> None:
        """Sends an item with its sound, but not before the first sound of a reply that the user waits for.

        Some clients retrieve the last reply, a megabyte, at every transcript.
        """
        if self._awaits_reply and len(self._held) < MAX_HELD and self._sounds.has(command.item_id):
            self._held.append(command)
        else:
            self._retrieve(command)

    def _reply_begins(self) -> None:
        self._awaits_reply = False
        held, self._held = self._held, []
        for command in held:
            self._retrieve(command)

    def _retrieve(self, command: RetrieveItem) -> None:
        """Sends an item. The current reply is sent as far as the client has received it."""
        item = None if self._is_current(command.item_id) else self.session().history.find(command.item_id)
        self.realtime.item_retrieved(command, item, self._sounds.of(command.item_id))

    # ---- delete and truncate ----

    def delete(self, command: DeleteItem) -> None:
        """Deletes an item. A reply that plays is stopped."""
        history, item = self.session().history, command.item_id
        if history.find(item) is not None:
            self._stop_reply(item)
            history.delete(item)
        elif item not in self._deleted_by_server:
            self.realtime.refuse(command, "item_delete_invalid_item_id")
            return
        self._sounds.forget(item)
        self.realtime.item_deleted(item)
        if item in self._deleted_by_server:
            self._deleted_by_server.remove(item)

    def truncate(self, command: TruncateItem) -> None:
        """Cuts an assistant message to what was heard. A reply that plays is stopped."""
        history = self.session().history
        item, length = history.find(command.item_id), history.length(command.item_id)
        if item is None and command.item_id in self._deleted_by_server:
            return  # the deletion was reported to the client, or will be
        if item is None:
            self.realtime.refuse(command, "item_truncate_invalid_item_id")
            return
        if not isinstance(item, AssistantMessage) or length is None or self.realtime.is_written(command.item_id):
            self.realtime.refuse(command, "unsupported_content_type")
            return
        max_ms = math.ceil(ms_of_reply_samples(length))
        if command.audio_end_ms > max_ms:
            self.realtime.refuse(command, "item_truncate_too_long", audio_ms=max_ms)
            return
        self._stop_reply(command.item_id)
        history.truncate(command.item_id, reply_samples_of_ms(command.audio_end_ms))
        self._sounds.cut(command.item_id, command.audio_end_ms)
        self._report_heard(command.item_id)
        self.realtime.item_truncated(command.item_id, command.audio_end_ms)

    def _stop_reply(self, item: ItemId) -> None:
        """Stops the reply whose message this is, if it plays: the client has stopped playing it."""
        session = self.session()
        reply_id = session.history.reply_of(item)
        if self._is_current(item):
            self.realtime.mark_truncated_by_client(item)
            session.cancel_reply()
        elif reply_id is not None and reply_id in session.active_replies:
            self.realtime.mark_truncated_by_client(item)
            session.stop_trailing_reply(reply_id)

    def _is_current(self, item: ItemId) -> bool:
        """Returns whether this item is the current reply, which is in the history only when it is over."""
        current = self.replies.current
        return current is not None and current.started.item == item


def _transcript(item: UserMessage, part: int) -> str | None:
    content = item.parts[part]
    return content.transcript if isinstance(content, SoundPart) else None


def _is_called(items: tuple[Item, ...], call_id: str) -> bool:
    return any(isinstance(item, FunctionCallItem) and item.call_id == call_id for item in items)
