"""Converts a server's events to session events for the screen and to audio for playback. Sans-I/O.

The counterpart of `web.wire.realtime`. The caller of `handle` executes the returned effects in order. An invalid event
of the server is reported once per type, and the conversation continues.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypedDict

from assistant.events import (
    InterimWords,
    LanguageChanged,
    ListsChanged,
    Problem,
    SpeechDiscarded,
    SpeechStarted,
    TimersChanged,
    TurnFinished,
    UserTurnCommitted,
)
from assistant.history.items import ItemId, UserMessage
from assistant.registry.engine_choice import EngineChoice
from assistant.skills.lists.items import ListItem
from assistant.skills.ringing.shown_timers import ShownTimer
from assistant.turns.events import ReplyId
from web.remote.conversation.effects import (
    Ducking,
    Effect,
    ListeningSoundReceived,
    ListeningSoundStopped,
    SessionOpened,
    SpeechEnded,
    StopPlayback,
    WakeWordYielded,
)
from web.remote.conversation.pending_text import PendingText
from web.remote.conversation.record import record_of
from web.remote.conversation.replies import Replies, pcm_of

Event = Mapping[str, Any]

MAX_ITEMS = 2000
"""Item ids remembered, so that items are not shown again after a reconnect: a day of conversation."""

HARMLESS = frozenset({"response_cancel_not_active", "output_audio_buffer_clear_empty"})
"""Errors of stopping a reply that has just ended by itself; not shown to the user."""

COMMIT_EMPTY = "input_audio_buffer_commit_empty"
"""Error code for a committed turn without words."""

CLOSE_ERRORS = frozenset(
    "server_full server_busy server_loading server_draining session_resuming session_expired session_idle "
    "internal_error".split()
)
"""Errors that only announce a close; the close reason explains them."""


class UnsupportedServerError(Exception):
    """The server speaks the protocol without the extensions that this program needs. The message is one sentence."""


def error_code(event: Event) -> str:
    """Returns the code of an error event; "" if it has none."""
    error = event.get("error")
    return str(error.get("code", "")) if isinstance(error, Mapping) else ""


@dataclass(slots=True)
class RemoteConversation:
    """State of the conversation. Outlives its connections.

    Attributes:
        token: Token to resume this conversation; "" before the first connection.
        hearing: Whether the user speaks.
        awaiting: Whether a turn is being transcribed or answered.
        replies: The server's replies.
        typed: Typed texts that the server does not have yet.
    """

    token: str = ""
    hearing: bool = False
    awaiting: bool = False
    replies: Replies = field(default_factory=Replies)
    typed: PendingText = field(default_factory=PendingText)
    _speech: str = ""
    _low_confidence: bool = False
    _speech_end_ms: float | None = None
    _taken: str = ""  # the words of the last turn
    _continues: bool = False  # whether the current speech continues the last turn
    _items: dict[str, None] = field(default_factory=dict)
    _greeting: bool = False  # a new connection is still sending the history
    _reported: set[str] = field(default_factory=set)

    def handle(self, event: Event) -> list[Effect]:
        """Returns the effects of a server's event.

        Raises UnsupportedServerError if the server lacks extensions that this program needs.
        """
        kind = str(event.get("type"))
        read = _READERS.get(kind)
        if read is None:
            return []
        try:
            effects = list(read(self, event) or ())
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            if kind in self._reported:
                return []
            self._reported.add(kind)
            return [Problem(f"the server sent a {kind} that this version does not understand ({error!r})")]
        if self._greeting and not kind.startswith(("conversation.item.", "session.", "response.created")):
            self._greeting = False
            effects = [*self.replies.cut_unsent(), *effects]
        return effects

    @property
    def reply_pending(self) -> bool:
        """Whether a reply is awaited or being generated."""
        return self.awaiting or self.replies.under_way is not None

    def response_requested(self) -> None:
        """Notes that a response was requested."""
        self.awaiting = True

    def connection_lost(self) -> None:
        """Resets what depends on the lost connection."""
        self.hearing = self.awaiting = False
        self.replies.connection_lost()

    # ---- the session ----

    def _created(self, event: Event) -> Iterator[Effect]:
        session = event["session"]
        ours = session.get("repartee")
        if not isinstance(ours, Mapping) or not {"resume_token", "heard_ms", "engines"} <= ours.keys():
            raise UnsupportedServerError(
                "it is not a Repartee server, or its version is too old: `repartee talk` needs sessions that report "
                "resume_token, heard_ms and engines."
            )
        resumed = ours.get("resumed") is True
        if not resumed:
            self._items.clear()
            self.replies.forget()
            self.typed.answered()  # the new session does not know the earlier requests
            self._taken, self._continues = "", False
        self.token = str(ours["resume_token"])
        self.hearing = self.awaiting = False
        self._greeting = resumed
        detection = session.get("audio", {}).get("input", {}).get("turn_detection")
        engines = tuple(_chosen(ours["engines"]))
        offers = {"markup": "markup" in ours, "rooms": "room" in ours}
        yield SessionOpened(resumed, float(ours["heard_ms"]), detection, engines, **offers)

    def _yielded(self, event: Event) -> Iterator[Effect]:
        self.hearing = self.awaiting = False
        yield WakeWordYielded(str(event.get("room", "")))

    # ---- the user ----

    def _speech_started(self, event: Event) -> Iterator[Effect]:
        self.hearing, self.awaiting = True, False
        self._speech = str(event["item_id"])
        yield StopPlayback()  # an interruption, if a reply plays
        yield SpeechStarted(self._next_turn, float(event["audio_start_ms"]), ItemId(self._speech))

    def _partial(self, event: Event) -> Iterator[Effect]:
        self._low_confidence = bool(event.get("rough"))
        yield InterimWords(str(event["text"]), self._low_confidence)

    def _speech_stopped(self, event: Event) -> Iterator[Effect]:
        self.hearing, self.awaiting = False, True
        yield from self._ended(float(event["audio_end_ms"]), event.get("repartee"))

    def _committed(self, event: Event) -> Iterator[Effect]:
        known = event.get("repartee")
        if known is not None:  # a turn that this client ended
            self.hearing, self.awaiting = False, True
            yield from self._ended(float(known["audio_end_ms"]), known)

    def _ended(self, end_ms: float, known: Event | None) -> Iterator[Effect]:
        self._speech_end_ms = end_ms
        if known is not None:
            yield SpeechEnded(end_ms - float(known["inserted_ms"]))

    def _nothing_said(self, event: Event) -> Iterator[Effect]:
        yield self._nothing(str(event.get("why", "no words")))

    def _transcription_failed(self, _event: Event) -> Iterator[Effect]:
        yield self._nothing("no words")

    def _nothing(self, why: str) -> SpeechDiscarded:
        self.hearing = self.awaiting = False
        reasons = {"stuck": "stuck", "requested": "requested", "cleared": "cleared", "noise": "noise"}
        end_ms, self._speech_end_ms = self._speech_end_ms, None
        return SpeechDiscarded(self._next_turn, end_ms or 0.0, reasons.get(why, "no words"))  # type: ignore[arg-type]

    def _item_added(self, event: Event) -> Iterator[Effect]:
        """Shows typed messages, and spoken ones of the history.

        Other spoken messages are shown with their transcripts.
        """
        item = event["item"]
        name, known = str(item["id"]), str(item["id"]) in self._items
        self._items[name] = None
        if len(self._items) > MAX_ITEMS:
            del self._items[next(iter(self._items))]
        self.typed.arrived(name)
        if item.get("role") == "assistant":
            self.typed.answered()
        if known or item.get("role") != "user":
            return
        parts = item.get("content") or []
        words = " ".join(str(part.get("text") or part.get("transcript") or "") for part in parts).strip()
        if words:
            spoken = any(part.get("type") == "input_audio" for part in parts)
            message = UserMessage(ItemId(name), words, spoken=spoken, **_known(item))
            yield UserTurnCommitted(
                self._next_turn, words, low_confidence=False, item=message, speech_end_ms=None, origin="requested"
            )

    def _transcribed(self, event: Event) -> Iterator[Effect]:
        name, words = ItemId(str(event["item_id"])), str(event["transcript"])
        self._items[name] = None
        if not words:
            return  # a turn that this client ended: repartee.nothing_said follows
        whole = f"{self._taken} {words}".strip() if self._continues else words
        turn = self._next_turn
        self._taken, self._continues = whole, False
        message = UserMessage(name, words, spoken=True, **_known(event))
        rough, self._low_confidence = self._low_confidence, False
        end_ms, self._speech_end_ms = self._speech_end_ms, None
        yield UserTurnCommitted(turn, whole, rough, message, end_ms, "spoken")

    # ---- the reply ----

    def _response_created(self, event: Event) -> Iterator[Effect]:
        self.awaiting = False
        yield from self.replies.created(event)
        self.typed.answered()
        self._greeting = False
        yield from self.replies.cut_unsent()

    def _deleted(self, event: Event) -> Iterator[Effect]:
        reply_id: ReplyId | None = self.replies.whose(event["item_id"])
        if reply_id is not None:
            self._continues = True
            yield from self.replies.deleted(event)

    def _traced(self, event: Event) -> Iterator[Effect]:
        yield TurnFinished(record_of(event["trace"]))

    # ---- problems ----

    def _notice(self, event: Event) -> Iterator[Effect]:
        yield Problem(str(event["text"]))

    def _language(self, event: Event) -> Iterator[Effect]:
        yield LanguageChanged(self._next_turn, str(event["language"]), str(event["voice"]))

    def _timers(self, event: Event) -> Iterator[Effect]:
        yield TimersChanged(tuple(_shown_timer(timer) for timer in event["timers"]))

    def _lists(self, event: Event) -> Iterator[Effect]:
        items = ((str(list_fields["name"]), item) for list_fields in event["lists"] for item in list_fields["items"])
        yield ListsChanged(
            tuple(ListItem(str(item["id"]), name, str(item["text"]), index) for index, (name, item) in enumerate(items))
        )

    def _error(self, event: Event) -> Iterator[Effect]:
        error, code = event["error"], error_code(event)
        if code in HARMLESS or code in CLOSE_ERRORS:
            return
        if code == COMMIT_EMPTY:
            yield self._nothing("no words")
            return
        self.awaiting = False
        self.typed.refused(str(error.get("event_id")))
        yield Problem(f"the server reports: {error['message']}")

    @property
    def _next_turn(self) -> int:
        return self.replies.newest_turn + (0 if self._continues else 1)


class _Known(TypedDict):
    speaker: str
    language: str


def _known(extended: Event) -> _Known:
    """Returns who spoke and in which language, from an item or an event with extension fields; "" if it is unknown."""
    fields = extended.get("repartee")
    known = fields if isinstance(fields, Mapping) else {}
    return {"speaker": str(known.get("speaker", "")), "language": str(known.get("language", ""))}


def _chosen(engines: Iterable[Event]) -> Iterator[EngineChoice]:
    for engine in engines:
        name, detail, why = str(engine["name"]), str(engine.get("detail", "")), str(engine.get("why", ""))
        yield EngineChoice(str(engine["stage"]), name, detail, why, bool(engine.get("fallback")), load_ms=0.0)


_Read = Callable[[RemoteConversation, Event], Iterable[Effect] | None]


def _shown_timer(timer: Event) -> ShownTimer:
    local_time = timer["at"]
    return ShownTimer(
        int(timer["id"]),
        timer["kind"],
        str(timer["name"]),
        timer["state"],
        float(timer["left_s"]),
        float(timer["length_s"]),
        None if local_time is None else datetime.fromisoformat(local_time),
        bool(timer["repeats"]),
    )


_READERS: Mapping[str, _Read] = {
    "session.created": RemoteConversation._created,
    "input_audio_buffer.speech_started": RemoteConversation._speech_started,
    "input_audio_buffer.speech_stopped": RemoteConversation._speech_stopped,
    "input_audio_buffer.committed": RemoteConversation._committed,
    "conversation.item.added": RemoteConversation._item_added,
    "conversation.item.deleted": RemoteConversation._deleted,
    "conversation.item.truncated": lambda talk, event: talk.replies.truncated(event),
    "conversation.item.input_audio_transcription.completed": RemoteConversation._transcribed,
    "conversation.item.input_audio_transcription.failed": RemoteConversation._transcription_failed,
    "response.created": RemoteConversation._response_created,
    "response.output_item.added": lambda talk, event: talk.replies.item_added(event),
    "response.output_audio_transcript.delta": lambda talk, event: talk.replies.add_words(event),
    "response.output_text.delta": lambda talk, event: talk.replies.add_words(event),
    "response.output_audio.delta": lambda talk, event: talk.replies.sounds(event),
    "response.output_audio.done": lambda talk, event: talk.replies.sound_ended(event),
    "response.done": lambda talk, event: talk.replies.done(event),
    "output_audio_buffer.cleared": lambda _talk, _event: (StopPlayback(),),
    "repartee.announcement": lambda talk, event: talk.replies.announced(event),
    "repartee.partial": RemoteConversation._partial,
    "repartee.markup": lambda talk, event: talk.replies.written(event),
    "repartee.words": lambda talk, event: talk.replies.placed(event),
    "repartee.duck": lambda _talk, _event: (Ducking(lower=True),),
    "repartee.unduck": lambda _talk, _event: (Ducking(lower=False),),
    "repartee.listening_sound": lambda _talk, event: (ListeningSoundReceived(pcm_of(event["audio"])),),
    "repartee.listening_sound_stopped": lambda _talk, _event: (ListeningSoundStopped(),),
    "repartee.wake_word.yielded": RemoteConversation._yielded,
    "repartee.nothing_said": RemoteConversation._nothing_said,
    "repartee.trace": RemoteConversation._traced,
    "repartee.notice": RemoteConversation._notice,
    "repartee.language": RemoteConversation._language,
    "repartee.timers": RemoteConversation._timers,
    "repartee.lists": RemoteConversation._lists,
    "error": RemoteConversation._error,
}
