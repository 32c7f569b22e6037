"""Language-specific words and marks of text normalization."""

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
        code: Language code for num2words.
        thousands: Marks between groups of three digits, as the inside of a character class.
        decimal: The decimal mark, as the inside of a character class.
        units: Maps a symbol to its singular and plural: ("one kilometer", "kilometers").
        currencies: Maps a symbol or code to its names.
        money: Format that joins major and minor units; fields: major, minor, cents.
        months: The twelve month names, from January.
        short_months: Maps each way to write a month, without its dot, to the number of the month.
        abbreviations: Maps an abbreviation, with its dots, to words; never at the end of a sentence.
        closing: Maps an abbreviation to words. It may end a sentence and then keeps the dot.
        numbered: Maps an abbreviation that precedes a number ("No.") to words.
        scales: Maps a multiplier of an amount ("m", "bn", "million") to its word.
        signs: Maps a sign between operands to words.
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
    """Returns the month names and all ways to write a month; `short` holds "abbreviation=number" pairs."""
    full = tuple(names.split())
    numbers = {name: number for number, name in enumerate(full, 1)}
    for entry in short.split():
        name, number = entry.split("=")
        numbers[name] = int(number)
    return full, numbers
