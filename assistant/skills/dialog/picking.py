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
    for match in matches:
        chosen = _picked_by(match, entries, context)
        if chosen:
            return chosen
        missed = missed or chosen is not None
    return () if missed else None


def chooses_all(matches: Sequence[TemplateMatch], count: int) -> bool:
    """Returns whether the words mean all of `count` entries: "all of them", "the two"."""
    return any(
        match.intent == "dialog_all"
        and match.numbers.get("count", count) == count
        and int(match.values.get("pair", count)) == count
        for match in matches
    )


def named_entries(entries: Sequence[Entry], name: Sequence[str], plural_endings: tuple[str, ...]) -> tuple[Entry, ...]:
    """Returns the entries with this name, else those with these words in their name."""

    def has(own: Sequence[str], word: str) -> bool:
        return any(is_same_name(own_word, word, plural_endings) for own_word in own)

    if not name:
        return ()
    endings = (compound for word in name for compound in _COMPOUNDS if word.endswith(compound) and word != compound)
    if (ending := next(endings, None)) is not None:
        name = [word.removesuffix(ending) for word in name]
    names = [(_name(entry).casefold().split(), entry) for entry in entries]
    exact = tuple(entry for own, entry in names if len(own) == len(name) and all(has(own, word) for word in name))
    return exact or tuple(entry for own, entry in names if all(has(own, word) for word in name))


def _name(entry: Entry) -> str:
    return (entry.name if isinstance(entry, TimerState) else entry.about) or ""


def _picked_by(match: TemplateMatch, entries: Sequence[Entry], context: SkillContext) -> Picked:
    if match.intent == "dialog_pick":
        return _by_position(entries, match)
    if match.intent == "dialog_duration":
        return _by_length(entries, match)
    if match.intent == "dialog_moment":
        return tuple(entry for entry in entries if isinstance(entry, AlarmState) and _is_at(entry, match, context)) or (
            () if any(isinstance(entry, AlarmState) for entry in entries) else None
        )
    return None


def position(match: TemplateMatch) -> int | str | None:
    """Returns the position in a match of "dialog_pick": an index, "shortest", "longest"; None if there is no such."""
    which = match.values.get("which_one")
    if which in {"shortest", "longest"}:
        return which
    if which is not None:
        return int(which)
    nth = match.numbers["nth"]
    return int(nth) - 1 if nth >= 1 and nth.denominator == 1 else None


def _by_position(entries: Sequence[Entry], match: TemplateMatch) -> Picked:
    place = position(match)
    if isinstance(place, str):
        timers = sorted((entry for entry in entries if isinstance(entry, TimerState)), key=lambda entry: entry.length_s)
        return tuple(timers[:1] if place == "shortest" else timers[-1:])
    return (entries[place],) if place is not None and -len(entries) <= place < len(entries) else ()


def _by_length(entries: Sequence[Entry], match: TemplateMatch) -> Picked:
    timers = [entry for entry in entries if isinstance(entry, TimerState)]
    if not timers:
        return None
    seconds, bare = duration_s(match), match.numbers.get("bare")
    lengths = [bare * unit_s for unit_s in _UNITS_S] if bare is not None else [] if seconds is None else [seconds]
    for length in lengths:
        if chosen := tuple(timer for timer in timers if round(timer.length_s) == round(length)):
            return chosen
    return ()


def _is_at(alarm: AlarmState, match: TemplateMatch, context: SkillContext) -> bool:
    day = find_day(match)
    if day.is_named and not day.names(alarm, context.now):
        return False
    if not names_time(match):
        return day.is_named
    clock = find_clock(match)
    return (
        clock is not None
        and alarm.local_time.minute == clock.minute
        and alarm.local_time.hour in clock.hours(wake_up=False)
    )
