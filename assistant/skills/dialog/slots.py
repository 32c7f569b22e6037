"""Values of a request that a later utterance fills or replaces: a duration, a time, the entry that is meant. Pure."""

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from typing import Literal

from assistant.skills.answers import AlarmState, Running, TimerState
from assistant.skills.languages.sentences import TemplateMatch

Kind = Literal["timer", "alarm", "reminder"]

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


def kind_of(found: TemplateMatch) -> Kind | None:
    """Returns what the request is about."""
    kinds: dict[str, Kind] = {"timer": "timer", "alarm": "alarm", "reminder": "reminder"}
    return kinds.get(found.intent.partition("_")[0])


def without(found: TemplateMatch, slots: Iterable[str]) -> TemplateMatch:
    """Returns the request without these slots."""
    dropped = frozenset(slots)
    values = {slot: value for slot, value in found.values.items() if slot not in dropped}
    numbers = {slot: value for slot, value in found.numbers.items() if slot not in dropped}
    return replace(found, values=values, numbers=numbers)


def with_duration(found: TemplateMatch, said: TemplateMatch) -> TemplateMatch:
    """Returns the request with the duration that was said. A number alone has the unit of before, else minutes."""
    if "bare" in said.numbers:
        unit = found.values.get("ua", _MINUTE)
        return _with(found, DURATION | MOMENT, {"ua": unit}, {"a": said.numbers["bare"]})
    values = {slot: value for slot, value in said.values.items() if slot in DURATION}
    numbers = {slot: value for slot, value in said.numbers.items() if slot in DURATION}
    return _with(found, DURATION | MOMENT, values, numbers)


def with_seconds(found: TemplateMatch, seconds: Fraction) -> TemplateMatch:
    """Returns the request with a duration in seconds."""
    return _with(found, DURATION, {"ua": "1"}, {"a": seconds})


def with_moment(found: TemplateMatch, said: TemplateMatch) -> TemplateMatch:
    """Returns the request with the time that was said; the day, or the time of day, stays if only the other was."""
    values = {slot: value for slot, value in said.values.items() if slot in MOMENT}
    numbers = {slot: value for slot, value in said.numbers.items() if slot in MOMENT}
    said_slots = values.keys() | numbers.keys()
    dropped = set(DURATION)
    for group in (_CLOCK, _DAY):
        if not said_slots.isdisjoint(group):
            dropped |= group
    changed = _with(found, dropped, values, numbers)
    words = {slot: one for slot, one in said.words.items() if slot in MOMENT}
    return replace(changed, intent=_AT.get(found.intent, found.intent), words={**found.words, **words})


def has_time(found: TemplateMatch) -> bool:
    """Returns whether the request has a time of day."""
    return "h" in found.numbers or "named_hour" in found.values


def has_moment(found: TemplateMatch) -> bool:
    """Returns whether the request has a time of day or a duration."""
    return has_time(found) or not DURATION.isdisjoint(found.values.keys())


def _with(
    found: TemplateMatch, dropped: Iterable[str], values: dict[str, str], numbers: dict[str, Fraction]
) -> TemplateMatch:
    kept = without(found, dropped)
    intent = (
        found.intent if DURATION.isdisjoint(values.keys() | numbers.keys()) else _IN.get(found.intent, found.intent)
    )
    return replace(kept, intent=intent, values={**kept.values, **values}, numbers={**kept.numbers, **numbers})


# ---- entries ----

Entry = TimerState | AlarmState


def entries_of(running: Running, kind: Kind) -> tuple[Entry, ...]:
    """Returns what is set of this kind."""
    if kind == "timer":
        return running.timers
    return running.alarms if kind == "alarm" else running.reminders


def only(running: Running, numbers: Iterable[int]) -> Running:
    """Returns what is set, with these entries only; what rang is not meant."""
    kept = frozenset(numbers)
    return Running(
        tuple(one for one in running.timers if one.number in kept),
        tuple(one for one in running.alarms if one.number in kept),
        tuple(one for one in running.reminders if one.number in kept),
    )


def without_entries(running: Running, numbers: Iterable[int]) -> Running:
    """Returns what is set, without these entries."""
    gone = frozenset(numbers)
    return replace(
        running,
        timers=tuple(one for one in running.timers if one.number not in gone),
        alarms=tuple(one for one in running.alarms if one.number not in gone),
        reminders=tuple(one for one in running.reminders if one.number not in gone),
    )
