"""Lengths of time: those that were asked for, and what of them is said."""

import math
from fractions import Fraction

from assistant.skills.sentences import Found

_UNITS_S = (3600, 60, 1)
_QUARTER_OF_AN_HOUR_S = 900
# From here on nobody wants to hear the seconds that are left.
_SECONDS_COUNT_BELOW_S = 600


def duration_s(found: Found) -> Fraction | None:
    """The seconds behind the slots of the templates' <duration>; None where none was said."""
    values, numbers = found.values, found.numbers
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


def duration_parts(seconds: float) -> list[tuple[int, int]]:
    """How many hours, minutes and seconds (3600, 60, 1), to the second; those there are none of are left out."""
    rest = round(seconds)
    parts = []
    for length_s in _UNITS_S:
        count, rest = divmod(rest, length_s)
        if count:
            parts.append((count, length_s))
    return parts


def left_to_say(seconds: float) -> tuple[int, bool]:
    """What is left as exactly as one wants to hear it, in seconds, and whether that is only about so much."""
    whole = math.ceil(seconds)
    if whole < _SECONDS_COUNT_BELOW_S or whole % 60 == 0:
        return max(whole, 1), False
    return 60 * math.ceil(whole / 60), True
