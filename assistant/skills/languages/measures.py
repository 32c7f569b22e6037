"""Units of measure, with their factors to the base unit of their dimension.

Every factor is exact. Inch, foot, yard, mile, pound, ounce, ton, acre and US gallon: NIST Special Publication 811,
appendix B. Imperial gallon: UK Weights and Measures Act 1985. A year has 365 days.
"""

from dataclasses import dataclass
from enum import Enum
from fractions import Fraction


class Dimension(Enum):
    """Dimension of a unit. The value is the name of the answer for the dimension."""

    LENGTH = "length"
    MASS = "mass"
    TEMPERATURE = "temperature"
    VOLUME = "volume"
    SPEED = "speed"
    TIME = "span"
    AREA = "area"


@dataclass(frozen=True, slots=True)
class MeasureUnit:
    """A unit of measure with its English names. Names in other languages are in their `units.yaml`.

    Attributes:
        one: Name after "one"; identifies the unit in the tables of other languages.
        many: Name after any other number.
        dimension: Units convert only within a dimension.
        factor: Base units in one unit (meter, kilogram, kelvin, liter, meter per second, second, square meter).
        offset: Base units at the zero of this unit; nonzero only for temperatures.
        also: Other ways to say or write the unit. No word has two meanings.
        symbol: Written after a number in place of the name; "" if the name is written.
    """

    one: str
    many: str
    dimension: Dimension
    factor: Fraction
    offset: Fraction = Fraction(0)
    also: tuple[str, ...] = ()
    symbol: str = ""


def convert(value: Fraction, source: MeasureUnit, target: MeasureUnit) -> Fraction:
    """Converts `value` from `source` to `target`, exactly. Raises ValueError if the dimensions differ."""
    if source.dimension is not target.dimension:
        raise ValueError(f"{source.many} and {target.many} measure different things")
    return (value * source.factor + source.offset - target.offset) / target.factor


def _unit(dimension: Dimension, names: str, factor: str | Fraction, *also: str) -> MeasureUnit:
    one, _, many = names.partition("|")
    return MeasureUnit(one, many, dimension, Fraction(factor), also=also)


_INCH = Fraction("0.0254")
_FOOT = 12 * _INCH
_YARD = 3 * _FOOT
_MILE = 1760 * _YARD
_NAUTICAL_MILE = Fraction(1852)
_POUND = Fraction("0.45359237")
_GALLON = Fraction("3.785411784")
_IMPERIAL_GALLON = Fraction("4.54609")
_HOUR = Fraction(3600)

