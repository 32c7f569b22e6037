"""Numbers as they are written, with rounding, as far as all languages share the rules."""

import math
from dataclasses import dataclass
from fractions import Fraction

# Larger numbers are written as a power of ten, because their words would take too long.
_MAX_NUMBER = 10**15

_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")

NARROW_SPACE = "\u202f"
"""Separates the thousands in French and Spanish. It does not break a line."""


@dataclass(frozen=True, slots=True)
class NumberMarks:
    """The marks with which a language writes numbers.

    Attributes:
        thousands: Mark between groups of three digits.
        grouped_from: Smallest number with groups.
        point: Mark before the decimals.
        about: Word before a rounded number.
    """

    thousands: str
    grouped_from: int
    point: str
    about: str

    def whole(self, value: int) -> str:
        """Returns a whole number: "1,984"."""
        return f"{value:,}".replace(",", self.thousands) if abs(value) >= self.grouped_from else str(value)


def write_number(value: Fraction, marks: NumberMarks, *, decimals: int = 4) -> str:
    """Returns `value` in digits, with "about" if it is rounded.

    Args:
        value: Any size and sign.
        marks: The marks of the language.
        decimals: Digits kept after the point; for values below one, after the leading zeros.
    """
    size = abs(value)
    if size >= _MAX_NUMBER or 0 < size < Fraction(1, 10**9):
        return _write_scientific(value, marks)
    places = decimals
    if 0 < size < 1:
        places -= math.floor(math.log10(size)) + 1
    rounded = round(value, places)
    written = _write_decimal(rounded, places, marks)
    return written if rounded == value else f"{marks.about} {written}"


def _write_decimal(value: Fraction, places: int, marks: NumberMarks) -> str:
    sign = "-" if value < 0 else ""
    whole, rest = divmod(abs(value), 1)
    written = sign + marks.whole(whole)
    if not rest:
        return written
    return written + marks.point + str(int(rest * 10**places)).rjust(places, "0").rstrip("0")


def _write_scientific(value: Fraction, marks: NumberMarks) -> str:
    size = abs(value)
    # Logarithms of integers work for any size; those of floats overflow.
    power = math.floor(math.log10(size.numerator) - math.log10(size.denominator))
    mantissa = round(size / Fraction(10) ** power, 2)
    if mantissa >= 10:
        mantissa, power = mantissa / 10, power + 1
    about = "" if mantissa * Fraction(10) ** power == size else f"{marks.about} "
    sign = "-" if value < 0 else ""
    exponent = str(power).translate(_SUPERSCRIPTS)
    if mantissa == 1:
        return f"{about}{sign}10{exponent}"
    return f"{about}{sign}{_write_decimal(mantissa, 2, marks)} × 10{exponent}"


def title(text: str, small: frozenset[str]) -> str:
    """Capitalizes every word except those in `small`: "in New York"."""
    return " ".join(word if word in small else word[:1].upper() + word[1:] for word in text.split())
