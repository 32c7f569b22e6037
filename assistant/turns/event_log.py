"""What turn taking was told, as facts without words: enough to let it decide again, exactly. Pure.

Each event of `TurnTaking.tell` becomes one short entry; frames without changes share one. Texts are kept only as
far as decisions depend on them: whether there are words, whether they agree with others, whether they are a listener's
"mhm".

    set {"hangover_ms":400,...}                       the settings in effect from here on
    hear 41600 12 1 38912 - /v39...                   12 frames up to 41600: speaking since 38912, probabilities
                                                      (0: silent since; 2: and perhaps about to go on; 3: speaking,
                                                      and clear of the silence before)
    partial 41600 34112 0 words                       of a segment: rough or not; -, mhm, words, called or echo; and
                                                      "asked" where turn taking asked for them: nobody was sure of the
                                                      voice
    judged 41600 34112 0.49 160.0 650.0 0.2 sound     a segment's silence: probability, length, excess of a pause, share
                                                      of the speaker's turns with one, sources
    words 41600 1 2 34112 0 9d161719                  for turn 1, attempt 2: rough or not; - or a salted hash; and why
                                                      they are none to be answered, if so (called)
    lost 41600 1 2 34112                              these never came
    playing 41600 1 2 3 1                             of this reply, three whole words were heard; it is audible
    ended 41600 1 2                                   this reply is over
    asked 41600 greeting 1                            a reply nobody spoke for, with words of its own
    submitted|pressed|cleared|cancelled 41600         by the client
    cancelled 41600 request                           and what it asked for is not wanted either
"""

import base64
import json
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from typing import assert_never

from assistant.end_of_turn.estimator import EndOfTurnEstimate, EndOfTurnProfile
from assistant.turns.backchannel import is_backchannel, plain_words
from assistant.turns.events import (
    EndOfTurnScored,
    Event,
    FinalTranscript,
    FrameProcessed,
    InputCleared,
    InputCommitted,
    InterimTranscript,
    KeyPressed,
    PlaybackProgress,
    ReplyCancelled,
    ReplyEnded,
    ReplyId,
    ReplyRequested,
    TranscriptFailed,
)
from assistant.turns.settings import TurnSettings
from audio.stt import SegmentId, Transcript
from audio.units import FRAME_SAMPLES, Samples, samples_of_ms
from audio.vad import VadResult

MOST_ENTRIES = 20_000
"""Kept between two records: more than an hour of anything. Then the oldest go; `before` tells that some are missing."""

MOST_FRAMES = 3000
"""Of voice in one entry: a minute. Of each frame it is kept how sure the detector was; of a silence only its length."""

PLAYING_EVERY = samples_of_ms(500)
"""A report that tells nothing new is kept this often: turn taking asks only whether any came within seconds."""

_STIRS, _CLEAR, _MURMUR = "2", "3", "4"

_CLIENT_EVENTS: dict[type[Event], str] = {
    InputCommitted: "submitted",
    KeyPressed: "pressed",
    InputCleared: "cleared",
    ReplyCancelled: "cancelled",
}
"""The names of these events in an entry. They are the trace's and stay, whatever the classes are called."""

Told = Event | TurnSettings

_Single = (
    InterimTranscript | EndOfTurnScored | FinalTranscript | TranscriptFailed | PlaybackProgress | ReplyEnded
    | ReplyRequested | InputCommitted | KeyPressed | InputCleared | ReplyCancelled
)  # fmt: skip
"""What has an entry of its own: frames share theirs."""


@dataclass(frozen=True, slots=True)
class LogEntries:
    """What was told since the last time.

    Attributes:
        before: How many entries there were before these.
    """

    before: int
    entries: tuple[str, ...]


