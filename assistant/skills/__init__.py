"""What is answered without a language model: time, sums, units, timers, small talk, and what is missing."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

# ---- what an answer may do, once its turn is committed ----


@dataclass(frozen=True, slots=True)
class SetTimer:
    """Start a timer.

    Attributes:
        seconds: How long it runs; within the skill's bounds.
        name: What it is for ("eggs"); None if nobody said.
        announcement: The sentence to say when it is done.
    """

    seconds: float
    name: str | None
    announcement: str


@dataclass(frozen=True, slots=True)
class CancelTimers:
    """Forget these timers, by `TimerState.number`."""

    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PauseTimers:
    """Let these timers stand still, by `TimerState.number`."""

    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ResumeTimers:
    """Let these timers go on, by `TimerState.number`."""

    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SetAlarm:
    """Ring when the clock on the wall shows a time.

    Attributes:
        at: Local time without a zone: seven stays seven when the clocks change in the night. Its `fold` is 1 where that
            time comes twice and the second is meant.
        announcement: The sentence to say then.
    """

    at: datetime
    announcement: str


@dataclass(frozen=True, slots=True)
class CancelAlarms:
    """Forget these alarms, by `AlarmState.number`."""

    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ChangeVolume:
    """Speak louder (positive) or more quietly from now on, in decibels."""

    db: float


@dataclass(frozen=True, slots=True)
class ChangeSpeed:
    """Speak faster (positive) or more slowly from now on, in steps; six of them double the speed."""

    steps: int


TimerEffect = SetTimer | CancelTimers | PauseTimers | ResumeTimers | SetAlarm | CancelAlarms
SkillEffect = TimerEffect | ChangeVolume | ChangeSpeed


# ---- what an answer may depend on ----


@dataclass(frozen=True, slots=True)
class TimerState:
    """A timer as it stands now.

    Attributes:
        number: Its own, never given to another.
        name: What it is for; None if nobody said.
        length_s: What it was set to.
        left_s: Until it is done; never negative.
        paused: Whether it stands still.
    """

    number: int
    name: str | None
    length_s: float
    left_s: float
    paused: bool = False


@dataclass(frozen=True, slots=True)
class AlarmState:
    """An alarm that has not rung: its number, and local time without a zone."""

    number: int
    at: datetime


@dataclass(frozen=True, slots=True)
class Running:
    """The timers and alarms of this moment, each kind by when it will ring."""

    timers: tuple[TimerState, ...] = ()
    alarms: tuple[AlarmState, ...] = ()


@dataclass(frozen=True, slots=True)
class SkillContext:
    """What an answer may depend on besides the words.

    Attributes:
        now: Local time, with its zone.
        last_reply: What the assistant said last, as it was heard; None when it has said nothing yet.
        language: BCP 47 tag of the conversation ("en", "en-GB", "de").
        running: The timers and alarms that are set.
        rng: Where coins and dice get their luck.
    """

    now: datetime
    last_reply: str | None = None
    language: str = "en"
    running: Running = Running()
    rng: random.Random = field(default_factory=random.Random)

    def __post_init__(self) -> None:
        """Raises ValueError when `now` has no zone: the time elsewhere could not be told from it."""
        if self.now.tzinfo is None:
            raise ValueError("SkillContext.now has no time zone; pass datetime.now().astimezone()")


# ---- the answer ----


@dataclass(frozen=True, slots=True)
class SkillAnswer:
    """A reply written for the ear: numbers and units as words.

    Attributes:
        text: One to three sentences.
        skill: Which skill answered: "time", "date", "arithmetic", ...
        effect: What is to be done when the turn is committed, and not before; None for most answers.
        missing: Whether it only says what nothing here can do: a model may know better.
    """

    text: str
    skill: str
    effect: SkillEffect | None = None
    missing: bool = False


@dataclass(frozen=True, slots=True)
class Deed:
    """The text of an answer that comes with an effect."""

    text: str
    effect: SkillEffect


# An answer that waits only for its context. Everything that can be refused has been refused before it exists.
Reply = Callable[[SkillContext], str | Deed]
