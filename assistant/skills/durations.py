"""Lengths of time: those that were asked for, and how they are said."""

import math
from fractions import Fraction

from assistant.skills.say import say_number
from assistant.skills.sentences import Found

_UNITS = ((3600, "hour"), (60, "minute"), (1, "second"))
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


def say_duration(seconds: float) -> str:
    """ "one hour and thirty minutes"; to the second."""
    rest = round(seconds)
    parts = []
    for length, unit in _UNITS:
        count, rest = divmod(rest, length)
        if count:
            parts.append(f"{say_number(Fraction(count))} {unit}{'' if count == 1 else 's'}")
    return join(parts) or "no time"


def say_left(seconds: float) -> str:
    """What is left, as exactly as one wants to hear it: "about twenty-three minutes"."""
    whole = math.ceil(seconds)
    if whole < _SECONDS_COUNT_BELOW_S or whole % 60 == 0:
        return say_duration(max(whole, 1))
    return f"about {say_duration(60 * math.ceil(whole / 60))}"


def say_before_timer(seconds: float) -> str | None:
    """ "ten minute", to stand before "timer"; None where that would be too long."""
    whole = round(seconds)
    for length, unit in _UNITS:
        if whole >= length:
            return None if whole % length else f"{say_number(Fraction(whole // length))} {unit}"
    return None


def join(parts: list[str]) -> str:
    """ "a, b, and c"; "a and b"."""
    if len(parts) < 3:
        return " and ".join(parts)
    return f"{', '.join(parts[:-1])}, and {parts[-1]}"
