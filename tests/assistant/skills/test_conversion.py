"""Unit conversion: exact factors, round trips of every pair, and invalid quantities."""

from datetime import UTC, datetime
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.texts.text_cases import text_cases

from assistant.skills.answers import SkillContext
from assistant.skills.languages.measures import UNIT_OF, UNITS, MeasureUnit, convert, unit_names
from assistant.skills.skills import Skills

CONTEXT = SkillContext(datetime(2026, 11, 20, 22, 43, tzinfo=UTC))
PAIRS = [(a, b) for a in UNITS for b in UNITS if a.dimension is b.dimension]


@given(st.sampled_from(PAIRS), st.fractions(min_value=-1000, max_value=10**6))
def test_conversion_round_trip_is_exact(pair: tuple[MeasureUnit, MeasureUnit], value: Fraction) -> None:
    source, target = pair
    assert convert(convert(value, source, target), target, source) == value


@text_cases(
    ("value", "source", "target", "expected"),
    [
        ("1", "inch", "millimeter", "25.4"),
        ("1", "nautical mile", "meter", "1852"),
        ("1", "pound", "gram", "453.59237"),
        ("1", "gallon", "cubic inch", "231"),
        ("1", "imperial gallon", "liter", "4.54609"),
        ("1", "acre", "square foot", "43560"),
        ("1", "cubic foot", "cubic inch", "1728"),
        ("1", "ton", "pound", "2000"),
        ("36", "kilometers per hour", "meters per second", "10"),
        ("100", "celsius", "fahrenheit", "212"),
        ("-40", "fahrenheit", "celsius", "-40"),
        ("0", "kelvin", "fahrenheit", "-459.67"),
        ("1", "week", "second", "604800"),
    ],
    columns=(1, 2),
)
def test_known_conversions(value: str, source: str, target: str, expected: str) -> None:
    assert convert(Fraction(value), UNIT_OF[source], UNIT_OF[target]) == Fraction(expected)


def test_each_name_is_unique() -> None:
    names = [name for unit in UNITS for name in unit_names(unit)]
    assert len(names) == len(set(names))


def test_conversion_between_dimensions_raises() -> None:
    with pytest.raises(ValueError, match="different things"):
        convert(Fraction(1), UNIT_OF["mile"], UNIT_OF["pound"])


@pytest.mark.parametrize("name", sorted(UNIT_OF))
def test_every_unit_name_is_understood(skills: Skills, name: str) -> None:
    same = next(unit for unit in UNITS if unit.dimension is UNIT_OF[name].dimension)
    answer = skills.answer(f"convert seven {name} to {same.many}", CONTEXT)
    assert answer is not None
    assert answer.text.startswith(f"Seven {UNIT_OF[name].many} ")