@dataclass(slots=True)
class EventLog:
    """Takes down what one conversation's turn taking is told.

    Attributes:
        salt: For hashes of words; never written down.
    """

    salt: bytes
    _entries: deque[str] = field(default_factory=lambda: deque(maxlen=MOST_ENTRIES))
    _count: int = 0
    _settings: TurnSettings | None = None
    _last: FrameProcessed | None = None  # of the frames that are to share an entry
    _frames: int = 0
    _sure: bytearray = field(default_factory=bytearray)
    _playing: PlaybackProgress | None = None  # the last one told
    _kept: PlaybackProgress | None = None  # the last one kept
    _partial: str = ""

    def tell(self, event: Event, settings: TurnSettings) -> None:
        """The next event, before turn taking hears it, and the settings it will be decided by."""
        if settings != self._settings:
            self._settings, self._partial = settings, ""
            self._add(f"set {json.dumps(asdict(settings), separators=(',', ':'))}")
        match event:
            case FrameProcessed():
                if self._playing is not self._kept and self._playing is not None:
                    self._keep_playing(event.at)
                self._hear(event)
            case PlaybackProgress():
                self._playing = event
                if self._kept is None or _news(self._kept, event):
                    self._kept = event
                    self._add(_entry(event, self.salt))
            case InterimTranscript(was_requested=False):
                entry = _entry(event, self.salt)
                if entry.partition(" ")[2].partition(" ")[2] != self._partial:
                    self._partial = entry.partition(" ")[2].partition(" ")[2]
                    self._add(entry)
            case _:
                self._add(_entry(event, self.salt))

    def drain(self) -> LogEntries:
        """What came since the last time; it is not kept any longer."""
        self._flush()
        entries = tuple(self._entries)
        self._entries.clear()
        return LogEntries(self._count - len(entries), entries)

    def forget(self) -> None:
        """What came since the last time is not to be kept: a gap, which the next entries' `before` tells."""
        self._flush()
        self._entries.clear()
        self._count += 1  # also where nothing was there: the settings, and what was heard, cannot be decided upon again
        self._settings = self._playing = self._kept = None
        self._partial = ""

    def _hear(self, event: FrameProcessed) -> None:
        if self._last is not None and (not _goes_on(self._last, event) or len(self._sure) >= MOST_FRAMES):
            self._flush()
        self._last = event
        self._frames += 1
        if event.vad.speaking:  # how sure the detector is matters only of voice
            self._sure.append(probability_byte(event.vad.probability))

    def _keep_playing(self, now: Samples) -> None:
        """The reports have stopped: the last one counts, however little it told."""
        if self._playing is not None and now - self._playing.at >= PLAYING_EVERY:
            self._kept = self._playing
            self._add(_entry(self._playing, self.salt))

    def _add(self, entry: str) -> None:
        self._flush()
        self._entries.append(entry)
        self._count += 1

    def _flush(self) -> None:
        if self._last is None:
            return
        self._entries.append(_heard_entry(self._last, self._frames, bytes(self._sure)))
        self._count += 1
        self._last, self._frames, self._sure = None, 0, bytearray()


def told_of(entries: Iterable[str]) -> Iterator[Told]:
    """What was told, one after another. Raises ValueError for an entry of another form."""
    for entry in entries:
        kind, _, rest = entry.partition(" ")
        if kind == "set":
            yield settings_of(json.loads(rest))
        elif kind == "hear":
            yield from _frames_of(rest.split())
        else:
            yield _event_of(kind, rest.split())


def settings_of(found: dict[str, object]) -> TurnSettings:
    """Settings as they were taken down; what a newer version adds is ignored. Raises TypeError, ValueError."""
    known = {name: value for name, value in found.items() if name in TurnSettings.__dataclass_fields__}
    patience = known.get("patience")
    if isinstance(patience, dict):
        fields = EndOfTurnProfile.__dataclass_fields__
        known["patience"] = EndOfTurnProfile(**{name: value for name, value in patience.items() if name in fields})
    return TurnSettings(**known)  # type: ignore[arg-type]


