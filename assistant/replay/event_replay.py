"""Replays the events of a conversation's trace through turn taking.

No I/O, no clock. The decisions are the same, at the same samples.
`replay_events` drives turn taking, with the recognizer's adapter, by the recorded events. `RecordingIndex` indexes the
results by step: transcript requests, transcripts, and EOT estimates. `assistant.replay.simulation` uses them to
simulate the events that would have followed other decisions.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

from assistant.end_of_turn.estimator import EndOfTurnEstimate
from assistant.pipeline.transcript_requests import RecognizerRequest, SessionEffects, TranscriptRequests
from assistant.turns.effects import (
    CommitTurn,
    DropAttempt,
    DuckReply,
    EndOfTurn,
    InterruptReply,
    OverlapDecided,
    PlayListeningSound,
    RetractReply,
    TurnStarted,
    UnduckReply,
)
from assistant.turns.events import (
    EndOfTurnScored,
    FinalTranscript,
    FrameProcessed,
    PlaybackProgress,
    ReplyEnded,
    ReplyId,
    TranscriptFailed,
)
from assistant.turns.log.event_entries import LoggedEvent
from assistant.turns.settings import TurnSettings
from assistant.turns.turn_taking import TurnTaking
from audio.units import Samples

Source = Literal["asked", "words", "listener"]
"""The cause of an EOT estimate: a transcript request for the silence, its transcript, or the answer of Smart Turn."""


class Step(NamedTuple):
    """One event or settings change, and the resulting decisions."""

    event: LoggedEvent
    effects: SessionEffects


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """A request for the transcript of the speech before a silence.

    Attributes:
        position: Time of the request.
        turn: Number of its turn.
        silence: Identifies the silence: the end of the last voiced frame before it.
        ordinal: Index of the request within this silence, from 0.
        speech_end: End of speech as dated at that time.
        answer: Step of the transcript; None if none came.
        delay: Time from the request to the transcript.
        dropped: When the request became obsolete.
    """

    position: Samples
    turn: int
    silence: Samples
    ordinal: int
    speech_end: Samples
    answer: int | None = None
    delay: Samples = Samples(0)
    dropped: Samples | None = None


@dataclass(frozen=True, slots=True)
class ScoredSilence:
    """An EOT estimate for a silence.

    Attributes:
        source: What triggered the estimate.
        ordinal: Index of the request that it belongs to; 0 for Smart Turn.
        delay: Time since the first request of the silence.
    """

    silence: Samples
    source: Source
    ordinal: int
    estimate: EndOfTurnEstimate
    delay: Samples


@dataclass(frozen=True, slots=True)
class PlaybackReports:
    """Playback reports of a reply: (time, whole words heard, audible), when it ended, and whether it had an effect."""

    reports: tuple[tuple[Samples, int, bool], ...]
    ended: Samples | None
    has_effect: bool = False

    @property
    def audible(self) -> Samples | None:
        """Returns when the reply was first reported as audible."""
        return next((position for position, _, audible in self.reports if audible), None)


@dataclass(slots=True)
class RecordingIndex:
    """One recorded conversation, indexed by step.

    Attributes:
        requests: Transcript requests by step.
        estimates: EOT estimates by step.
        replies: Step of the request by recorded reply id.
        commits: Commits by step.
        played: Playback reports by reply.
        starts: Step at which each turn was started by speech, and its number, in order.
    """

    steps: list[Step]
    requests: dict[int, RecordedRequest] = field(default_factory=dict)
    estimates: dict[int, ScoredSilence] = field(default_factory=dict)
    replies: dict[ReplyId, int] = field(default_factory=dict)
    commits: dict[int, CommitTurn] = field(default_factory=dict)
    played: dict[ReplyId, PlaybackReports] = field(default_factory=dict)
    starts: list[tuple[int, int]] = field(default_factory=list)
    _requests_in: dict[Samples, list[int]] = field(default_factory=dict)
    _estimates_in: dict[Samples, list[int]] = field(default_factory=dict)
    _requests_of: dict[int, list[int]] = field(default_factory=dict)

    def requests_in(self, silence: Samples) -> list[RecordedRequest]:
        """Returns the transcript requests of one silence."""
        return [self.requests[place] for place in self._requests_in.get(silence, ())]

    def requests_of(self, turn: int) -> list[RecordedRequest]:
        """Returns the transcript requests of one turn."""
        return [self.requests[place] for place in self._requests_of.get(turn, ())]

    def estimates_in(self, silence: Samples) -> list[ScoredSilence]:
        """Returns the EOT estimates of one silence."""
        return [self.estimates[place] for place in self._estimates_in.get(silence, ())]

    def last_trigger_in(self, silence: Samples) -> tuple[Source, int]:
        """Returns what last happened in a silence, a request, transcript or estimate, and the request's ordinal."""
        news: list[tuple[int, Source, int]] = [(max(self._estimates_in.get(silence, ()), default=-1), "listener", 0)]
        for place in self._requests_in.get(silence, ()):
            request = self.requests[place]
            news.append((place, "asked", request.ordinal))
            logged = None if request.answer is None else self.steps[request.answer].event
            if request.answer is not None and not (isinstance(logged, FinalTranscript) and logged.transcript.is_draft):
                news.append((request.answer, "words", request.ordinal))
        return max(news)[1:]  # if a transcript coincides with the next request, "words" wins

    def add_request(self, place: int, reply_id: ReplyId, request: RecordedRequest) -> None:
        """Adds a transcript request."""
        self.requests[place], self.replies[reply_id] = request, place
        self._requests_in.setdefault(request.silence, []).append(place)
        self._requests_of.setdefault(request.turn, []).append(place)

    def add_estimate(self, place: int, estimate: ScoredSilence) -> None:
        """Adds an EOT estimate."""
        self.estimates[place] = estimate
        self._estimates_in.setdefault(estimate.silence, []).append(place)


