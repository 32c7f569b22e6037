"""Number words with rounding, as far as all languages share the rules."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

# Larger numbers are spoken as a power of ten, because their words would take too long.
_MAX_NUMBER = 10**15


@dataclass(frozen=True, slots=True)
class NumberWords:
    """The number words of a language.

    Attributes:
        whole: Returns a non-negative whole number in words.
        digits: Returns the digits after the point ("05") in words.
        minus: Word before a negative number.
        point: Word between the integer part and the decimals.
        about: Word before a rounded number.
        power: Word between "ten" and its exponent.
        times_ten: Words between a mantissa and its exponent, including "ten".
    """

    whole: Callable[[int], str]
    digits: Callable[[str], str]
    minus: str
    point: str
    about: str
    power: str
    times_ten: str


def say_number(value: Fraction, words: NumberWords, *, decimals: int = 4) -> str:
    """Returns `value` in words, with "about" if it is rounded.

    Args:
        value: Any size and sign.
        words: The number words of the language.
        decimals: Digits kept after the point; for values below one, after the leading zeros.
    """
    size = abs(value)
    if size >= _MAX_NUMBER or 0 < size < Fraction(1, 10**9):
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
    # Logarithms of integers work for any size; those of floats overflow.
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
    """Capitalizes every word except those in `small`: "in New York"."""
    return " ".join(word if word in small else word[:1].upper() + word[1:] for word in said.split())
