"""Sends the events about the user: speech start and stop, transcripts and committed turns."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import assert_never

from assistant.events import (
    InterimWords,
    SilenceTimedOut,
    SpeechDiscarded,
    SpeechEnded,
    SpeechStarted,
    UserTurnCommitted,
)
from assistant.history.items import Item, ItemId, UserMessage
from web.wire.incoming.commands import CommitInput
from web.wire.items.item_order import ItemOrder
from web.wire.items.items import JsonObject, extension_of, item_object
from web.wire.outgoing.outbox import Outbox
from web.wire.outgoing.server_events import error_object
from web.wire.values.errors import ProtocolError, refused
from web.wire.values.session_config import Delay, SessionConfig

LOST_WORDS = ProtocolError(
    "transcription_failed", "speech recognition failed or took too long; the words are lost", kind="server_error"
)

MAX_COMMITS = 16
"""Commits remembered until their transcripts arrive; turn taking has fewer in progress."""


_SIGHTINGS: dict[Delay, int] = {"minimal": 1, "low": 2, "medium": 3, "high": 4}
"""Interim transcripts in a row in which a word must be the same. With "xhigh" only the final transcript counts."""


class StableTranscript:
    """The transcript of one item while the user speaks. Its deltas add up to the final transcript.

    The last word of an interim transcript is never stable: it may be cut, and its punctuation is unknown. If the final
    transcript changes a word that was sent, the deltas after it go on from the same word count.
    """

    def __init__(self, delay: Delay) -> None:
        self._sightings = _SIGHTINGS.get(delay)
        self._recent: list[list[str]] = []
        self._sent: list[str] = []

    def add_interim(self, text: str) -> str:
        """Takes an interim transcript of all words so far. Returns the text that has become stable, or ""."""
        if self._sightings is None:
            return ""
        self._recent = [*self._recent, text.split()[:-1]][-self._sightings :]
        if len(self._recent) < self._sightings:
            return ""
        stable = self._recent[-1]
        for words in self._recent:
            same = next(
                (index for index, (word, other) in enumerate(zip(stable, words, strict=False)) if word != other), None
            )
            stable = stable[: min(len(stable), len(words)) if same is None else same]
        return self._send(stable)

    @property
    def has_sent(self) -> bool:
        """Whether any text was returned."""
        return bool(self._sent)

    def finish(self, text: str) -> str:
        """Takes the final transcript. Returns what is still to be sent."""
        return self._send(text.split()) if self._sent else text

    def _send(self, words: list[str]) -> str:
        new = words[len(self._sent) :]
        joint = " " if self._sent and new else ""
        self._sent = [*self._sent, *new]
        return joint + " ".join(new)


@dataclass(frozen=True, slots=True)
class _PendingTranscript:
    """A spoken item that the client knows and whose transcript is pending.

    Attributes:
        item: The item.
        spoken_ms: Length of its speech.
        stable: What was sent of its transcript.
    """

    item: ItemId
    spoken_ms: float
    stable: StableTranscript | None


class InputEvents:
    """Sends events about the user's speech and turns.

    Attributes:
        committing: The client's commits without a result yet.
        inserted_before_ms: Returns how much silence was inserted on the line before a position; None: unknown.
        logprobs: Returns the probabilities of the tokens of the last transcript with this text, if they are known.
    """

    def __init__(self, outbox: Outbox, order: ItemOrder) -> None:
        self.committing: deque[CommitInput] = deque(maxlen=MAX_COMMITS)
        self._outbox = outbox
        self._order = order
        self._speech: SpeechStarted | None = None
        self._announced = False  # the speech was reported to the client
        self._last_turn: UserTurnCommitted | None = None
        self._stable: StableTranscript | None = None  # of the speech of a transcription session
        self._pending: dict[int, _PendingTranscript] = {}  # by turn, oldest first
        self.inserted_before_ms: Callable[[float], float] | None = None
        self.logprobs: Callable[[str], list[JsonObject] | None] = lambda _text: None

    def was_requested(self, turn: int) -> bool:
        """Returns whether this turn is answered because the client requested it, as far as is known."""
        return self._last_turn is None or self._last_turn.turn != turn or self._last_turn.origin == "requested"

    def on_event(
        self,
        event: SpeechStarted | InterimWords | SpeechEnded | SpeechDiscarded | SilenceTimedOut | UserTurnCommitted,
        config: SessionConfig,
    ) -> None:
        """Sends the events for an event of the session."""
        match event:
            case SpeechStarted():
                self._start(event, config)
            case InterimWords(text, rough):
                self._tell_interim(text, config)
                if config.extensions.events:
                    item_id = self._transcribed_item
                    self._outbox.add_event("repartee.partial", {"item_id": item_id, "text": text, "rough": rough})
            case SpeechEnded():
                self._end_speech(event, config)
            case SpeechDiscarded():
                self._discard_speech(event, config)
            case SilenceTimedOut():
                self._time_out(event, config)
            case UserTurnCommitted():
                self._commit_turn(event, config)
            case _:
                assert_never(event)

    def _tell_interim(self, text: str, config: SessionConfig) -> None:
        """Sends the words of a transcription session that will not change any more."""
        item = self._transcribed_item
        if config.kind != "transcription" or not config.transcription or item is None:
            return
        pending = next(iter(self._pending.values()), None)
        stable = self._stable if pending is None else pending.stable
        if stable is None and pending is None:
            self._stable = stable = StableTranscript(config.transcription_delay)
        if stable is not None:
            self._tell_delta(item, stable.add_interim(text))

    @property
    def _transcribed_item(self) -> ItemId | None:
        """The item that the recognizer works on: turns are transcribed one after the other."""
        pending = next(iter(self._pending.values()), None)
        return pending.item if pending is not None else self._speech.item if self._speech is not None else None

    def _tell_delta(self, item: ItemId, delta: str) -> None:
        if delta:
            fields: JsonObject = {"item_id": item, "content_index": 0, "delta": delta}
            self._outbox.add_event("conversation.item.input_audio_transcription.delta", fields)

    def _start(self, speech: SpeechStarted, config: SessionConfig) -> None:
        self._speech, self._stable = speech, None
        # A client that detects turns itself gets no speech events, as with OpenAI's service.
        self._announced = config.turn_detection is not None
        if self._announced:
            at_ms = self._position_ms(speech.at_ms, config)
            self._outbox.add_event(
                "input_audio_buffer.speech_started", {"audio_start_ms": at_ms, "item_id": speech.item}
            )

    def _stop(self, at_ms: float | None, known: JsonObject, config: SessionConfig) -> SpeechStarted | None:
        speech, self._speech = self._speech, None
        if speech is not None and self._announced:
            end_ms = self._position_ms(max(speech.at_ms, speech.at_ms if at_ms is None else at_ms), config)
            stopped: JsonObject = {"audio_end_ms": end_ms, "item_id": speech.item}
            self._outbox.add_event("input_audio_buffer.speech_stopped", stopped | _extension(known))
        return speech

    def _end_speech(self, ended: SpeechEnded, config: SessionConfig) -> None:
        """Sends the events of a turn whose transcript follows."""
        known = self._extension_fields(config, ended.at_ms)
        is_current = self._speech is not None and self._speech.turn == ended.turn
        speech = self._stop(ended.at_ms, known, config) if is_current else None
        self._add_spoken(ended.item, speech, ended.at_ms, known, config)
        spoken_ms = 0.0 if speech is None else max(0.0, ended.at_ms - speech.at_ms)
        stable = self._stable or (StableTranscript(config.transcription_delay) if is_current else None)
        self._pending[ended.turn], self._stable = _PendingTranscript(ended.item.id, spoken_ms, stable), None

    def _tell_pending(
        self, pending: _PendingTranscript, item: UserMessage, config: SessionConfig, *, lost: bool, why: str
    ) -> None:
        """Sends the transcript of a turn that has ended before."""
        current, self._stable = self._stable, pending.stable
        self._tell_transcript(item, config, pending.spoken_ms, lost=lost)
        self._stable = current
        if not item.text and not lost and config.extensions.events:
            self._outbox.add_event("repartee.nothing_said", {"item_id": item.id, "why": why})

    def _discard_speech(self, nothing: SpeechDiscarded, config: SessionConfig) -> None:
        pending = self._pending.pop(nothing.turn, None)
        if pending is not None:
            item = nothing.item or UserMessage(pending.item, "", spoken=True)
            lost = nothing.reason == "stuck"
            self._tell_pending(pending, item, config, lost=lost, why=nothing.reason)
            return
        known = self._extension_fields(config, nothing.at_ms)
        speech = self._stop(nothing.at_ms, known, config)
        if nothing.item is not None:
            self._add_spoken(nothing.item, speech, nothing.at_ms, known, config)
            self._tell_transcript(nothing.item, config, 0.0, lost=nothing.reason == "stuck")
        elif speech is not None and self._stable is not None and self._stable.has_sent:
            # A client that has got words of this item waits for its end.
            self._tell_transcript(UserMessage(speech.item, "", spoken=True), config, 0.0, lost=False)
        item_id = speech.item if speech is not None else nothing.item.id if nothing.item is not None else None
        if item_id is not None and config.extensions.events:
            self._outbox.add_event("repartee.nothing_said", {"item_id": item_id, "why": nothing.reason})
        if nothing.item is None:
            self._refuse_commit()

    def _time_out(self, silence: SilenceTimedOut, config: SessionConfig) -> None:
        """Sends the events for the idle timeout: the silence is an item without words."""
        item_id = silence.item.id
        fields: JsonObject = {
            "audio_start_ms": self._position_ms(silence.heard_at_ms, config),
            "audio_end_ms": self._position_ms(silence.at_ms, config),
        }
        self._outbox.add_event("input_audio_buffer.timeout_triggered", {**fields, "item_id": item_id})
        committed: JsonObject = {"previous_item_id": self._order.insert(item_id), "item_id": item_id}
        self._outbox.add_event("input_audio_buffer.committed", committed)
        self._add_item(silence.item, config)
        self._tell_transcript(silence.item, config, 0.0, lost=False)

    def _commit_turn(self, turn: UserTurnCommitted, config: SessionConfig) -> None:
        self._last_turn = turn
        known = self._extension_fields(config, turn.speech_end_ms)
        item = turn.item
        pending = self._pending.pop(turn.turn, None)
        if pending is not None and isinstance(item, UserMessage):
            self._tell_pending(pending, item, config, lost=turn.lost, why="no words")
            return
        spoken = item if isinstance(item, UserMessage) and item.spoken else None
        speech = (
            self._stop(turn.speech_end_ms, known, config) if turn.origin == "spoken" or spoken is not None else None
        )
        if item is None or item.id in self._order:
            # The user continued without words, or the client created the item itself.
            if turn.origin == "spoken":
                self._refuse_commit()
            return
        if spoken is None:
            self._add_item(item, config)
            return
        self._add_spoken(spoken, speech, turn.speech_end_ms, known, config)
        began_ms = speech.at_ms if speech is not None else turn.speech_end_ms
        spoken_ms = max(0.0, (turn.speech_end_ms or 0.0) - (began_ms or 0.0))
        self._tell_transcript(spoken, config, spoken_ms, lost=turn.lost)
        if not spoken.text and not turn.lost and config.extensions.events:
            self._outbox.add_event("repartee.nothing_said", {"item_id": spoken.id, "why": "no words"})

    def _add_spoken(
        self,
        item: UserMessage,
        speech: SpeechStarted | None,
        end_ms: float | None,
        known: JsonObject,
        config: SessionConfig,
    ) -> None:
        """Sends the events for a spoken item."""
        if self.committing:
            self.committing.popleft()
        committed: JsonObject = {"previous_item_id": self._order.insert(item.id), "item_id": item.id}
        if known and speech is not None and not self._announced:  # no other event tells where the speech ended
            committed |= _extension({"audio_end_ms": _whole_ms(end_ms or 0.0), **known})
        self._outbox.add_event("input_audio_buffer.committed", committed)
        self._add_item(item, config)

    def _add_item(self, item: Item, config: SessionConfig) -> None:
        previous = self._order.before(item.id) if item.id in self._order else self._order.insert(item.id)
        speaker = config.extensions.events
        shown: JsonObject = {
            "previous_item_id": previous,
            "item": item_object(item, transcribed=False, speaker=speaker),
        }
        self._outbox.add_event("conversation.item.added", shown)
        self._outbox.add_event("conversation.item.done", shown)

    def _tell_transcript(self, item: UserMessage, config: SessionConfig, spoken_ms: float, *, lost: bool) -> None:
        if not config.transcription:
            return
        of_item: JsonObject = {"item_id": item.id, "content_index": 0}
        if lost:
            error = {name: value for name, value in error_object(LOST_WORDS).items() if name != "event_id"}
            self._outbox.add_event("conversation.item.input_audio_transcription.failed", {**of_item, "error": error})
            return
        stable, self._stable = self._stable, None
        self._tell_delta(item.id, item.text if stable is None else stable.finish(item.text))
        usage = {"type": "duration", "seconds": round(spoken_ms / 1000, 3)}
        completed: JsonObject = {**of_item, "transcript": item.text, "usage": usage}
        if config.logprobs:
            completed["logprobs"] = self.logprobs(item.text)
        if config.extensions.events:
            completed |= extension_of(item)
        self._outbox.add_event("conversation.item.input_audio_transcription.completed", completed)

    def _position_ms(self, at_ms: float, config: SessionConfig) -> int:
        """Returns a position as the client counts: in the sound that it sent.

        A client that declares `repartee` gets the position on the microphone line, and how much of it is inserted.
        """
        if config.extensions.events or self.inserted_before_ms is None:
            return _whole_ms(at_ms)
        return _whole_ms(at_ms - self.inserted_before_ms(at_ms))

    def _extension_fields(self, config: SessionConfig, end_ms: float | None) -> JsonObject:
        """Returns the extension fields about the end of speech."""
        if end_ms is None or self.inserted_before_ms is None or not config.extensions.events:
            return {}
        return {"inserted_ms": round(self.inserted_before_ms(end_ms), 1)}

    def _refuse_commit(self) -> None:
        if self.committing:
            commit = self.committing.popleft()
            refusal = refused("input_audio_buffer_commit_empty", commit.event_id, {})
            self._outbox.add_event("error", {"error": error_object(refusal)})


def _extension(known: JsonObject) -> JsonObject:
    return {"repartee": known} if known else {}


def _whole_ms(ms: float) -> int:
    return max(0, round(ms))


def tell_transcript(outbox: Outbox, item_id: ItemId, part: int, words: str | None, duration_s: float) -> None:
    """Sends the transcript of a content part of this length; None: the recording could not be transcribed."""
    of_part: JsonObject = {"item_id": item_id, "content_index": part}
    if words is None:
        error = {name: value for name, value in error_object(LOST_WORDS).items() if name != "event_id"}
        outbox.add_event("conversation.item.input_audio_transcription.failed", {**of_part, "error": error})
        return
    if words:
        outbox.add_event("conversation.item.input_audio_transcription.delta", {**of_part, "delta": words})
    usage: JsonObject = {"type": "duration", "seconds": round(duration_s, 3)}
    outbox.add_event(
        "conversation.item.input_audio_transcription.completed", {**of_part, "transcript": words, "usage": usage}
    )
