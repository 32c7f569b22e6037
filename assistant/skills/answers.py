"""Input and output of a skill: the context, the answer, and its effects."""

import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime

from assistant.home import PlannedCalls, ServiceCall
from assistant.memory.facts import AddFact, Fact, FactEffect, RemoveFacts
from assistant.skills.dialog.memory import Memory, OpenQuestion, Remember, Subject
from assistant.skills.lists.items import AddItems, ListEffect, ListItem, RemoveItems

# ---- effects of an answer, applied when its turn is committed ----


@dataclass(frozen=True, slots=True)
class SetTimer:
    """Starts a timer.

    Attributes:
        seconds: Length of the timer, within the limits of the skill.
        name: Purpose of the timer ("eggs"); None if not given.
        announcement: Sentence to say when the timer ends.
        snoozes: Number of the timer that rang and is set again; None for a new one.
    """

    seconds: float
    name: str | None
    announcement: str
    snoozes: int | None = None


@dataclass(frozen=True, slots=True)
class CancelTimers:
    """Cancels the timers with these `TimerState.number` values."""

    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PauseTimers:
    """Pauses the timers with these `TimerState.number` values."""

    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ResumeTimers:
    """Resumes the timers with these `TimerState.number` values."""

    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class AddTime:
    """Adds `seconds` to the time that the timers with these numbers have left; negative: takes them off."""

    numbers: tuple[int, ...]
    seconds: float


@dataclass(frozen=True, slots=True)
class RestartTimers:
    """Lets the timers with these numbers run again for their whole length."""

    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class RenameTimers:
    """Gives the timers with these numbers another name.

    Attributes:
        numbers: The timers.
        name: The name.
        announcement: Sentence to say when they end.
    """

    numbers: tuple[int, ...]
    name: str
    announcement: str


@dataclass(frozen=True, slots=True)
class SetAlarm:
    """Sets an alarm or a reminder for a time of the wall clock.

    Attributes:
        local_time: Without a time zone, so that an alarm for seven stays at seven when the clocks change. Its `fold`
            is 1 for the second occurrence of a time that occurs twice.
        announcement: Sentence to say at that time.
        about: What to remind of ("call Anna"); None for an alarm.
        snoozes: Number of the alarm that rang and is set again; None for a new one.
        weekdays: Weekdays, 0 to 6, on which it rings again at the same local time, in order; empty: it rings once.
        planned: Calls to a home that are made at that time instead of a ring. Then `about` says what happens, and
            `announcement` that it failed; `FAULT` stands for the reason.
        after_s: Seconds until a planned command that is to be made after a while, like a timer, whatever the wall
            clock is set to; None: it is made at `local_time`.
    """

    local_time: datetime
    announcement: str
    about: str | None = None
    snoozes: int | None = None
    weekdays: tuple[int, ...] = ()
    planned: PlannedCalls | None = None
    after_s: float | None = None


@dataclass(frozen=True, slots=True)
class MoveAlarm:
    """Sets an alarm or reminder to another time: the alarm with this number gets the content of `set_to`."""

    number: int
    set_to: SetAlarm


@dataclass(frozen=True, slots=True)
class CancelAlarms:
    """Cancels the alarms and reminders with these `AlarmState.number` values."""

    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ChangeVolume:
    """Changes the volume of later speech, in decibels; positive is louder."""

    db: float


QUIETEST_DB, LOUDEST_DB = -24.0, 9.0
"""Limits of the volume in decibels relative to normal. A lower volume is inaudible in a room; a higher one clips."""

SILENT_DB = -100.0
"""Volume of a muted voice: every sample of 16 bits becomes 0."""


@dataclass(frozen=True, slots=True)
class SetVolume:
    """Sets the volume of later speech, in decibels relative to normal."""

    db: float


@dataclass(frozen=True, slots=True)
class ChangeSpeed:
    """Changes the speed of later speech in steps; positive is faster. Six steps double the speed."""

    steps: int


FAULT = "{fault}"
"""Stands for the sentence of the fault in `HomeAction.late`."""