def probability_byte(probability: float) -> int:
    """0..1 to 0..255, as fine as a trace keeps it."""
    return round(min(max(probability, 0.0), 1.0) * 255)


def _news(kept: PlaybackProgress, event: PlaybackProgress) -> bool:
    same = (kept.reply, kept.words_heard, kept.audible) == (event.reply, event.words_heard, event.audible)
    return not same or event.at - kept.at >= PLAYING_EVERY


def _goes_on(last: FrameProcessed, event: FrameProcessed) -> bool:
    before, now = last.vad, event.vad
    same = (before.speaking, before.boundary, before.possible_end) == (now.speaking, now.boundary, now.possible_end)
    same = same and (before.possible_onset, before.above_noise, before.background_level) == (
        now.possible_onset,
        now.above_noise,
        now.background_level,
    )
    return same and event.at - last.at == FRAME_SAMPLES


# ---- to entries ----


def _heard_entry(last: FrameProcessed, frames: int, sure: bytes) -> str:
    voicing = last.vad
    fading = "-" if voicing.possible_end is None else str(voicing.possible_end)
    marked = (
        _STIRS
        if voicing.possible_onset
        else _CLEAR
        if voicing.above_noise
        else _MURMUR
        if voicing.background_level
        else ""
    )
    state = marked or f"{voicing.speaking:d}"
    entry = f"hear {last.at} {frames} {state} {voicing.boundary} {fading}"
    return f"{entry} {base64.b64encode(sure).decode()}" if sure else entry


def _entry(event: _Single, salt: bytes) -> str:  # noqa: PLR0911 - one return for each kind of event
    match event:
        case InterimTranscript():
            said = "echo" if event.is_echo else "called" if event.has_wake_phrase else _said(event.transcript.text)
            asked = " asked" if event.was_requested else ""
            return f"partial {event.at} {event.transcript.segment} {event.transcript.low_confidence:d} {said}{asked}"
        case EndOfTurnScored():
            found = event.estimate
            numbers = f"{found.probability!r} {found.silence_ms!r} {found.pause_excess_ms!r} {found.pausing!r}"
            return f"judged {event.at} {event.segment} {numbers} {found.sources or '-'}"
        case FinalTranscript():
            words = event.transcript
            void = f" {event.ignored_because}" if event.ignored_because else ""
            hashed = _hashed(words.text, salt)
            draft = " draft" if words.is_draft else ""
            return f"words {event.at} {_id(event.reply)} {words.segment} {words.low_confidence:d} {hashed}{void}{draft}"
        case TranscriptFailed():
            return f"lost {event.at} {_id(event.reply)} {event.segment}"
        case PlaybackProgress():
            return f"playing {event.at} {_id(event.reply)} {event.words_heard} {event.audible:d}"
        case ReplyEnded():
            return f"ended {event.at} {_id(event.reply)}"
        case ReplyRequested():
            return f"asked {event.at} {event.origin} {bool(event.text):d}{' behind' if event.behind else ''}"
        case InputCommitted(at, behind=True):
            return f"submitted {at} behind"
        case ReplyCancelled(at, including_request=True):
            return f"cancelled {at} request"
        case InputCommitted() | KeyPressed() | InputCleared() | ReplyCancelled():
            return f"{_CLIENT_EVENTS[type(event)]} {event.at}"
        case _:
            assert_never(event)


def _id(reply: ReplyId) -> str:
    return f"{reply.turn} {reply.attempt}"


def _said(text: str) -> str:
    if not text:
        return "-"
    return "mhm" if is_backchannel(text) else "words"


def _hashed(text: str, salt: bytes) -> str:
    if not text.strip():
        return "-"
    plain = plain_words(text)
    return blake2b(plain.encode(), key=salt, digest_size=4).hexdigest() if plain else "?"


# ---- and back ----


