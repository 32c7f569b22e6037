"""Values as words, as far as that is the same in every language: what is rounded, and how far."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

# Past this a number is said as a power of ten: its words would take longer than anyone listens.
_LARGEST = 10**15


@dataclass(frozen=True, slots=True)
class NumberWords:
    """How a language says numbers.

    Attributes:
        whole: A whole number that is not negative, as words.
        digits: The digits behind the point ("05"), as words.
        minus: Before what is below zero.
        point: Between the whole and its decimals.
        about: Before what was rounded.
        power: Between "ten" and its exponent.
        times_ten: Between a mantissa and its exponent, with the ten.
    """

    whole: Callable[[int], str]
    digits: Callable[[str], str]
    minus: str
    point: str
    about: str
    power: str
    times_ten: str


def say_number(value: Fraction, words: NumberWords, *, decimals: int = 4) -> str:
    """`value` as words, with "about" where it had to be rounded.

    Args:
        value: Any size and sign.
        words: Those of the language.
        decimals: Digits kept after the point; below one, digits kept after the leading zeros.
    """
    size = abs(value)
    if size >= _LARGEST or 0 < size < Fraction(1, 10**9):
        return _say_scientific(value, words)
    places = decimals
    if 0 < size < 1:
        places -= math.floor(math.log10(size)) + 1
    rounded = round(value, places)
    said = _say_decimal(rounded, places, words)
    return said if rounded == value else f"{words.about} {said}"


def _say_decimal(value: Fraction, places: int, words: NumberWords) -> str:
    sign = f"{words.minus} " if value < 0 else ""
    whole, rest = divmod(abs(value), 1)
    said = sign + words.whole(whole)
    if not rest:
        return said
    digits = str(int(rest * 10**places)).rjust(places, "0").rstrip("0")
    return f"{said} {words.point} {words.digits(digits)}"


def _say_scientific(value: Fraction, words: NumberWords) -> str:
    size = abs(value)
    # Logarithms of whole numbers work at any size, those of floats overflow.
    power = math.floor(math.log10(size.numerator) - math.log10(size.denominator))
    mantissa = round(size / Fraction(10) ** power, 2)
    if mantissa >= 10:
        mantissa, power = mantissa / 10, power + 1
    about = "" if mantissa * Fraction(10) ** power == size else f"{words.about} "
    sign = f"{words.minus} " if value < 0 else ""
    exponent = (f"{words.minus} " if power < 0 else "") + words.whole(abs(power))
    if mantissa == 1:
        return f"{about}{sign}{words.whole(10)} {words.power} {exponent}"
    return f"{about}{sign}{_say_decimal(mantissa, 2, words)} {words.times_ten} {exponent}"


def title(said: str, small: frozenset[str]) -> str:
    """Every word with a capital but those of `small`: "in New York"."""
    return " ".join(word if word in small else word[:1].upper() + word[1:] for word in said.split())
