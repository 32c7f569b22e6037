"""Arithmetic in words, compared with Python."""

from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from num2words import num2words
from support.conversations.loaded_skills import loaded_skills, spoken_form
from support.texts.text_cases import text_cases

from assistant.skills.answers import Running, SkillContext, TimerState
from assistant.skills.languages.en.numerals import NUMERALS
from assistant.skills.languages.en.phrases import PHRASES
from assistant.skills.languages.numerals import find_numbers

CONTEXT = SkillContext(datetime(2026, 11, 20, 22, 43, tzinfo=UTC))
SIGNS = {"plus": "+", "minus": "-", "times": "*", "divided by": "/"}


SKILLS = loaded_skills()


def answer_to(said: str) -> str:
    answer = SKILLS.answer(said, CONTEXT)
    assert answer is not None, said
    assert answer.skill == "arithmetic"
    return answer.text


def in_words(value: Fraction) -> str:
    """Returns the number as a recognizer writes it: no hyphens, no commas."""
    size = abs(value)
    words = str(num2words(float(size) if size.denominator > 1 else int(size))).replace("-", " ").replace(",", "")
    return f"minus {words}" if value < 0 else words  # num2words drops the sign between -1 and 0


tenths = st.integers(-99_999, 99_999).map(lambda number: Fraction(number, 10))
operands = st.one_of(st.integers(-(10**6), 10**6).map(Fraction), tenths)


@given(
    st.lists(operands, min_size=2, max_size=4),
    st.lists(st.sampled_from(sorted(SIGNS)), min_size=3, max_size=3),
    st.booleans(),
)
def test_chain_of_operations_equals_python_result(numbers: list[Fraction], signs: list[str], spelled: bool) -> None:
    said, formula = "what is", ""
    for at, number in enumerate(numbers):
        sign = signs[at - 1] if at else ""
        written = in_words(number) if spelled else f"{float(number):.10g}"
        if not spelled and abs(number) >= 10**6:
            written = str(int(number))
        said += f" {sign} {written}"
        formula += f"{SIGNS.get(sign, '')}Fraction({number.numerator}, {number.denominator})"
    try:
        expected = spoken_form(f"That's {PHRASES.number(eval(formula, {'Fraction': Fraction}))}.")
    except ZeroDivisionError:
        expected = "I can't divide by zero."
    assert answer_to(said) == expected


@given(st.integers(-500, 500), st.integers(0, 60))
def test_powers(base: int, exponent: int) -> None:
    said = f"what is {in_words(Fraction(base))} to the power of {exponent}"
    assert answer_to(said) == spoken_form(f"That's {PHRASES.number(Fraction(base) ** exponent)}.")


@given(st.integers(0, 10**6))
def test_roots_of_squares_are_exact(root: int) -> None:
    assert answer_to(f"square root of {root * root}") == spoken_form(f"That's {PHRASES.number(Fraction(root))}.")


@given(st.integers(0, 10**12))
def test_number_words_are_parsed_back(number: int) -> None:
    words = tuple(in_words(Fraction(number)).split())
    assert find_numbers(words, NUMERALS).numbers == (Fraction(number),)


@given(st.integers(0, 999_999), st.integers(0, 9999))
def test_decimals_in_words(whole: int, decimals: int) -> None:
    digits = " ".join(str(num2words(int(digit))) for digit in str(decimals))
    words = (*in_words(Fraction(whole)).split(), "point", *digits.split())
    assert find_numbers(words, NUMERALS).numbers == (Fraction(f"{whole}.{decimals}"),)


@text_cases(
    ("said", "numbers"),
    [
        ("two and a half", ["2.5"]),
        ("a hundred", ["100"]),
        ("a hundred and one", ["101"]),
        ("five hundred million", ["500000000"]),
        ("3.5 million", ["3500000"]),
        ("two thousand and six", ["2006"]),
        ("one thousand one hundred", ["1100"]),
        ("twenty five hundred", ["2500"]),
        ("point five", ["0.5"]),
        ("three point fourteen", ["3.14"]),
        ("three point oh five", ["3.05"]),
        ("minus twelve", ["-12"]),
        ("negative one half", ["-1"]),
        ("nineteen eighty four", ["19", "84"]),
        ("one two three", ["1", "2", "3"]),
        ("ten minus minus two", ["10", "-2"]),
        ("two and two", ["2", "2"]),
        ("one hundred and six hundred", ["100", "600"]),
        ("a point", []),
        ("point", []),
        ("million", []),
    ],
)
def test_numbers_are_found_in_words(said: str, numbers: list[str]) -> None:
    assert find_numbers(tuple(said.split()), NUMERALS).numbers == tuple(Fraction(number) for number in numbers)


@text_cases(
    ("value", "words"),
    [
        (Fraction(0), "zero"),
        (Fraction(-5), "minus five"),
        (Fraction(-1, 4), "minus zero point two five"),
        (Fraction(1, 3), "about zero point three three three three"),
        (Fraction(2, 3), "about zero point six six six seven"),
        (Fraction(99_999, 100_000), "about one"),
        (Fraction(1, 10_000), "zero point zero zero zero one"),
        (Fraction(22, 7), "about three point one four two nine"),
        (Fraction(1_234_567), "one million two hundred and thirty-four thousand five hundred and sixty-seven"),
        (Fraction(10**15), "ten to the power of fifteen"),
        (Fraction(-3 * 10**20), "minus three times ten to the power of twenty"),
        (Fraction(1, 10**12), "ten to the power of minus twelve"),
        (Fraction(10**400 - 1), "about ten to the power of four hundred"),
    ],
    columns=(1,),
)
def test_numbers_are_spoken_with_rounding(value: Fraction, words: str) -> None:
    assert spoken_form(f"That's {PHRASES.number(value)}.") == f"That's {words}."


def test_results_with_too_many_digits_are_refused() -> None:
    assert answer_to("ten to the power of five thousand") == "That number is too big for me."
    assert answer_to("two point five to the power of nine hundred and ninety nine point five").startswith("That")
    assert answer_to("minus two to the power of zero point five").startswith("A negative number")
    assert answer_to("zero to the power of minus one") == "I can't divide by zero."


HUGE = "two" + " trillion" * 27
"""A number too large for a float."""


@pytest.mark.parametrize(
    "said",
    [f"square root of {HUGE}", f"cube root of minus {HUGE}", f"{HUGE} to the power of zero point five"],
    ids=["square root", "cube root", "fractional power"],
)
def test_float_overflow_is_refused(said: str) -> None:
    assert answer_to(said) == "That number is too big for me."


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (f"what is {HUGE} feet in feet", "two times ten to the power of three hundred and twenty-four feet"),
        (f"cancel the {HUGE} minute timer", "That is too long: a timer runs for twenty-four hours at most."),
    ],
    ids=["conversion", "timer"],
)
def test_huge_numbers_do_not_break_other_skills(said: str, told: str) -> None:
    timer = TimerState(1, None, 600, 300)
    answer = SKILLS.answer(said, replace(CONTEXT, running=Running((timer,))))
    assert answer is not None
    assert told in answer.text


def test_multiplication_precedes_addition() -> None:
    assert answer_to("what is two plus three times four minus six") == "That's eight."
    assert answer_to("what is two times three plus four times five") == "That's twenty-six."
    assert answer_to("what is ten minus six divided by three") == "That's eight."