_LENGTHS = (
    _unit(Dimension.LENGTH, "millimeter|millimeters", "0.001", "mm"),
    _unit(Dimension.LENGTH, "centimeter|centimeters", "0.01", "cm"),
    _unit(Dimension.LENGTH, "meter|meters", "1", "m"),
    _unit(Dimension.LENGTH, "kilometer|kilometers", "1000", "km"),
    _unit(Dimension.LENGTH, "inch|inches", _INCH),
    _unit(Dimension.LENGTH, "foot|feet", _FOOT, "ft"),
    _unit(Dimension.LENGTH, "yard|yards", _YARD),
    _unit(Dimension.LENGTH, "mile|miles", _MILE),
    _unit(Dimension.LENGTH, "nautical mile|nautical miles", _NAUTICAL_MILE),
)
_MASSES = (
    _unit(Dimension.MASS, "milligram|milligrams", "0.000001", "mg"),
    _unit(Dimension.MASS, "gram|grams", "0.001", "g"),
    _unit(Dimension.MASS, "kilogram|kilograms", "1", "kg", "kilo", "kilos"),
    _unit(Dimension.MASS, "metric ton|metric tons", "1000", "tonne", "tonnes"),
    _unit(Dimension.MASS, "ounce|ounces", _POUND / 16, "oz"),
    _unit(Dimension.MASS, "pound|pounds", _POUND, "lb", "lbs"),
    _unit(Dimension.MASS, "stone|stone", 14 * _POUND),
    _unit(Dimension.MASS, "ton|tons", 2000 * _POUND, "short ton", "short tons"),
)
_VOLUMES = (
    _unit(Dimension.VOLUME, "milliliter|milliliters", "0.001", "ml"),
    _unit(Dimension.VOLUME, "centiliter|centiliters", "0.01", "cl"),
    _unit(Dimension.VOLUME, "liter|liters", "1", "l"),
    _unit(Dimension.VOLUME, "cubic meter|cubic meters", "1000"),
    _unit(Dimension.VOLUME, "teaspoon|teaspoons", _GALLON / 768, "tsp"),
    _unit(Dimension.VOLUME, "tablespoon|tablespoons", _GALLON / 256, "tbsp"),
    _unit(Dimension.VOLUME, "fluid ounce|fluid ounces", _GALLON / 128),
    _unit(Dimension.VOLUME, "cup|cups", _GALLON / 16),
    _unit(Dimension.VOLUME, "pint|pints", _GALLON / 8),
    _unit(Dimension.VOLUME, "quart|quarts", _GALLON / 4),
    _unit(Dimension.VOLUME, "gallon|gallons", _GALLON, "us gallon", "us gallons"),
    _unit(Dimension.VOLUME, "imperial pint|imperial pints", _IMPERIAL_GALLON / 8),
    _unit(Dimension.VOLUME, "imperial gallon|imperial gallons", _IMPERIAL_GALLON),
    _unit(Dimension.VOLUME, "cubic foot|cubic feet", _FOOT**3 * 1000),
    _unit(Dimension.VOLUME, "cubic inch|cubic inches", _INCH**3 * 1000),
)
_SPEEDS = (
    _unit(Dimension.SPEED, "meter per second|meters per second", "1", "meters a second"),
    _unit(
        Dimension.SPEED,
        "kilometer per hour|kilometers per hour",
        1000 / _HOUR,
        "kilometers an hour",
        "kph",
        "kmh",
    ),
    _unit(Dimension.SPEED, "mile per hour|miles per hour", _MILE / _HOUR, "miles an hour", "mph"),
    _unit(Dimension.SPEED, "foot per second|feet per second", _FOOT, "feet a second"),
    _unit(Dimension.SPEED, "knot|knots", _NAUTICAL_MILE / _HOUR),
)
_TIMES = (
    _unit(Dimension.TIME, "millisecond|milliseconds", "0.001", "ms"),
    _unit(Dimension.TIME, "second|seconds", "1"),
    _unit(Dimension.TIME, "minute|minutes", "60"),
    _unit(Dimension.TIME, "hour|hours", _HOUR),
    _unit(Dimension.TIME, "day|days", 24 * _HOUR),
    _unit(Dimension.TIME, "week|weeks", 168 * _HOUR),
    _unit(Dimension.TIME, "year|years", 8760 * _HOUR),
)
_AREAS = (
    _unit(Dimension.AREA, "square centimeter|square centimeters", "0.0001"),
    _unit(Dimension.AREA, "square meter|square meters", "1"),
    _unit(Dimension.AREA, "hectare|hectares", "10000"),
    _unit(Dimension.AREA, "square kilometer|square kilometers", "1000000"),
    _unit(Dimension.AREA, "square inch|square inches", _INCH**2),
    _unit(Dimension.AREA, "square foot|square feet", _FOOT**2),
    _unit(Dimension.AREA, "square yard|square yards", _YARD**2),
    _unit(Dimension.AREA, "acre|acres", 4840 * _YARD**2),
    _unit(Dimension.AREA, "square mile|square miles", _MILE**2),
)
_FAHRENHEIT_DEGREE = Fraction(5, 9)
_TEMPERATURES = (
    MeasureUnit(
        "degree Celsius",
        "degrees Celsius",
        Dimension.TEMPERATURE,
        Fraction(1),
        Fraction("273.15"),
        ("celsius", "centigrade", "degrees centigrade", "degrees c", "c"),
        "°C",
    ),
    MeasureUnit(
        "degree Fahrenheit",
        "degrees Fahrenheit",
        Dimension.TEMPERATURE,
        _FAHRENHEIT_DEGREE,
        Fraction("459.67") * _FAHRENHEIT_DEGREE,
        ("fahrenheit", "degrees f", "f"),
        "°F",
    ),
    MeasureUnit("kelvin", "kelvin", Dimension.TEMPERATURE, Fraction(1), also=("kelvins", "degrees kelvin")),
)

UNITS: tuple[MeasureUnit, ...] = _LENGTHS + _MASSES + _TEMPERATURES + _VOLUMES + _SPEEDS + _TIMES + _AREAS
"""All supported units."""


def unit_names(unit: MeasureUnit) -> tuple[str, ...]:
    """Returns the lower-case names of `unit`, the plural first."""
    return tuple(dict.fromkeys(name.lower() for name in (unit.many, unit.one, *unit.also)))


UNIT_OF: dict[str, MeasureUnit] = {name: unit for unit in UNITS for name in unit_names(unit)}
"""Maps each name to its unit."""