def replay_events(logged: Iterable[LoggedEvent]) -> list[Step]:
    """Returns the decisions of turn taking, event by event, with the recorded settings changes."""
    requests = TranscriptRequests(TurnTaking(TurnSettings()))
    return [Step(item, feed(requests, item)) for item in logged]


def feed(requests: TranscriptRequests, item: LoggedEvent) -> SessionEffects:
    """Passes on an event, or settings that apply from here on."""
    if isinstance(item, TurnSettings):
        requests.turns.settings = item
        return ()
    return requests.handle(item)


def sure_speech_end(item: LoggedEvent) -> Samples | None:
    """Returns the end of a frame with sure speech; None for anything else."""
    if isinstance(item, FrameProcessed) and item.vad.speaking and item.vad.possible_end is None:
        return item.position
    return None


def index_recording(logged: Iterable[LoggedEvent]) -> RecordingIndex:
    """Indexes a recorded conversation."""
    index = RecordingIndex(replay_events(logged))
    silence, ordinal = Samples(0), 0
    seen: set[int] = set()
    for place, (item, effects) in enumerate(index.steps):
        last = sure_speech_end(item)
        if last is not None:
            silence, ordinal = last, 0
        for effect in effects:
            match effect:
                case RecognizerRequest(reply_id, _, speech_end):
                    index.add_request(
                        place,
                        reply_id,
                        RecordedRequest(_position_of(item), reply_id.turn, silence, ordinal, speech_end),
                    )
                    ordinal += 1
                case DropAttempt(reply_id) if reply_id in index.replies:
                    asked = index.replies[reply_id]
                    index.requests[asked] = replace(index.requests[asked], dropped=_position_of(item))
                case CommitTurn():
                    index.commits[place] = effect
                case TurnStarted(turn) if turn not in seen:
                    seen.add(turn)
                    index.starts.append((place, turn))
                case _:
                    pass
        _take_report(index, place, item, silence)
    return index