@dataclass(frozen=True, slots=True)
class HomeAction:
    """Changes something in the home.

    Attributes:
        calls: What the home is asked to do, in order.
        undo: Calls that restore the state before; empty where that is not possible.
        faults: Sentences for what may go wrong, by fault; "" for any other.
        late: What is said about a fault that is known only after the answer was spoken; `FAULT` stands for it.
    """

    calls: tuple[ServiceCall, ...]
    undo: tuple[ServiceCall, ...] = ()
    faults: tuple[tuple[str, str], ...] = ()
    late: str = FAULT

    def fault_text(self, fault: str) -> str:
        """Returns the sentence for a fault."""
        texts = dict(self.faults)
        return texts.get(fault) or texts.get("", fault)


@dataclass(frozen=True, slots=True)
class CancelAll:
    """Cancels timers, alarms and reminders with these numbers, of whatever kind."""

    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Several:
    """Effects of one answer, applied in this order."""

    effects: "tuple[SkillEffect, ...]"


TimerEffect = (
    SetTimer | CancelTimers | PauseTimers | ResumeTimers | AddTime | RestartTimers | RenameTimers
    | SetAlarm | MoveAlarm | CancelAlarms | CancelAll
)  # fmt: skip
SkillEffect = (
    TimerEffect | AddItems | RemoveItems | AddFact | RemoveFacts | ChangeVolume | SetVolume | ChangeSpeed | HomeAction
    | Remember | Several
)  # fmt: skip


def each_effect(effect: SkillEffect | None) -> tuple[SkillEffect, ...]:
    """Returns the single effects of `effect`, in order."""
    if isinstance(effect, Several):
        return tuple(nested for part in effect.effects for nested in each_effect(part))
    return () if effect is None else (effect,)


def changes_something(effect: SkillEffect | None) -> bool:
    """Returns whether the effect does more than remember what was talked about."""
    return any(not isinstance(part, Remember) for part in each_effect(effect))


def timer_effects(effect: SkillEffect | None) -> tuple[TimerEffect, ...]:
    """Returns the effects in `effect` that are about timers, alarms and reminders, in order."""
    return tuple(part for part in each_effect(effect) if isinstance(part, TimerEffect))


def changes_home(effect: SkillEffect | None) -> bool:
    """Returns whether `effect` changes a home, now or later."""
    return any(
        isinstance(part, HomeAction) or (isinstance(part, SetAlarm) and part.planned is not None)
        for part in each_effect(effect)
    )


def list_effects(effect: SkillEffect | None) -> tuple[ListEffect, ...]:
    """Returns the effects in `effect` that are about lists and notes, in order."""
    return tuple(part for part in each_effect(effect) if isinstance(part, ListEffect))


def fact_effects(effect: SkillEffect | None) -> tuple[FactEffect, ...]:
    """Returns the effects in `effect` that change what is remembered across conversations, in order."""
    return tuple(part for part in each_effect(effect) if isinstance(part, FactEffect))


def joined_effect(*effects: SkillEffect | None) -> SkillEffect | None:
    """Returns one effect for all of `effects`; None if there is none."""
    single = tuple(part for effect in effects for part in each_effect(effect))
    return single[0] if len(single) == 1 else Several(single) if single else None


# ---- input of an answer ----


@dataclass(frozen=True, slots=True)
class TimerState:
    """State of a timer at one moment.

    Attributes:
        number: Identifier of the timer, never reused.
        name: Purpose of the timer; None if not given.
        length_s: Length in seconds as set.
        left_s: Remaining seconds, at least 0.
        paused: Whether the timer is paused.
    """

    number: int
    name: str | None
    length_s: float
    left_s: float
    paused: bool = False


@dataclass(frozen=True, slots=True)
class AlarmState:
    """An alarm or a reminder that has not rung.

    Attributes:
        number: Identifier, never reused.
        local_time: Local time without a time zone.
        about: What to remind of; None for an alarm.
        weekdays: Weekdays on which it rings again; empty: it rings once.
        targets: The devices that a planned command changes.
        services: What it does with them: "turn_on".
    """

    number: int
    local_time: datetime
    about: str | None = None
    weekdays: tuple[int, ...] = ()
    targets: frozenset[str] = frozenset()
    services: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Rung:
    """The timer, alarm or reminder that rang last: its number, and the effect that had set it.

    `room`: where it was set, if it rings in another room; else "".
    """

    number: int
    set_to: SetTimer | SetAlarm
    room: str = ""

    @property
    def sentence(self) -> str:
        """The sentence to say when it rings: with the room where it was set, if it rings in another one."""
        announcement = self.set_to.announcement
        return f"{self.room}: {announcement}" if self.room else announcement


