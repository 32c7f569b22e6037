"""Values as words for the ear."""

import math
from datetime import date, time
from fractions import Fraction

from num2words import num2words

_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
# Past this a number is said as a power of ten: its words would take longer than anyone listens.
_LARGEST = 10**15


def say_number(value: Fraction, *, decimals: int = 4) -> str:
    """`value` as words, with "about" where it had to be rounded.

    Args:
        value: Any size and sign.
        decimals: Digits kept after the point; below one, digits kept after the leading zeros.
    """
    size = abs(value)
    if size >= _LARGEST or 0 < size < Fraction(1, 10**9):
        return _say_scientific(value)
    places = decimals
    if 0 < size < 1:
        places -= math.floor(math.log10(size)) + 1
    rounded = round(value, places)
    words = _say_decimal(rounded, places)
    return words if rounded == value else f"about {words}"


def _say_decimal(value: Fraction, places: int) -> str:
    sign = "minus " if value < 0 else ""
    whole, rest = divmod(abs(value), 1)
    words = sign + _words(whole)
    if not rest:
        return words
    digits = str(int(rest * 10**places)).rjust(places, "0").rstrip("0")
    return f"{words} point " + " ".join(_words(int(digit)) for digit in digits)


def _say_scientific(value: Fraction) -> str:
    size = abs(value)
    # Logarithms of whole numbers work at any size, those of floats overflow.
    power = math.floor(math.log10(size.numerator) - math.log10(size.denominator))
    mantissa = round(size / Fraction(10) ** power, 2)
    if mantissa >= 10:
        mantissa, power = mantissa / 10, power + 1
    about = "" if mantissa * Fraction(10) ** power == size else "about "
    sign = "minus " if value < 0 else ""
    exponent = ("minus " if power < 0 else "") + _words(abs(power))
    if mantissa == 1:
        return f"{about}{sign}ten to the power of {exponent}"
    return f"{about}{sign}{_say_decimal(mantissa, 2)} times ten to the power of {exponent}"


def _words(value: int) -> str:
    # The commas num2words sets between thousands would be heard as pauses.
    return str(num2words(value)).replace(",", "")


def say_time(moment: time) -> str:
    """ "ten forty-three PM", "noon", "seven oh five AM". Letters without dots: a dot would end the sentence."""
    if moment.minute == 0 and moment.hour in (0, 12):
        return "noon" if moment.hour else "midnight"
    hour = _words(moment.hour % 12 or 12)
    half = "AM" if moment.hour < 12 else "PM"
    if moment.minute == 0:
        return f"{hour} {half}"
    minute = _words(moment.minute)
    return f"{hour} {'oh ' if moment.minute < 10 else ''}{minute} {half}"


def say_weekday(day: date) -> str:
    """ "Friday"."""
    return _WEEKDAYS[day.weekday()]


def say_month(day: date) -> str:
    """ "November"."""
    return _MONTHS[day.month - 1]


def say_date(day: date) -> str:
    """ "Friday, November twentieth"."""
    return f"{say_weekday(day)}, {say_month(day)} {say_ordinal(day.day)}"


def say_ordinal(number: int) -> str:
    """ "twentieth"."""
    return str(num2words(number, to="ordinal"))


def say_year(year: int) -> str:
    """ "twenty twenty-six"."""
    return str(num2words(year, to="year"))
