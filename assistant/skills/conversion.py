"""Unit conversion: the quantity asked for, as a sentence."""

import math
from fractions import Fraction

from assistant.skills import Reply
from assistant.skills.measures import UNIT_OF, Dimension, Unit, convert
from assistant.skills.say import say_number
from assistant.skills.sentences import Found

_DIGITS = 4
CONVERSION = frozenset(("convert", "convert_many", "convert_one", "convert_half", "convert_two"))
"""The intents `convert_units` answers."""

_AMOUNTS = {"convert_one": Fraction(1), "convert_half": Fraction(1, 2)}


def convert_units(found: Found) -> Reply | None:
    """The converted quantity; None if two parts of one quantity measure different things."""
    source, target = _agreed(UNIT_OF[found.values["from"]], UNIT_OF[found.values["to"]])
    parts = [(_AMOUNTS.get(found.intent) or found.numbers["number"], source)]
    if found.intent == "convert_two":
        finer = UNIT_OF[found.values["finer"]]
        if finer.dimension is not source.dimension or finer.dimension is Dimension.TEMPERATURE:
            return None  # "five feet and two pounds": not understood
        parts.append((found.numbers["more"], finer))
    sentence = _sentence(parts, target)
    return lambda _context: sentence


def _agreed(source: Unit, target: Unit) -> tuple[Unit, Unit]:
    """An ounce beside a volume is a fluid one."""
    fluid = UNIT_OF["fluid ounce"]
    if source is UNIT_OF["ounce"] and target.dimension is Dimension.VOLUME:
        return fluid, target
    if target is UNIT_OF["ounce"] and source.dimension is Dimension.VOLUME:
        return source, fluid
    return source, target


def _sentence(parts: list[tuple[Fraction, Unit]], target: Unit) -> str:
    source = parts[0][1]
    if source.dimension is not target.dimension:
        kinds = f"one is {source.dimension.value}, the other {target.dimension.value}"
        return f"I can't turn {source.many} into {target.many}: {kinds}."
    if any(value < 0 for value, _unit in parts) and source.dimension is not Dimension.TEMPERATURE:
        return f"There is no negative number of {source.many}."
    result = sum((convert(value, unit, target) for value, unit in parts), Fraction(0))
    if source.dimension is Dimension.TEMPERATURE and convert(result, target, UNIT_OF["kelvin"]) < 0:
        return "Nothing is that cold: it's below absolute zero."
    asked = " and ".join(_quantity(value, unit) for value, unit in parts)
    singular = parts[0][0] in (1, Fraction(1, 2)) or source.dimension is Dimension.TEMPERATURE
    verb = "is" if len(parts) == 1 and singular else "are"
    return f"{asked[0].upper()}{asked[1:]} {verb} {_quantity(result, target)}."


def _quantity(value: Fraction, unit: Unit) -> str:
    """The number, to four significant digits but never rounded before the point, and the unit."""
    if value == Fraction(1, 2) and unit.dimension is not Dimension.TEMPERATURE:
        article = "an" if unit.one[0] in "aeio" or unit.one == "hour" else "a"
        return f"half {article} {unit.one}"
    before_point = math.floor(math.log10(abs(value))) + 1 if abs(value) >= 1 else 0
    words = say_number(value, decimals=max(_DIGITS - before_point, 0))
    return f"{words} {unit.one if abs(value) == 1 else unit.many}"