def _take_report(index: RecordingIndex, place: int, item: LoggedEvent, silence: Samples) -> None:
    match item:
        case FinalTranscript(position, reply_id) | TranscriptFailed(position, reply_id) if reply_id in index.replies:
            asked = index.replies[reply_id]
            request = index.requests[asked]
            index.requests[asked] = replace(request, answer=place, delay=Samples(position - request.position))
        case EndOfTurnScored():
            index.add_estimate(place, _scored_silence(index, place, item, silence))
        case PlaybackProgress(position, reply_id, words, audible, has_effect):
            known = index.played.get(reply_id, PlaybackReports((), None))
            reports = (*known.reports, (position, words, audible))
            index.played[reply_id] = replace(known, reports=reports, has_effect=known.has_effect or has_effect)
        case ReplyEnded(position, reply_id):
            index.played[reply_id] = replace(index.played.get(reply_id, PlaybackReports((), None)), ended=position)
        case _:
            pass


def _scored_silence(index: RecordingIndex, place: int, item: EndOfTurnScored, silence: Samples) -> ScoredSilence:
    requests = index.requests_in(silence)
    first = requests[0].position if requests else item.position
    source: Source = "listener"
    ordinal = 0
    following = index.steps[place + 1].event if place + 1 < len(index.steps) else None
    if isinstance(following, FrameProcessed) and following.position == item.position:
        source, ordinal = index.last_trigger_in(silence)
    # In older traces a silence was scored immediately after a request and after its transcript.
    elif place - 1 in index.requests:
        source, ordinal = "asked", index.requests[place - 1].ordinal
    elif (
        isinstance(following, FinalTranscript)
        and following.position == item.position
        and following.reply_id in index.replies
    ):
        source, ordinal = "words", index.requests[index.replies[following.reply_id]].ordinal
    return ScoredSilence(silence, source, ordinal, item.estimate, Samples(item.position - first))


def _position_of(item: LoggedEvent) -> Samples:
    assert not isinstance(item, TurnSettings), "settings decide nothing"
    return item.position


# ---- comparison with the record ----


def events_of(  # noqa: C901, PLR0912 - one case for each kind of effect
    steps: Iterable[Step],
) -> Mapping[int, list[tuple[str, str]]]:
    """Returns the decision events that the records of these turns must hold: (event, detail) in order, by turn."""
    by_turn: dict[int, list[tuple[str, str]]] = {}
    for _, effects in steps:
        for effect in effects:
            match effect:
                case RecognizerRequest(reply_id):
                    by_turn.setdefault(reply_id.turn, []).append(("attempt", str(reply_id.attempt)))
                case DropAttempt(reply_id, why):
                    by_turn.setdefault(reply_id.turn, []).append(("dropped", f"attempt {reply_id.attempt}: {why}"))
                case EndOfTurn(turn):
                    by_turn.setdefault(turn, []).append(("endpoint", ""))
                case CommitTurn(reply_id):
                    by_turn.setdefault(reply_id.turn, []).append(("commit", f"attempt {reply_id.attempt}"))
                case RetractReply(reply_id):
                    by_turn.setdefault(reply_id.turn, []).append(("retracted", f"attempt {reply_id.attempt}"))
                case InterruptReply(reply_id, why):
                    by_turn.setdefault(reply_id.turn, []).append(("interrupt", why))
                case DuckReply(reply_id):
                    by_turn.setdefault(reply_id.turn, []).append(("duck", ""))
                case UnduckReply(reply_id):
                    by_turn.setdefault(reply_id.turn, []).append(("unduck", ""))
                case OverlapDecided(reply_id):
                    by_turn.setdefault(reply_id.turn, []).append(("overlap", effect.description))
                case PlayListeningSound(turn):
                    by_turn.setdefault(turn, []).append(("listening_sound", ""))
                case _:
                    pass
    return by_turn


DECISIONS = frozenset(
    (
        "attempt",
        "dropped",
        "endpoint",
        "commit",
        "retracted",
        "interrupt",
        "duck",
        "unduck",
        "listening_sound",
        "overlap",
    )
)
"""Record events that turn taking decides."""
