"""Finds the entries that words mean: "the first one", "pasta", "the one with five minutes". Pure."""

from collections.abc import Sequence

from assistant.skills.alarms.replies import find_clock, find_day, names_time
from assistant.skills.answers import AlarmState, SkillContext, TimerState
from assistant.skills.dialog.slots import Entry
from assistant.skills.languages.sentences import TemplateMatch
from assistant.skills.timers.durations import duration_s
from assistant.skills.timers.replies import is_same_name

_UNITS_S = (60, 3600, 1)
"""Units of a number without one: "the ten" is ten minutes, or else ten hours, or seconds."""

_COMPOUNDS = ("timer", "wecker")
"""Ends of compounds that name an entry: "Nudeltimer"."""

Picked = tuple[Entry, ...] | None
"""The chosen entries; () if the words choose one that is not there; None if they choose none."""


def picked_entries(
    entries: Sequence[Entry],
    matches: Sequence[TemplateMatch],
    name: Sequence[str],
    plural_endings: tuple[str, ...],
    context: SkillContext,
) -> Picked:
    """Returns the entries that the words mean.

    Args:
        entries: The entries in the order in which they were told.
        matches: The dialog templates that match the words.
        name: The words that name an entry.
        plural_endings: See `Phrases`.
        context: The context of the answer.
    """
    if named := named_entries(entries, name, plural_endings):
        return named
    if chooses_all(matches, len(entries)):
        return tuple(entries)
    missed = False
    for found in matches:
        chosen = _picked_by(found, entries, context)
        if chosen:
            return chosen
        missed = missed or chosen is not None
    return () if missed else None


def chooses_all(matches: Sequence[TemplateMatch], count: int) -> bool:
    """Returns whether the words mean all of `count` entries: "all of them", "the two"."""
    return any(found.intent == "dialog_all" and found.numbers.get("count", count) == count for found in matches)


def named_entries(entries: Sequence[Entry], name: Sequence[str], plural_endings: tuple[str, ...]) -> tuple[Entry, ...]:
    """Returns the entries with this name, else those with these words in their name."""

    def has(own: Sequence[str], word: str) -> bool:
        return any(is_same_name(one, word, plural_endings) for one in own)

    if not name:
        return ()
    endings = (one for word in name for one in _COMPOUNDS if word.endswith(one) and word != one)
    if (ending := next(endings, None)) is not None:
        name = [word.removesuffix(ending) for word in name]
    names = [(_name(entry).casefold().split(), entry) for entry in entries]
    exact = tuple(entry for own, entry in names if len(own) == len(name) and all(has(own, word) for word in name))
    return exact or tuple(entry for own, entry in names if all(has(own, word) for word in name))


def _name(entry: Entry) -> str:
    return (entry.name if isinstance(entry, TimerState) else entry.about) or ""


def _picked_by(found: TemplateMatch, entries: Sequence[Entry], context: SkillContext) -> Picked:
    if found.intent == "dialog_pick":
        return _by_position(entries, found)
    if found.intent == "dialog_duration":
        return _by_length(entries, found)
    if found.intent == "dialog_moment":
        return tuple(one for one in entries if isinstance(one, AlarmState) and _is_at(one, found, context)) or (
            () if any(isinstance(one, AlarmState) for one in entries) else None
        )
    return None


def position(found: TemplateMatch) -> int | str | None:
    """Returns the position in a match of "dialog_pick": an index, "shortest", "longest"; None if there is no such."""
    which = found.values.get("which_one")
    if which in {"shortest", "longest"}:
        return which
    if which is not None:
        return int(which)
    nth = found.numbers["nth"]
    return int(nth) - 1 if nth >= 1 and nth.denominator == 1 else None


def _by_position(entries: Sequence[Entry], found: TemplateMatch) -> Picked:
    at = position(found)
    if isinstance(at, str):
        timers = sorted((one for one in entries if isinstance(one, TimerState)), key=lambda one: one.length_s)
        return tuple(timers[:1] if at == "shortest" else timers[-1:])
    return (entries[at],) if at is not None and -len(entries) <= at < len(entries) else ()


def _by_length(entries: Sequence[Entry], found: TemplateMatch) -> Picked:
    timers = [one for one in entries if isinstance(one, TimerState)]
    if not timers:
        return None
    seconds, bare = duration_s(found), found.numbers.get("bare")
    lengths = [bare * unit_s for unit_s in _UNITS_S] if bare is not None else [] if seconds is None else [seconds]
    for length in lengths:
        if chosen := tuple(one for one in timers if round(one.length_s) == round(length)):
            return chosen
    return ()


def _is_at(alarm: AlarmState, found: TemplateMatch, context: SkillContext) -> bool:
    day = find_day(found)
    if day.is_named and not day.names(alarm, context.now):
        return False
    if not names_time(found):
        return day.is_named
    clock = find_clock(found)
    return (
        clock is not None
        and alarm.local_time.minute == clock.minute
        and alarm.local_time.hour in clock.hours(wake_up=False)
    )
