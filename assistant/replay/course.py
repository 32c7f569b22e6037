"""How a turn goes, as it was or decided otherwise: what is kept of it. Pure."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from assistant.turns.events import CommitTurn, Effect
from assistant.turns.settings import TurnSettings
from audio.units import Samples

Assumed = Literal["words", "judgement", "fixed silence", "answer", "silence after the end"]
"""What was made up: words or judgements of a silence at another moment than was recorded; the profile's fixed silence,
where none was judged; when an answer would have been heard; nobody speaking after the end of the trace."""

Change = Callable[[TurnSettings], TurnSettings]
"""From the settings that were in effect to those that are tried."""


@dataclass(frozen=True, slots=True)
class TurnRange:
    """Where a turn lies in its conversation, by place.

    Attributes:
        start: Where it was begun.
        next: Where the next one was; what is decided from here on is not about this turn.
        end: Where the next one was over, so that who was still speaking can be heard.
        steps: How many the conversation has.
    """

    turn: int
    start: int
    next: int
    end: int
    steps: int


class ReplyTiming(NamedTuple):
    """How long an answer of this turn takes: from its words to its first sound, and from when it may be heard on."""

    prepare: Samples
    playout: Samples


@dataclass(slots=True)
class CommittedReply:
    """An answer that was committed.

    Attributes:
        place: Where; the same as in the recording if `same`.
        prepared: When it was begun, and at which place.
        same: It was committed, and begun, where the recorded one was.
        ready: When its first sound might have left, and how long that takes to be heard, where it is made up.
        audible: When it is heard, as far as is known.
        interrupted: When a voice took the floor, which began at `voice`.
    """

    commit: CommitTurn
    place: int
    at: Samples
    prepared: Samples
    prepared_place: int
    same: bool
    ready: tuple[Samples, Samples] | None = None
    audible: Samples | None = None
    retracted: bool = False
    interrupted: Samples | None = None
    voice: Samples | None = None


@dataclass(slots=True)
class TurnCourse:
    """How a turn went.

    Attributes:
        endpoints: Every decision that it was over: (when, place).
        given: Every answer, in order; those begun at or after the next turn's start are not among them.
        asked: How often words were asked for; `prepared` how often an answer was begun.
        assumed: What was made up.
        decisions: Everything decided, for comparison: (place, when, effect).
    """

    endpoints: list[tuple[Samples, int]] = field(default_factory=list)
    given: list[CommittedReply] = field(default_factory=list)
    asked: int = 0
    prepared: int = 0
    assumed: set[Assumed] = field(default_factory=set)
    decisions: list[tuple[int, Samples, Effect]] = field(default_factory=list)
