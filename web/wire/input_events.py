"""Sends the events about the user: speech start and stop, transcripts and committed turns."""

from collections import deque
from typing import assert_never

from assistant.events import InterimWords, SpeechDiscarded, SpeechStarted, UserTurnCommitted
from assistant.history.items import Item, UserMessage
from web.wire.commands import CommitInput
from web.wire.errors import ProtocolError, refused
from web.wire.item_order import ItemOrder
from web.wire.items import JsonObject, item_object
from web.wire.outbox import Outbox
from web.wire.server_events import error_object
from web.wire.session_config import SessionConfig

LOST_WORDS = ProtocolError(
    "transcription_failed", "speech recognition failed or took too long; the words are lost", kind="server_error"
)

MAX_COMMITS = 16
"""Commits remembered until their transcripts arrive; turn taking has fewer in progress."""


class InputEvents:
    """Sends events about the user's speech and turns.

    Attributes:
        committing: The client's commits without a result yet.
    """

    def __init__(self, outbox: Outbox, order: ItemOrder) -> None:
        self.committing: deque[CommitInput] = deque(maxlen=MAX_COMMITS)
        self._outbox = outbox
        self._order = order
        self._speech: SpeechStarted | None = None
        self._announced = False  # the speech was reported to the client
        self._last_turn: UserTurnCommitted | None = None

    def was_requested(self, turn: int) -> bool:
        """Returns whether this turn is answered because the client requested it, as far as is known."""
        return self._last_turn is None or self._last_turn.turn != turn or self._last_turn.origin == "requested"

    def on_event(
        self,
        event: SpeechStarted | InterimWords | SpeechDiscarded | UserTurnCommitted,
        config: SessionConfig,
        inserted_ms: float | None = None,
    ) -> None:
        """Sends the events for an event of the session; `inserted_ms`: see `Realtime.on_event`."""
        match event:
            case SpeechStarted():
                self._start(event, config)
            case InterimWords(text, rough):
                if config.extensions.events:
                    item_id = self._speech.item if self._speech else None
                    self._outbox.add("repartee.partial", {"item_id": item_id, "text": text, "rough": rough})
            case SpeechDiscarded():
                self._discard_speech(event, config, inserted_ms)
            case UserTurnCommitted():
                self._commit_turn(event, config, inserted_ms)
            case _:
                assert_never(event)

    def _start(self, speech: SpeechStarted, config: SessionConfig) -> None:
        self._speech = speech
        # A client that detects turns itself gets no speech events, as with OpenAI's service.
        self._announced = config.turn_detection is not None
        if self._announced:
            at_ms = _whole_ms(speech.at_ms)
            self._outbox.add("input_audio_buffer.speech_started", {"audio_start_ms": at_ms, "item_id": speech.item})

    def _stop(self, at_ms: float | None, known: JsonObject) -> SpeechStarted | None:
        speech, self._speech = self._speech, None
        if speech is not None and self._announced:
            end_ms = _whole_ms(max(speech.at_ms, speech.at_ms if at_ms is None else at_ms))
            stopped: JsonObject = {"audio_end_ms": end_ms, "item_id": speech.item}
            self._outbox.add("input_audio_buffer.speech_stopped", stopped | _extension(known))
        return speech

    def _discard_speech(self, nothing: SpeechDiscarded, config: SessionConfig, inserted_ms: float | None) -> None:
        known = _extension_fields(config, inserted_ms)
        speech = self._stop(nothing.at_ms, known)
        if nothing.item is not None:
            self._add_spoken(nothing.item, speech, nothing.at_ms, known)
            self._tell_transcript(nothing.item, config, 0.0, lost=nothing.reason == "stuck")
        item_id = speech.item if speech is not None else nothing.item.id if nothing.item is not None else None
        if item_id is not None and config.extensions.events:
            self._outbox.add("repartee.nothing_said", {"item_id": item_id, "why": nothing.reason})
        if nothing.item is None:
            self._refuse_commit()

    def _commit_turn(self, turn: UserTurnCommitted, config: SessionConfig, inserted_ms: float | None) -> None:
        self._last_turn = turn
        known = _extension_fields(config, inserted_ms)
        item = turn.item
        spoken = item if isinstance(item, UserMessage) and item.spoken else None
        speech = self._stop(turn.speech_end_ms, known) if turn.origin == "spoken" or spoken is not None else None
        if item is None or item.id in self._order:
            # The user continued without words, or the client created the item itself.
            if turn.origin == "spoken":
                self._refuse_commit()
            return
        if spoken is None:
            self._add_item(item)
            return
        self._add_spoken(spoken, speech, turn.speech_end_ms, known)
        began_ms = speech.at_ms if speech is not None else turn.speech_end_ms
        spoken_ms = max(0.0, (turn.speech_end_ms or 0.0) - (began_ms or 0.0))
        self._tell_transcript(spoken, config, spoken_ms, lost=turn.lost)
        if not spoken.text and not turn.lost and config.extensions.events:
            self._outbox.add("repartee.nothing_said", {"item_id": spoken.id, "why": "no words"})

    def _add_spoken(
        self, item: UserMessage, speech: SpeechStarted | None, end_ms: float | None, known: JsonObject
    ) -> None:
        """Sends the events for a spoken item."""
        if self.committing:
            self.committing.popleft()
        committed: JsonObject = {"previous_item_id": self._order.insert(item.id), "item_id": item.id}
        if known and speech is not None and not self._announced:  # no other event tells where the speech ended
            committed |= _extension({"audio_end_ms": _whole_ms(end_ms or 0.0), **known})
        self._outbox.add("input_audio_buffer.committed", committed)
        self._add_item(item)

    def _add_item(self, item: Item) -> None:
        previous = self._order.before(item.id) if item.id in self._order else self._order.insert(item.id)
        shown: JsonObject = {"previous_item_id": previous, "item": item_object(item, transcribed=False)}
        self._outbox.add("conversation.item.added", shown)
        self._outbox.add("conversation.item.done", shown)

    def _tell_transcript(self, item: UserMessage, config: SessionConfig, spoken_ms: float, *, lost: bool) -> None:
        if not config.transcription:
            return
        of_item: JsonObject = {"item_id": item.id, "content_index": 0}
        if lost:
            error = {name: value for name, value in error_object(LOST_WORDS).items() if name != "event_id"}
            self._outbox.add("conversation.item.input_audio_transcription.failed", {**of_item, "error": error})
            return
        if item.text:
            self._outbox.add("conversation.item.input_audio_transcription.delta", {**of_item, "delta": item.text})
        usage = {"type": "duration", "seconds": round(spoken_ms / 1000, 3)}
        self._outbox.add(
            "conversation.item.input_audio_transcription.completed",
            {**of_item, "transcript": item.text, "usage": usage},
        )

    def _refuse_commit(self) -> None:
        if self.committing:
            commit = self.committing.popleft()
            refusal = refused("input_audio_buffer_commit_empty", commit.event_id, {})
            self._outbox.add("error", {"error": error_object(refusal)})


def _extension_fields(config: SessionConfig, inserted_ms: float | None) -> JsonObject:
    """Returns the extension fields about the end of speech."""
    return {"invented_ms": round(inserted_ms, 1)} if inserted_ms is not None and config.extensions.events else {}


def _extension(known: JsonObject) -> JsonObject:
    return {"repartee": known} if known else {}


def _whole_ms(ms: float) -> int:
    return max(0, round(ms))
