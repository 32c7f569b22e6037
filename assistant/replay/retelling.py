"""Replays the events of a conversation's trace through turn taking. Gives the same decisions at the same samples. Pure.

`decided` drives `assistant.turns.machine` with the recorded events. `Recorded` indexes the results by step: transcript
requests, transcripts, and EOT estimates. `assistant.replay.world` uses them to simulate the events that would have
followed other decisions.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

from assistant.end_of_turn.estimator import EndOfTurnEstimate
from assistant.turns.event_log import Told
from assistant.turns.events import (
    CommitTurn,
    DropAttempt,
    DuckReply,
    Effects,
    EndOfTurn,
    EndOfTurnScored,
    FinalTranscript,
    FrameProcessed,
    InterruptReply,
    PlaybackProgress,
    ReplyEnded,
    ReplyId,
    RetractReply,
    Transcribe,
    TranscriptFailed,
    TurnStarted,
    UnduckReply,
)
from assistant.turns.machine import TurnTaking
from assistant.turns.settings import TurnSettings
from audio.units import Samples

Source = Literal["asked", "words", "listener"]
"""What triggered an EOT estimate: a transcript request for the silence, its transcript, or the answer of Smart Turn."""


class Step(NamedTuple):
    """One event or settings change, and the resulting decisions."""

    told: Told
    effects: Effects


@dataclass(frozen=True, slots=True)
class TranscriptRequest:
    """A request for the transcript of the speech before a silence.

    Attributes:
        at: Time of the request.
        turn: Number of its turn.
        stretch: Identifies the silence: the end of the last voiced frame before it.
        ordinal: Index of the request within this silence, from 0.
        speech_end: End of speech as dated at that time.
        answer: Step of the transcript; None if none came.
        delay: Time from the request to the transcript.
        dropped: When the request became obsolete.
    """

    at: Samples
    turn: int
    stretch: Samples
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

    stretch: Samples
    source: Source
    ordinal: int
    estimate: EndOfTurnEstimate
    delay: Samples


@dataclass(frozen=True, slots=True)
class PlaybackReports:
    """Playback reports of a reply: (time, whole words heard, audible), and when it ended."""

    reports: tuple[tuple[Samples, int, bool], ...]
    ended: Samples | None

    @property
    def audible(self) -> Samples | None:
        """Returns when the reply was first reported as audible."""
        return next((at for at, _, audible in self.reports if audible), None)


@dataclass(slots=True)
class Recorded:
    """One recorded conversation, indexed by step.

    Attributes:
        asks: Transcript requests by step.
        judgements: EOT estimates by step.
        replies: Step of the request by recorded reply id.
        commits: Commits by step.
        played: Playback reports by reply.
        starts: Step at which each turn was started by speech, and its number, in order.
    """

    steps: list[Step]
    asks: dict[int, TranscriptRequest] = field(default_factory=dict)
    judgements: dict[int, ScoredSilence] = field(default_factory=dict)
    replies: dict[ReplyId, int] = field(default_factory=dict)
    commits: dict[int, CommitTurn] = field(default_factory=dict)
    played: dict[ReplyId, PlaybackReports] = field(default_factory=dict)
    starts: list[tuple[int, int]] = field(default_factory=list)
    _asked_in: dict[Samples, list[int]] = field(default_factory=dict)
    _judged_in: dict[Samples, list[int]] = field(default_factory=dict)
    _asked_of: dict[int, list[int]] = field(default_factory=dict)

    def asks_in(self, stretch: Samples) -> list[TranscriptRequest]:
        """Returns the transcript requests of one silence."""
        return [self.asks[place] for place in self._asked_in.get(stretch, ())]

    def asks_of(self, turn: int) -> list[TranscriptRequest]:
        """Returns the transcript requests of one turn."""
        return [self.asks[place] for place in self._asked_of.get(turn, ())]

    def judged_in(self, stretch: Samples) -> list[ScoredSilence]:
        """Returns the EOT estimates of one silence."""
        return [self.judgements[place] for place in self._judged_in.get(stretch, ())]

    def news_in(self, stretch: Samples) -> tuple[Source, int]:
        """Returns what last happened in a silence, a request, transcript or estimate, and the request's ordinal."""
        news: list[tuple[int, Source, int]] = [(max(self._judged_in.get(stretch, ()), default=-1), "listener", 0)]
        for place in self._asked_in.get(stretch, ()):
            ask = self.asks[place]
            news.append((place, "asked", ask.ordinal))
            told = None if ask.answer is None else self.steps[ask.answer].told
            if ask.answer is not None and not (isinstance(told, FinalTranscript) and told.transcript.is_draft):
                news.append((ask.answer, "words", ask.ordinal))
        return max(news)[1:]  # if a transcript coincides with the next request, "words" wins

    def ask(self, place: int, reply: ReplyId, ask: TranscriptRequest) -> None:
        """Adds a transcript request."""
        self.asks[place], self.replies[reply] = ask, place
        self._asked_in.setdefault(ask.stretch, []).append(place)
        self._asked_of.setdefault(ask.turn, []).append(place)

    def judge(self, place: int, judgement: ScoredSilence) -> None:
        """Adds an EOT estimate."""
        self.judgements[place] = judgement
        self._judged_in.setdefault(judgement.stretch, []).append(place)


