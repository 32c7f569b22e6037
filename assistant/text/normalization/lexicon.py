"""What a language brings to the reading of numbers and signs."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Currency:
    """Names of a currency: "one dollar" (with its article), "dollars", "one cent", "cents"."""

    one: str
    many: str
    one_cent: str = ""
    many_cents: str = ""


@dataclass(frozen=True, slots=True)
class Lexicon:
    """The words and marks of one language.

    Attributes:
        code: For num2words.
        thousands: Marks between groups of three digits, as the inside of a character class.
        decimal: The decimal mark, as the inside of a character class.
        units: Symbol to ("one kilometer", "kilometers").
        currencies: Symbol or code to its names.
        money: How major and minor are joined: fields major, minor, cents.
        months: The twelve, January first.
        short_months: What stands for a month in a date, without its dot, to the month's number.
        abbreviations: As written, with dots, to words; never at the end of a sentence.
        closing: As written, to words; these may end a sentence, and then keep its dot.
        numbered: Abbreviations that stand before a number ("No.") to words.
        scales: What multiplies an amount ("m", "bn", "million") to its word.
        signs: Signs between operands to words.
    """

    code: str
    thousands: str
    decimal: str
    point: str
    dot: str
    minus: str
    to: str
    per: str
    at: str
    slash: str
    dash: str
    underscore: str
    hashtag: str
    number: str
    version: str
    port: str
    about: str
    power_of_ten: str
    squared: str
    cubed: str
    conjunction: str
    units: dict[str, tuple[str, str]]
    currencies: Mapping[str, Currency]
    money: str
    months: tuple[str, ...]
    short_months: Mapping[str, int]
    abbreviations: Mapping[str, str]
    closing: Mapping[str, str]
    numbered: Mapping[str, str]
    scales: Mapping[str, str]
    signs: Mapping[str, str]
    day_first: bool = True


def months(names: str, short: str) -> tuple[tuple[str, ...], dict[str, int]]:
    """The months of a language, and every way to write them; `short` holds "shortened=number"."""
    full = tuple(names.split())
    numbers = {name: number for number, name in enumerate(full, 1)}
    for entry in short.split():
        name, number = entry.split("=")
        numbers[name] = int(number)
    return full, numbers