def _frames_of(fields: list[str]) -> Iterator[FrameProcessed]:
    at, count, state, edge, fading, *sure = fields
    probabilities = base64.b64decode(sure[0]) if sure else bytes(int(count))
    if len(probabilities) != int(count):
        raise ValueError(f"{count} frames, {len(probabilities)} probabilities")
    for number, probability in enumerate(probabilities, 1):
        end = Samples(int(at) - (int(count) - number) * FRAME_SAMPLES)
        fades = None if fading == "-" else Samples(int(fading))
        speaking, stirs = state in {"1", _CLEAR, _MURMUR}, state == _STIRS
        clear, murmur = state == _CLEAR, state == _MURMUR  # older traces know of no murmur
        yield FrameProcessed(
            end, VadResult(speaking, Samples(int(edge)), probability / 255, fades, stirs, clear, murmur)
        )


def _event_of(kind: str, fields: list[str]) -> Event:  # noqa: C901, PLR0911, PLR0912 - one return for each kind
    position, *rest = fields  # "unpack" is what is said where there are none
    at = Samples(int(position))
    match kind, rest:
        case "partial", [segment, rough, said, *asked] if asked in ([], ["asked"]):
            text = {"-": "", "echo": "", "mhm": "mhm", "words": "words", "called": "words"}[said]
            words = Transcript(SegmentId(int(segment)), at, text, rough == "1")
            return InterimTranscript(
                at, words, has_wake_phrase=said == "called", was_requested=bool(asked), is_echo=said == "echo"
            )
        case "judged", [segment, probability, silence_ms, excess_ms, *pausing, sources] if len(pausing) <= 1:
            share = float(pausing[0]) if pausing else 0.0  # older traces have none: all were waited for alike
            found = float(probability), float(silence_ms), float(excess_ms)
            return EndOfTurnScored(
                at, SegmentId(int(segment)), EndOfTurnEstimate(*found, sources.replace("-", ""), share)
            )
        case "words", [turn, attempt, segment, rough, said, *draft] if draft in ([], ["draft"]):
            return FinalTranscript(at, _reply(turn, attempt), _words(segment, at, rough, said, draft))
        case "words", [turn, attempt, segment, rough, said, ("overheard" | "called" | "backchannel") as void]:
            return FinalTranscript(at, _reply(turn, attempt), _words(segment, at, rough, said, []), void)
        case "words", [turn, attempt, segment, rough, said, ("overheard" | "called" | "backchannel") as void, "draft"]:
            draft = ["draft"]
            return FinalTranscript(at, _reply(turn, attempt), _words(segment, at, rough, said, draft), void)
        case "lost", [turn, attempt, segment]:
            return TranscriptFailed(at, _reply(turn, attempt), SegmentId(int(segment)))
        case "playing", [turn, attempt, words, audible]:
            return PlaybackProgress(at, _reply(turn, attempt), int(words), audible == "1")
        case "ended", [turn, attempt]:
            return ReplyEnded(at, _reply(turn, attempt))
        case "asked", [
            ("greeting" | "announcement" | "requested" | "repeated" | "resumed") as origin,
            worded,
            *behind,
        ] if behind in (
            [],
            ["behind"],
        ):
            return ReplyRequested(at, origin, "words" if worded == "1" else "", bool(behind))
        case "submitted", [*behind] if behind in ([], ["behind"]):
            return InputCommitted(at, bool(behind))
        case "pressed", []:
            return KeyPressed(at)
        case "cleared", []:
            return InputCleared(at)
        case "cancelled", []:
            return ReplyCancelled(at)
        case "cancelled", ["request"]:
            return ReplyCancelled(at, including_request=True)
        case _:
            raise ValueError(f"nothing that turn taking is told: {kind} with {len(fields)} fields")


def _words(segment: str, at: Samples, rough: str, said: str, draft: list[str]) -> Transcript:
    return Transcript(SegmentId(int(segment)), at, "" if said == "-" else said, rough == "1", is_draft=bool(draft))


def _reply(turn: str, attempt: str) -> ReplyId:
    return ReplyId(int(turn), int(attempt))