def decided(told: Iterable[Told]) -> list[Step]:
    """Returns the decisions of turn taking, event by event, with the recorded settings changes."""
    turns = TurnTaking(TurnSettings())
    return [Step(item, tell(turns, item)) for item in told]


def tell(turns: TurnTaking, item: Told) -> Effects:
    """Passes on an event, or settings that apply from here on."""
    if isinstance(item, TurnSettings):
        turns.settings = item
        return ()
    return turns.tell(item)


def voiced(item: Told) -> Samples | None:
    """Returns the end of a frame with sure speech; None for anything else."""
    if isinstance(item, FrameProcessed) and item.vad.speaking and item.vad.possible_end is None:
        return item.at
    return None


def recorded(told: Iterable[Told]) -> Recorded:
    """Indexes a recorded conversation."""
    found = Recorded(decided(told))
    stretch, ordinal = Samples(0), 0
    seen: set[int] = set()
    for place, (item, effects) in enumerate(found.steps):
        last = voiced(item)
        if last is not None:
            stretch, ordinal = last, 0
        for effect in effects:
            match effect:
                case Transcribe(reply, _, speech_end):
                    found.ask(place, reply, TranscriptRequest(_at(item), reply.turn, stretch, ordinal, speech_end))
                    ordinal += 1
                case DropAttempt(reply) if reply in found.replies:
                    asked = found.replies[reply]
                    found.asks[asked] = replace(found.asks[asked], dropped=_at(item))
                case CommitTurn():
                    found.commits[place] = effect
                case TurnStarted(turn) if turn not in seen:
                    seen.add(turn)
                    found.starts.append((place, turn))
                case _:
                    pass
        _take_report(found, place, item, stretch)
    return found


def _take_report(found: Recorded, place: int, item: Told, stretch: Samples) -> None:
    match item:
        case FinalTranscript(at, reply) | TranscriptFailed(at, reply) if reply in found.replies:
            asked = found.replies[reply]
            ask = found.asks[asked]
            found.asks[asked] = replace(ask, answer=place, delay=Samples(at - ask.at))
        case EndOfTurnScored():
            found.judge(place, _judgement(found, place, item, stretch))
        case PlaybackProgress(at, reply, words, audible):
            known = found.played.get(reply, PlaybackReports((), None))
            found.played[reply] = replace(known, reports=(*known.reports, (at, words, audible)))
        case ReplyEnded(at, reply):
            found.played[reply] = replace(found.played.get(reply, PlaybackReports((), None)), ended=at)
        case _:
            pass


def _judgement(found: Recorded, place: int, item: EndOfTurnScored, stretch: Samples) -> ScoredSilence:
    asks = found.asks_in(stretch)
    first = asks[0].at if asks else item.at
    source: Source = "listener"
    ordinal = 0
    following = found.steps[place + 1].told if place + 1 < len(found.steps) else None
    if isinstance(following, FrameProcessed) and following.at == item.at:
        source, ordinal = found.news_in(stretch)
    # In older traces a silence was scored immediately after a request and after its transcript.
    elif place - 1 in found.asks:
        source, ordinal = "asked", found.asks[place - 1].ordinal
    elif isinstance(following, FinalTranscript) and following.at == item.at and following.reply in found.replies:
        source, ordinal = "words", found.asks[found.replies[following.reply]].ordinal
    return ScoredSilence(stretch, source, ordinal, item.estimate, Samples(item.at - first))


def _at(item: Told) -> Samples:
    assert not isinstance(item, TurnSettings), "settings decide nothing"
    return item.at


# ---- comparison with the record ----


def events_of(steps: Iterable[Step]) -> Mapping[int, list[tuple[str, str]]]:
    """Returns the decision events that the records of these turns must hold: (event, detail) in order, by turn."""
    found: dict[int, list[tuple[str, str]]] = {}
    for _, effects in steps:
        for effect in effects:
            match effect:
                case Transcribe(reply):
                    found.setdefault(reply.turn, []).append(("attempt", str(reply.attempt)))
                case DropAttempt(reply, why):
                    found.setdefault(reply.turn, []).append(("dropped", f"attempt {reply.attempt}: {why}"))
                case EndOfTurn(turn):
                    found.setdefault(turn, []).append(("endpoint", ""))
                case CommitTurn(reply):
                    found.setdefault(reply.turn, []).append(("commit", f"attempt {reply.attempt}"))
                case RetractReply(reply):
                    found.setdefault(reply.turn, []).append(("retracted", f"attempt {reply.attempt}"))
                case InterruptReply(reply, why):
                    found.setdefault(reply.turn, []).append(("interrupt", why))
                case DuckReply(reply):
                    found.setdefault(reply.turn, []).append(("duck", ""))
                case UnduckReply(reply):
                    found.setdefault(reply.turn, []).append(("unduck", ""))
                case _:
                    pass
    return found


DECISIONS = frozenset(("attempt", "dropped", "endpoint", "commit", "retracted", "interrupt", "duck", "unduck"))
"""Record events that turn taking decides."""
