"""Unit conversion: converts a quantity and returns a sentence."""

from fractions import Fraction

from assistant.skills.answers import Reply
from assistant.skills.languages.language import Language, Quantity
from assistant.skills.languages.measures import UNIT_OF, Dimension, MeasureUnit, convert
from assistant.skills.languages.sentences import TemplateMatch

CONVERSION = frozenset(("convert", "convert_many", "convert_one", "convert_half", "convert_two", "convert_mixed"))
"""The intents that `convert_units` answers."""

_FINER = {
    UNIT_OF["foot"]: UNIT_OF["inch"],
    UNIT_OF["pound"]: UNIT_OF["ounce"],
    UNIT_OF["meter"]: UNIT_OF["centimeter"],
    UNIT_OF["hour"]: UNIT_OF["minute"],
    UNIT_OF["minute"]: UNIT_OF["second"],
}
"""The unit of a second number without a unit: "five feet eleven"."""

_AMOUNTS = {"convert_one": Fraction(1), "convert_half": Fraction(1, 2)}


def convert_units(match: TemplateMatch, language: Language) -> Reply | None:
    """Converts the quantity; returns None if its two parts have different dimensions."""
    source, target = _resolve_ounces(language.units[match.values["from"]], language.units[match.values["to"]])
    parts = [(_AMOUNTS.get(match.intent) or match.numbers["number"], source)]
    if match.intent == "convert_mixed" and source not in _FINER:
        return None
    if match.intent in {"convert_two", "convert_mixed"}:
        finer = _FINER[source] if match.intent == "convert_mixed" else language.units[match.values["finer"]]
        if finer.dimension is not source.dimension or finer.dimension is Dimension.TEMPERATURE:
            return None  # "five feet and two pounds" is not understood
        parts.append((match.numbers["more"], finer))
    sentence = _sentence(language, parts, target)
    return lambda _context: sentence


def _resolve_ounces(source: MeasureUnit, target: MeasureUnit) -> tuple[MeasureUnit, MeasureUnit]:
    """Reads an ounce as a fluid ounce if the other unit is a volume."""
    fluid = UNIT_OF["fluid ounce"]
    if source is UNIT_OF["ounce"] and target.dimension is Dimension.VOLUME:
        return fluid, target
    if target is UNIT_OF["ounce"] and source.dimension is Dimension.VOLUME:
        return source, fluid
    return source, target


def _sentence(language: Language, parts: list[tuple[Fraction, MeasureUnit]], target: MeasureUnit) -> str:
    source = parts[0][1]
    name = language.unit_names[source].many
    if source.dimension is not target.dimension:
        return language.say(
            "other_kind",
            source=name,
            target=language.unit_names[target].many,
            source_kind=language.piece(source.dimension.value),
            target_kind=language.piece(target.dimension.value),
        )
    if any(value < 0 for value, _unit in parts) and source.dimension is not Dimension.TEMPERATURE:
        return language.say("negative_amount", source=name)
    result = sum((convert(value, unit, target) for value, unit in parts), Fraction(0))
    if source.dimension is Dimension.TEMPERATURE and convert(result, target, UNIT_OF["kelvin"]) < 0:
        return language.say("too_cold")
    asked = tuple(_quantity(language, value, unit) for value, unit in parts)
    converted = language.phrases.converted(asked, _quantity(language, result, target))
    return language.say("converted", converted=converted)


def _quantity(language: Language, value: Fraction, unit: MeasureUnit) -> Quantity:
    return Quantity(value, language.unit_names[unit], unit.dimension)
