"""Arithmetic in words. It is exact with fractions; results are rounded only when spoken."""

import math
from collections.abc import Callable
from fractions import Fraction

from assistant.skills.answers import Reply
from assistant.skills.languages.language import Language
from assistant.skills.languages.sentences import TemplateMatch

# Larger powers have too many digits to be spoken, and take long to compute.
_MAX_POWER = 1000
_Numbers = dict[str, Fraction]


class UnanswerableError(Exception):
    """Raised if a calculation has no result; the message is the name of the answer that explains why."""


def calculate(match: TemplateMatch, language: Language) -> Reply:
    """Calculates the requested result; the intent is one of `ARITHMETIC`."""
    text = _result_sentence(language, match)
    return lambda _context: text


def result_of(match: TemplateMatch) -> Fraction | None:
    """Returns the result of a calculation, to continue with; None if there is none, or `match` is another request."""
    if match.intent not in ARITHMETIC:
        return None
    try:
        return _result(match)
    except (UnanswerableError, OverflowError):
        return None


def _result(match: TemplateMatch) -> Fraction:
    if match.intent == "chain":
        return _chain(match.values, match.numbers)
    if match.intent == "share":
        return Fraction(match.values["share"]) * match.numbers["a"]
    return _OPERATIONS[match.intent](match.numbers)


def _result_sentence(language: Language, match: TemplateMatch) -> str:
    try:
        result = _result(match)
    except UnanswerableError as reason:
        return language.say(str(reason))
    except OverflowError:  # from float arithmetic: roots, and powers with fractional exponents
        return language.say("too_big")
    return language.say("result", number=language.number(result))


def _chain(operators: dict[str, str], numbers: _Numbers) -> Fraction:
    """Evaluates two to four numbers; multiplication and division bind more strongly than addition and subtraction."""
    terms = [numbers["a"]]
    for slot, number in (("f", "b"), ("g", "c"), ("h", "d")):
        if number not in numbers:
            break
        operator, value = operators[slot], numbers[number]
        if operator == "plus":
            terms.append(value)
        elif operator == "minus":
            terms.append(-value)
        elif operator == "times":
            terms[-1] *= value
        else:
            terms[-1] = divide(terms[-1], value)
    return sum(terms, Fraction(0))


def divide(dividend: Fraction, divisor: Fraction) -> Fraction:
    """Returns the quotient. Raises UnanswerableError for a division by zero."""
    if divisor == 0:
        raise UnanswerableError("division_by_zero")
    return dividend / divisor


def power(base: Fraction, exponent: Fraction) -> Fraction:
    """Returns the power. Raises UnanswerableError or OverflowError if there is none, or if it is too big."""
    if base == 0 and exponent < 0:
        raise UnanswerableError("division_by_zero")
    if abs(exponent) > _MAX_POWER:
        raise UnanswerableError("too_big")
    if exponent.denominator == 1:
        return base ** int(exponent)
    if base < 0:
        raise UnanswerableError("no_real_power")
    return Fraction(math.pow(base, exponent))


def square_root(value: Fraction) -> Fraction:
    """Returns the square root, exact if it is rational. Raises UnanswerableError for a negative number."""
    if value < 0:
        raise UnanswerableError("no_real_root")
    top, bottom = math.isqrt(value.numerator), math.isqrt(value.denominator)
    exact = Fraction(top, bottom)
    return exact if exact * exact == value else Fraction(math.sqrt(value))


def _cube_root(value: Fraction) -> Fraction:
    root = Fraction(math.cbrt(value))
    exact = root.limit_denominator(10**6)
    return exact if exact**3 == value else root


_OPERATIONS: dict[str, Callable[[_Numbers], Fraction]] = {
    "sum": lambda n: n["a"] + n["b"],
    "difference": lambda n: abs(n["a"] - n["b"]),
    "take_away": lambda n: n["a"] - n["b"],
    "product": lambda n: n["a"] * n["b"],
    "quotient": lambda n: divide(n["a"], n["b"]),
    "percent": lambda n: n["a"] * n["b"] / 100,
    "power": lambda n: power(n["a"], n["b"]),
    "square": lambda n: n["a"] ** 2,
    "cube": lambda n: n["a"] ** 3,
    "square_root": lambda n: square_root(n["a"]),
    "cube_root": lambda n: _cube_root(n["a"]),
}

ARITHMETIC = frozenset(("chain", "share", *_OPERATIONS))
"""The intents that `calculate` answers."""
