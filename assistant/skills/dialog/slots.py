"""Values of a request that a later utterance fills or replaces: a duration, a time, the entry that is meant. Pure."""

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from typing import Literal

from assistant.skills.answers import AlarmState, Running, TimerState
from assistant.skills.languages.sentences import TemplateMatch

Kind = Literal["timer", "alarm", "reminder", "planned"]

DURATION = frozenset({"a", "b", "c", "q", "ua", "ub", "uc", "part", "half", "quarters"})
_CLOCK = frozenset({"h", "m", "half_day", "fraction", "side", "named_hour", "from_hour"})
_DAY = frozenset({"day", "at_weekday", "every", "every_weekday", "also_weekday", "part_of_day"})
MOMENT = _CLOCK | _DAY
_MINUTE = "60"

_IN = {"alarm_set": "alarm_in", "alarm_wake": "alarm_in", "reminder_set": "reminder_in"}
_AT = {"alarm_in": "alarm_set", "reminder_in": "reminder_set"}


def request(intent: str, **values: str) -> TemplateMatch:
    """Returns a request that nobody has said in these words."""
    return TemplateMatch(intent, values, {}, {}, None, missing=False)


def kind_of(match: TemplateMatch) -> Kind | None:
    """Returns what the request is about."""
    kinds: dict[str, Kind] = {"timer": "timer", "alarm": "alarm", "reminder": "reminder", "planned": "planned"}
    return kinds.get(match.intent.partition("_")[0])


def without(match: TemplateMatch, slots: Iterable[str]) -> TemplateMatch:
    """Returns the request without these slots."""
    dropped = frozenset(slots)
    values = {slot: value for slot, value in match.values.items() if slot not in dropped}
    numbers = {slot: value for slot, value in match.numbers.items() if slot not in dropped}
    return replace(match, values=values, numbers=numbers)


def with_duration(match: TemplateMatch, answer: TemplateMatch) -> TemplateMatch:
    """Returns the request with the duration that was said. A number alone has the unit of before, else minutes."""
    if "bare" in answer.numbers:
        unit = match.values.get("ua", _MINUTE)
        return _with(match, DURATION | MOMENT, {"ua": unit}, {"a": answer.numbers["bare"]})
    values = {slot: value for slot, value in answer.values.items() if slot in DURATION}
    numbers = {slot: value for slot, value in answer.numbers.items() if slot in DURATION}
    return _with(match, DURATION | MOMENT, values, numbers)


def with_seconds(match: TemplateMatch, seconds: Fraction) -> TemplateMatch:
    """Returns the request with a duration in seconds."""
    return _with(match, DURATION, {"ua": "1"}, {"a": seconds})


def with_moment(match: TemplateMatch, answer: TemplateMatch) -> TemplateMatch:
    """Returns the request with the time that was said; the day, or the time of day, stays if only the other was."""
    values = {slot: value for slot, value in answer.values.items() if slot in MOMENT}
    numbers = {slot: value for slot, value in answer.numbers.items() if slot in MOMENT}
    said_slots = values.keys() | numbers.keys()
    dropped = set(DURATION)
    for group in (_CLOCK, _DAY):
        if not said_slots.isdisjoint(group):
            dropped |= group
    changed = _with(match, dropped, values, numbers)
    words = {slot: word for slot, word in answer.words.items() if slot in MOMENT}
    return replace(changed, intent=_AT.get(match.intent, match.intent), words={**match.words, **words})


def has_time(match: TemplateMatch) -> bool:
    """Returns whether the request has a time of day."""
    return "h" in match.numbers or "named_hour" in match.values


def has_moment(match: TemplateMatch) -> bool:
    """Returns whether the request has a time of day or a duration."""
    return has_time(match) or not DURATION.isdisjoint(match.values.keys())


def _with(
    match: TemplateMatch, dropped: Iterable[str], values: dict[str, str], numbers: dict[str, Fraction]
) -> TemplateMatch:
    kept = without(match, dropped)
    intent = (
        match.intent if DURATION.isdisjoint(values.keys() | numbers.keys()) else _IN.get(match.intent, match.intent)
    )
    return replace(kept, intent=intent, values={**kept.values, **values}, numbers={**kept.numbers, **numbers})


# ---- entries ----

Entry = TimerState | AlarmState


def entries_of(running: Running, kind: Kind) -> tuple[Entry, ...]:
    """Returns what is set of this kind."""
    if kind == "timer":
        return running.timers
    if kind == "planned":
        return running.planned
    return running.alarms if kind == "alarm" else running.reminders


def only(running: Running, numbers: Iterable[int]) -> Running:
    """Returns what is set, with these entries only; what rang is not meant."""
    kept = frozenset(numbers)
    return Running(
        tuple(timer for timer in running.timers if timer.number in kept),
        tuple(alarm for alarm in running.alarms if alarm.number in kept),
        tuple(reminder for reminder in running.reminders if reminder.number in kept),
        planned=tuple(command for command in running.planned if command.number in kept),
    )


def without_entries(running: Running, numbers: Iterable[int]) -> Running:
    """Returns what is set, without these entries."""
    gone = frozenset(numbers)
    return replace(
        running,
        timers=tuple(timer for timer in running.timers if timer.number not in gone),
        alarms=tuple(alarm for alarm in running.alarms if alarm.number not in gone),
        reminders=tuple(reminder for reminder in running.reminders if reminder.number not in gone),
        planned=tuple(command for command in running.planned if command.number not in gone),
    )
