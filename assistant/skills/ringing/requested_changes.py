"""Changes of timers, alarms and reminders that a tool asks for: their effects, and what the user is told. Pure."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from assistant.skills.alarms.replies import not_past, say_moment, shifted
from assistant.skills.answers import (
    AddTime,
    AlarmState,
    CancelAll,
    MoveAlarm,
    PauseTimers,
    RenameTimers,
    RestartTimers,
    ResumeTimers,
    Running,
    SetAlarm,
    SetTimer,
    TimerEffect,
    TimerState,
)
from assistant.skills.languages.language import Language, base_language, load_language
from assistant.skills.timers.durations import later
from assistant.skills.timers.timers import MAX_ALARMS, MAX_REMINDERS, MAX_TIMERS, next_occurrence

EntryKind = Literal["timer", "alarm", "reminder"]
TimerOrder = Literal["pause", "resume", "restart"]

MAX_TIMER_S = 24 * 3600
MAX_AHEAD_S = 366 * 86400
"""Longest time until an alarm or a reminder, in seconds."""

MAX_TEXT_CHARS = 200


class RefusedChangeError(Exception):
    """A change that cannot be made. The text is for the language model and has nothing of the conversation."""


@dataclass(frozen=True, slots=True)
class RequestedChange:
    """A change that can be made.

    Attributes:
        effect: The effect.
        text: A sentence for the user, in the language of the conversation.
    """

    effect: TimerEffect
    text: str


@dataclass(frozen=True, slots=True)
class Situation:
    """The state in which a change is asked for.

    Attributes:
        running: All that is set.
        now: The local time, with its time zone.
        tag: BCP 47 tag of the conversation's language.
    """

    running: Running
    now: datetime
    tag: str

    @property
    def language(self) -> Language:
        """The language of sentences."""
        return load_language(base_language(self.tag) or "en")


# ---- setting ----


def set_timer(situation: Situation, seconds: float, name: str | None) -> RequestedChange:
    """Sets a timer. Raises RefusedChangeError."""
    if not 1 <= seconds <= MAX_TIMER_S:
        raise RefusedChangeError(f"a timer runs for 1 to {MAX_TIMER_S} seconds")
    _check_room("timers", len(situation.running.timers), MAX_TIMERS)
    language = situation.language
    label = language.phrases.timer(name, seconds if name is None else None)
    effect = SetTimer(seconds, name, language.say("timer_done", timer=label))
    return RequestedChange(effect, language.say("timer_set", timer=language.phrases.timer(name, seconds)))


def set_alarm(
    situation: Situation, local_time: datetime, about: str | None, weekdays: Sequence[int] = ()
) -> RequestedChange:
    """Sets an alarm, or a reminder of `about`. Raises RefusedChangeError."""
    if about is None:
        _check_room("alarms", len(situation.running.alarms), MAX_ALARMS)
    else:
        _check_room("reminders", len(situation.running.reminders), MAX_REMINDERS)
    effect, text = _alarm_at(situation, local_time, about, tuple(sorted(set(weekdays))))
    return RequestedChange(effect, text)


def after_seconds(situation: Situation, seconds: float) -> datetime:
    """Returns the local time after a length of time."""
    if not 1 <= seconds <= MAX_AHEAD_S:
        raise RefusedChangeError(f"it must be 1 to {MAX_AHEAD_S} seconds from now")
    return later(situation.now, timedelta(seconds=seconds))


def _check_room(what: str, count: int, most: int) -> None:
    if count >= most:
        raise RefusedChangeError(f"there are {count} {what} already: one must be cancelled first")


def _alarm_at(
    situation: Situation, local_time: datetime, about: str | None, weekdays: tuple[int, ...]
) -> tuple[SetAlarm, str]:
    now, language = situation.now, situation.language
    wall = now.replace(tzinfo=None)
    if weekdays and not (local_time > wall and local_time.weekday() in weekdays):
        before = datetime.combine(wall.date() - timedelta(days=1), local_time.time())
        local_time = next_occurrence(before, weekdays, wall)
    local_time = not_past(local_time, now)
    ahead_s = local_time.replace(tzinfo=now.tzinfo).timestamp() - now.timestamp()
    if ahead_s <= 0:
        raise RefusedChangeError(f"{local_time:%Y-%m-%dT%H:%M} has passed: it is {_written(wall)}")
    if ahead_s > MAX_AHEAD_S:
        raise RefusedChangeError("it must be within a year")
    moment = say_moment(language, local_time, now, weekdays)
    if about is None:
        announcement = language.say("alarm_rings", time=language.phrases.time_is(local_time.time()))
        text = language.say("alarm_set", moment=moment)
    else:
        announcement = language.say("reminder_rings", about=about)
        text = language.say("reminder_set", moment=moment, about=about)
    return SetAlarm(local_time, announcement, about, weekdays=weekdays), text


# ---- changing and cancelling ----


def add_seconds(situation: Situation, number: int, seconds: float) -> RequestedChange:
    """Gives a timer more time or, if negative, less; moves an alarm or reminder. Raises RefusedChangeError."""
    entry, language = _entry(situation.running, number), situation.language
    if isinstance(entry, TimerState):
        left_s = entry.left_s + seconds
        if left_s < 1:
            raise RefusedChangeError(f"only {math.ceil(entry.left_s)} seconds are left")
        if left_s > MAX_TIMER_S:
            raise RefusedChangeError(f"a timer runs for {MAX_TIMER_S} seconds at most")
        text = language.say("timer_has_left", left=language.phrases.duration(left_s))
        return RequestedChange(AddTime((number,), seconds), text)
    return _moved(situation, entry, *shifted(entry, timedelta(seconds=seconds), situation.now))


def move(situation: Situation, number: int, local_time: datetime) -> RequestedChange:
    """Sets an alarm or reminder to another time; a repeating one on all its days. Raises RefusedChangeError."""
    entry = _entry(situation.running, number)
    if isinstance(entry, TimerState):
        raise RefusedChangeError("a timer has no time of day: change its seconds")
    if entry.weekdays and local_time.weekday() not in entry.weekdays:
        raise RefusedChangeError(f"it rings {_repeated(entry.weekdays)}: set another one for a single day")
    return _moved(situation, entry, local_time, entry.weekdays)


def _moved(situation: Situation, entry: AlarmState, local_time: datetime, weekdays: tuple[int, ...]) -> RequestedChange:
    effect, text = _alarm_at(situation, local_time, entry.about, weekdays)
    return RequestedChange(MoveAlarm(entry.number, effect), text)


def rename(situation: Situation, number: int, text: str) -> RequestedChange:
    """Gives a timer another name, or a reminder another text. Raises RefusedChangeError."""
    entry, language = _entry(situation.running, number), situation.language
    if isinstance(entry, TimerState):
        label = language.phrases.timer(text, None)
        effect = RenameTimers((number,), text, language.say("timer_done", timer=label))
        return RequestedChange(effect, language.say("timer_renamed", timer=label))
    if entry.about is None:
        raise RefusedChangeError("an alarm has no name")
    set_to, said = _alarm_at(situation, entry.local_time, text, entry.weekdays)
    return RequestedChange(MoveAlarm(number, set_to), said)


_ORDERS: dict[TimerOrder, tuple[Callable[[tuple[int, ...]], TimerEffect], str]] = {
    "pause": (PauseTimers, "timer_paused"),
    "resume": (ResumeTimers, "timer_resumed"),
    "restart": (RestartTimers, "timer_set"),
}


def order(situation: Situation, number: int, action: TimerOrder) -> RequestedChange:
    """Pauses, resumes or restarts a timer. Raises RefusedChangeError."""
    entry, language = _entry(situation.running, number), situation.language
    if not isinstance(entry, TimerState):
        raise RefusedChangeError(f"only a timer can {action}")
    effect, sentence = _ORDERS[action]
    label = language.phrases.timer(entry.name, entry.length_s if entry.name is None else None)
    return RequestedChange(effect((number,)), language.say(sentence, of=1, timer=label, count="1"))


def cancel(situation: Situation, numbers: Sequence[int]) -> RequestedChange:
    """Cancels timers, alarms, reminders and planned commands. Raises RefusedChangeError if one of them is not set."""
    planned = {command.number for command in situation.running.planned}
    for number in numbers:
        if number not in planned:
            _entry(situation.running, number)
    language, count = situation.language, len(set(numbers))
    text = language.say("all_cancelled", of=count, count=language.phrases.count(count))
    return RequestedChange(CancelAll(tuple(dict.fromkeys(numbers))), text)


def _entry(running: Running, number: int) -> TimerState | AlarmState:
    """Returns what is set. A planned command to a home is only cancelled."""
    if any(command.number == number for command in running.planned):
        raise RefusedChangeError(f"id {number} is a home command: cancel it and plan another one")
    entries: tuple[TimerState | AlarmState, ...] = (*running.timers, *running.alarms, *running.reminders)
    found = next((entry for entry in entries if entry.number == number), None)
    if found is None:
        raise RefusedChangeError(f"there is no id {number}: list them")
    return found


# ---- telling ----

_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def listed(situation: Situation) -> str:
    """Returns all that is set as facts for the language model, one a line."""
    running = situation.running
    timers = (
        f"{timer.number} | timer | {timer.name or '-'} | {math.ceil(timer.left_s)} s left of {round(timer.length_s)} s"
        f" | {'paused' if timer.paused else 'running'}"
        for timer in running.timers
    )
    alarms = (
        f"{alarm.number} | {'alarm' if alarm.about is None else 'reminder'} | {alarm.about or '-'} | "
        f"{_written(alarm.local_time)} | {_repeated(alarm.weekdays)}"
        for alarm in (*running.alarms, *running.reminders)
    )
    commands = (
        f"{command.number} | home command | {command.about or '-'} | {_written(command.local_time)} | "
        f"{_repeated(command.weekdays)}"
        for command in running.planned
    )
    lines = [*timers, *alarms, *commands]
    return "\n".join([f"now: {_written(situation.now)}", *(lines or ["nothing is set"])])


def _written(moment: datetime) -> str:
    return f"{_WEEKDAYS[moment.weekday()]} {moment:%Y-%m-%dT%H:%M}"


def _repeated(weekdays: Sequence[int]) -> str:
    return f"every {', '.join(_WEEKDAYS[day] for day in weekdays)}" if weekdays else "once"
