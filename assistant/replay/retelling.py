"""Turn taking, told again what a conversation's trace says it was told: the same decisions, at the same samples. Pure.

`decided` drives `assistant.turns.machine` with the recorded events. `Recorded` holds the results by their place in the
conversation: what was asked when, what was answered when, how each silence was judged. From that
`assistant.replay.world` makes up what would have been told after other decisions.
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
"""What made a judge speak: a silence was asked about, its words had come, or Smart Turn had answered."""


class Step(NamedTuple):
    """One event or change of settings, and what was decided upon it."""

    told: Told
    effects: Effects


@dataclass(frozen=True, slots=True)
class TranscriptRequest:
    """The words of a silence were asked for.

    Attributes:
        at: When.
        turn: Whose.
        stretch: The silence: the end of the last voiced frame before it.
        ordinal: The how manieth time in this silence, from 0.
        speech_end: As it was dated then.
        answer: Place of the answer; None: none came.
        delay: From the asking to it.
        dropped: When nobody wanted it any more.
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
    """An estimate of a silence.

    Attributes:
        source: What it came with.
        ordinal: Of the asking that it came with; Smart Turn's: 0.
        delay: From the first asking of the silence.
    """

    stretch: Samples
    source: Source
    ordinal: int
    estimate: EndOfTurnEstimate
    delay: Samples


@dataclass(frozen=True, slots=True)
class PlaybackReports:
    """What the speaker told of a reply: (when, whole words heard, audible), and when it was over."""

    reports: tuple[tuple[Samples, int, bool], ...]
    ended: Samples | None

    @property
    def audible(self) -> Samples | None:
        """When it was first known to be heard."""
        return next((at for at, _, audible in self.reports if audible), None)


@dataclass(slots=True)
class Recorded:
    """One conversation as it was, by place: the number of the step.

    Attributes:
        asks: Every asking, by place.
        judgements: Every estimate, by place.
        replies: Every asking's place, by the id it had.
        commits: Every commit, by place.
        played: By reply.
        starts: Where a turn was first begun by somebody who spoke, and its number, in order.
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
        """Those of one silence."""
        return [self.asks[place] for place in self._asked_in.get(stretch, ())]

    def asks_of(self, turn: int) -> list[TranscriptRequest]:
        """Those of one turn."""
        return [self.asks[place] for place in self._asked_of.get(turn, ())]

    def judged_in(self, stretch: Samples) -> list[ScoredSilence]:
        """How one silence was judged."""
        return [self.judgements[place] for place in self._judged_in.get(stretch, ())]

    def news_in(self, stretch: Samples) -> tuple[Source, int]:
        """What came last in a silence since it was judged: an asking or its words, and the ordinal of that asking."""
        news: list[tuple[int, Source, int]] = [(max(self._judged_in.get(stretch, ()), default=-1), "listener", 0)]
        for place in self._asked_in.get(stretch, ()):
            ask = self.asks[place]
            news.append((place, "asked", ask.ordinal))
            told = None if ask.answer is None else self.steps[ask.answer].told
            if ask.answer is not None and not (isinstance(told, FinalTranscript) and told.transcript.is_draft):
                news.append((ask.answer, "words", ask.ordinal))
        return max(news)[1:]  # where words begin the next asking, "words"

    def ask(self, place: int, reply: ReplyId, ask: TranscriptRequest) -> None:
        """Words were asked for."""
        self.asks[place], self.replies[reply] = ask, place
        self._asked_in.setdefault(ask.stretch, []).append(place)
        self._asked_of.setdefault(ask.turn, []).append(place)

    def judge(self, place: int, judgement: ScoredSilence) -> None:
        """A silence was judged."""
        self.judgements[place] = judgement
        self._judged_in.setdefault(judgement.stretch, []).append(place)


def decided(told: Iterable[Told]) -> list[Step]:
    """What turn taking decides, event by event, with the settings that are among them."""
    turns = TurnTaking(TurnSettings())
    return [Step(item, tell(turns, item)) for item in told]


def tell(turns: TurnTaking, item: Told) -> Effects:
    """An event, or settings that are in effect from here on."""
    if isinstance(item, TurnSettings):
        turns.settings = item
        return ()
    return turns.tell(item)


def voiced(item: Told) -> Samples | None:
    """The end of a frame in which somebody surely speaks; None of any other."""
    if isinstance(item, FrameProcessed) and item.vad.speaking and item.vad.possible_end is None:
        return item.at
    return None


def recorded(told: Iterable[Told]) -> Recorded:
    """A conversation as it was."""
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
    # In older traces a silence was judged as soon as it was asked about, and again as soon as its words came.
    elif place - 1 in found.asks:
        source, ordinal = "asked", found.asks[place - 1].ordinal
    elif isinstance(following, FinalTranscript) and following.at == item.at and following.reply in found.replies:
        source, ordinal = "words", found.asks[found.replies[following.reply]].ordinal
    return ScoredSilence(stretch, source, ordinal, item.estimate, Samples(item.at - first))


def _at(item: Told) -> Samples:
    assert not isinstance(item, TurnSettings), "settings decide nothing"
    return item.at


# ---- against the record ----


def events_of(steps: Iterable[Step]) -> Mapping[int, list[tuple[str, str]]]:
    """What the records of these turns must hold of decisions: (event, detail) in order, by turn."""
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
"""Events of a record that turn taking decided."""