@dataclass(frozen=True, slots=True)
class Running:
    """The timers and alarms that are set, each kind sorted by the time it will ring, and the one that rang last.

    Attributes:
        timers: The timers.
        alarms: The alarms.
        reminders: The reminders.
        rung: What rang during the last minutes and can be snoozed; None for nothing.
        ringing: What rings now, in the order in which it began.
        planned: The planned commands to a home.
    """

    timers: tuple[TimerState, ...] = ()
    alarms: tuple[AlarmState, ...] = ()
    reminders: tuple[AlarmState, ...] = ()
    rung: Rung | None = None
    ringing: tuple[Rung, ...] = ()
    planned: tuple[AlarmState, ...] = ()


@dataclass(frozen=True, slots=True)
class SkillContext:
    """Input of an answer besides the user's words.

    Attributes:
        now: Local time with its time zone.
        last_reply: The part of the assistant's last reply that was played; None before the first reply.
        language: BCP 47 tag of the conversation ("en", "en-GB", "de").
        running: The timers and alarms that are set.
        rng: Random number generator for coins and dice.
        at_home: Whether the speaker may use the home. A telephone caller may not.
        memory: What the conversation remembers of its last turns.
        lists: The items of the user's lists and notes, in order.
        facts: What is remembered of the user, the oldest first; None: this conversation has no memory.
        room: Name of the room in which the user speaks; "" if it is not known.
    """

    now: datetime
    last_reply: str | None = None
    language: str = "en"
    running: Running = Running()
    rng: random.Random = field(default_factory=random.Random)
    at_home: bool = True
    memory: Memory = field(default_factory=Memory)
    lists: tuple[ListItem, ...] = ()
    facts: tuple[Fact, ...] | None = None
    room: str = ""

    def __post_init__(self) -> None:
        """Raises ValueError if `now` has no time zone, which the time in other places needs."""
        if self.now.tzinfo is None:
            raise ValueError("SkillContext.now has no time zone; pass datetime.now().astimezone()")


# ---- the answer ----

REFUSED = "refused"
"""Finish reason of an answer that only says that no skill, and no language model, can do what was asked."""


@dataclass(frozen=True, slots=True)
class SkillAnswer:
    """A reply as it is written: numbers are digits. `assistant.text.normalization` makes its spoken form.

    Attributes:
        text: One to three sentences.
        skill: Name of the skill: "time", "date", "arithmetic", ...
        effect: Applied when the turn is committed, not before; None for most answers.
        missing: Whether the answer only says that no skill can do this. A model may be able to.
        failed: Whether the answer says that a service failed. The turn counts as failed.
        lookup: Asks a service and returns the answer, if that is needed; it changes nothing. Then `text` is "".
        question: What the answer asks; None: it asks nothing.
        question_text: The words of that question in `text`.
        refuses: Whether the answer says in full that no language model is connected.
        hint: A line for the screen that is not spoken: what to configure; "" for none.
        subjects: What "it" refers to in the next turns, the latest last; (): the same as before.
        before_llm: Whether it is given although there is a language model.
        excepts: Whether the request ends with exceptions, to which further names may belong.
    """

    text: str
    skill: str
    effect: SkillEffect | None = None
    missing: bool = False
    failed: bool = False
    lookup: "Callable[[], Awaitable[SkillAnswer]] | None" = None
    question: OpenQuestion | None = field(default=None, compare=False)
    question_text: str = field(default="", compare=False)
    refuses: bool = field(default=False, compare=False)
    hint: str = field(default="", compare=False)
    subjects: tuple[Subject, ...] = field(default=(), compare=False)
    before_llm: bool = True
    excepts: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class AnswerWithEffect:
    """The text of an answer, with its effect."""

    text: str
    effect: SkillEffect


@dataclass(frozen=True, slots=True)
class Asking:
    """An answer that asks a question.

    Attributes:
        before: What is said before the question; "" for nothing.
        question_text: The question.
    """

    question_text: str
    question: OpenQuestion
    before: str = ""


Said = str | AnswerWithEffect | Asking | SkillAnswer
"""An answer as a skill gives it."""

# An answer that only needs its context. All requests that can be refused were refused before it is created.
Reply = Callable[[SkillContext], Said]
