"""Durations: reads them from a request, and rounds them for speech."""

import math
from datetime import UTC, datetime, timedelta
from fractions import Fraction

from assistant.skills.languages.sentences import TemplateMatch

_UNITS_S = (3600, 60, 1)
_QUARTER_OF_AN_HOUR_S = 900
# From here on, seconds are not spoken.
_SECONDS_COUNT_BELOW_S = 600


def duration_s(match: TemplateMatch) -> Fraction | None:
    """Returns the seconds in the slots of the templates' <duration>; None without a duration."""
    values, numbers = match.values, match.numbers
    if "part" in values:
        return Fraction(values["part"])
    if "quarters" in values:
        return numbers["q"] * _QUARTER_OF_AN_HOUR_S
    if "ua" not in values:
        return None
    first = Fraction(values["ua"])
    total = numbers.get("a", Fraction(1)) * first + (first / 2 if "half" in values else 0)
    for number, unit in (("b", "ub"), ("c", "uc")):
        if number in numbers:
            total += numbers[number] * Fraction(values[unit])
    return total


def later(moment: datetime, after: timedelta) -> datetime:
    """Returns the local time, without a time zone, at this time after a moment, which has one.

    Whole days keep the time of day when the clocks change. Hours and minutes are elapsed time. Its `fold` is 1 for the
    second occurrence of a time that occurs twice.
    """
    if not after % timedelta(days=1):
        return moment.replace(tzinfo=None, fold=0) + after
    return (moment.astimezone(UTC) + after).astimezone(moment.tzinfo).replace(tzinfo=None)


def duration_parts(seconds: float) -> list[tuple[int, int]]:
    """Splits a duration into (count, unit) pairs with the units 3600, 60 and 1. Omits counts of zero."""
    rest = round(seconds)
    parts = []
    for length_s in _UNITS_S:
        count, rest = divmod(rest, length_s)
        if count:
            parts.append((count, length_s))
    return parts


def rounded_time_left(seconds: float) -> tuple[int, bool]:
    """Rounds remaining time for speech. Returns the seconds, and whether they are approximate."""
    whole = math.ceil(seconds)
    if whole < _SECONDS_COUNT_BELOW_S or whole % 60 == 0:
        return max(whole, 1), False
    return 60 * math.ceil(whole / 60), True
