"""Data types for the course of a turn, as recorded or as decided otherwise. Pure."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from assistant.pipeline.transcript_requests import SessionEffect
from assistant.turns.effects import CommitTurn
from assistant.turns.settings import TurnSettings
from audio.units import Samples

Assumed = Literal["words", "judgement", "fixed silence", "answer", "hold", "silence after the end"]
"""Assumptions of a replay.

Transcripts or EOT estimates at another moment than recorded; the fixed silence of the profile, if none was estimated;
the time at which an answer would have been heard; that a hold of a heard reply delays nothing;
silence after the end of the trace.
"""

Change = Callable[[TurnSettings], TurnSettings]
"""Maps the settings that were in effect to the settings to try."""


@dataclass(frozen=True, slots=True)
class TurnRange:
    """Position of a turn in its conversation, in steps.

    Attributes:
        start: First step of the turn.
        next: First step of the next turn. Decisions from here on do not belong to this turn.
        end: End of the next turn. Includes users who were still speaking.
        steps: Number of steps of the conversation.
    """

    turn: int
    start: int
    next: int
    end: int
    steps: int


class ReplyTiming(NamedTuple):
    """Durations of the turn's answer: from the transcript to the first sound, and from playback start to audibility."""

    prepare: Samples
    playout: Samples


@dataclass(slots=True)
class CommittedReply:
    """An answer that was committed.

    Attributes:
        place: Step of the commit; the same as in the recording if `same`.
        prepared: When and at which step the answer was started.
        same: Whether it was started and committed at the same steps as the recorded answer.
        ready: When its first sound could have left, and how long that takes to become audible, if this is assumed.
        audible: When it becomes audible, as far as known.
        interrupted: When it was interrupted by the voice that began at `voice`.
    """

    commit: CommitTurn
    place: int
    position: Samples
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
    """The course of a turn.

    Attributes:
        endpoints: EOT decisions: (time, step).
        given: Committed answers, in order. Answers that were started when the next turn had begun are left out.
        asked: Number of transcript requests; `prepared` counts the answers that were started.
        assumed: What had to be assumed.
        decisions: All decisions, for comparison: (step, time, effect).
    """

    endpoints: list[tuple[Samples, int]] = field(default_factory=list)
    given: list[CommittedReply] = field(default_factory=list)
    asked: int = 0
    prepared: int = 0
    assumed: set[Assumed] = field(default_factory=set)
    decisions: list[tuple[int, Samples, SessionEffect]] = field(default_factory=list)
