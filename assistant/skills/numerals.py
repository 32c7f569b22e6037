"""Numbers as people say them and as recognizers write them, found in a run of words."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Protocol

# Longer numbers are slips of the recognizer; the bound also keeps the cost of a hostile text small.
MAX_DIGITS = 18

FRACTION_SLASH = "⁄"
"""U+2044, between the two whole numbers of a fraction."""


class Numerals(Protocol):
    """Reads the numbers of one language."""

    def sign(self, words: tuple[str, ...], at: int) -> bool:
        """Whether the word at `at` makes the number behind it negative."""

    def number(self, words: tuple[str, ...], at: int) -> tuple[Fraction | None, int]:
        """The number that begins at `at`, and where it ends; (None, at) when none does."""


@dataclass(frozen=True, slots=True)
class Numbered:
    """Words in which each number is replaced by its place in `numbers`, written in digits.

    Attributes:
        words: "what is 0 plus 1" for "what is twelve plus three point five".
        numbers: The values in order: 12, 7/2.
        said: The words behind each: "twelve", "three point five".
    """

    words: tuple[str, ...]
    numbers: tuple[Fraction, ...]
    said: tuple[str, ...]


def find_numbers(words: tuple[str, ...], numerals: Numerals) -> Numbered:
    """Replace every number in `words` (lower case, without punctuation) by its place among the numbers."""
    out: list[str] = []
    numbers: list[Fraction] = []
    said: list[str] = []
    at = 0
    while at < len(words):
        negative = numerals.sign(words, at) and (not out or not out[-1].isdigit())
        value, end = numerals.number(words, at + negative)
        if value is None:
            out.append(words[at])
            at += 1
            continue
        out.append(str(len(numbers)))
        numbers.append(-value if negative else value)
        said.append(" ".join(words[at:end]))
        at = end
    return Numbered(tuple(out), tuple(numbers), tuple(said))


def word_at(words: tuple[str, ...], at: int) -> str:
    """The word there; "" behind the last."""
    return words[at] if at < len(words) else ""


def written_number(word: str, thousands: str, decimal: str) -> Fraction | None:
    """The value of digits with these marks between them; None if `word` is something else, or too long."""
    plain = word
    for mark in thousands:
        plain = plain.replace(mark, "")
    plain = plain.replace(decimal, ".", 1)
    above, slash, below = plain.partition(FRACTION_SLASH)
    if slash and above.isdecimal() and below.isdecimal() and len(plain) <= MAX_DIGITS and int(below):
        return Fraction(int(above), int(below))
    if not plain.replace(".", "", 1).isdecimal() or len(plain) > MAX_DIGITS:
        return None
    return Fraction(plain)


@dataclass(frozen=True, slots=True)
class TableNumerals:
    """Reads the numbers of a language that has a word, or a run of them, for each number below a thousand.

    Attributes:
        below_thousand: Runs of words by length of the run, then by the run.
        scales: "mille", "millions" and their like; a scale by itself counts once.
        points: Words between a whole and its decimals.
        signs: Words that make what follows negative, except behind one of `no_sign_behind`.
        articles: Words for one that are articles too: a number only before one of `counted`.
        counted: What is counted, and words of sums; "" where such a word is a number at the end of a sentence.
        halves: What adds a part behind a number: ("et", "demi").
        thousands: Marks between groups of three digits.
        decimal: The mark before decimals.
    """

    below_thousand: Mapping[int, Mapping[tuple[str, ...], int]]
    scales: Mapping[str, int]
    points: frozenset[str]
    signs: frozenset[str]
    articles: frozenset[str]
    counted: frozenset[str]
    halves: Mapping[tuple[str, ...], Fraction] = field(default_factory=dict)
    no_sign_behind: frozenset[str] = frozenset()
    thousands: str = "."
    decimal: str = ","

    def sign(self, words: tuple[str, ...], at: int) -> bool:
        """Whether the word at `at` makes the number behind it negative."""
        return words[at] in self.signs and not (at and words[at - 1] in self.no_sign_behind)

    def number(self, words: tuple[str, ...], at: int) -> tuple[Fraction | None, int]:
        """The number that begins at `at`, and where it ends; (None, at) when none does."""
        word = word_at(words, at)
        if word in self.articles and not self._counts(words, at):
            return None, at
        written = written_number(word, self.thousands, self.decimal)
        value, end = (written, at + 1) if written is not None else self._cardinal(words, at)
        if value is None:
            return None, at
        value, end = self._with_decimals(words, value, end)
        value, end = self._with_half(words, value, end)
        while (scale := self.scales.get(word_at(words, end))) is not None:  # "trois virgule cinq millions"
            value, end = value * scale, end + 1
        return value, end

    def _counts(self, words: tuple[str, ...], at: int) -> bool:
        """Whether the article at `at` is a number here: "una milla", "deux plus un", but not "una moneda"."""
        after = word_at(words, at + 1)
        return after in self.counted or after in self.scales or after in self.points

    def _cardinal(self, words: tuple[str, ...], at: int) -> tuple[Fraction | None, int]:
        """Thousands, millions, ... in falling order, each below a thousand of them."""
        total, end, previous = 0, at, max(self.scales.values()) * 1000
        while end < len(words):
            group, group_end = self._below_thousand(words, end)
            scale = self.scales.get(word_at(words, group_end), 1)
            if (group is None and scale == 1) or scale >= previous or (previous == 1):
                break
            total += (1 if group is None else group) * scale
            end, previous = group_end + (scale > 1), scale
        return (Fraction(total), end) if end > at else (None, at)

    def _below_thousand(self, words: tuple[str, ...], at: int) -> tuple[int | None, int]:
        for length, runs in self.below_thousand.items():  # the longest first
            value = runs.get(words[at : at + length])
            if value is not None:
                return value, at + length
        return None, at

    def _with_decimals(self, words: tuple[str, ...], value: Fraction, at: int) -> tuple[Fraction, int]:
        """What follows "Komma": digit by digit, or a number below a hundred."""
        if word_at(words, at) not in self.points:
            return value, at
        text, end = "", at + 1
        while len(text) < MAX_DIGITS:
            word = word_at(words, end)
            digit, behind = (word, end + 1) if word.isdecimal() else self._below_thousand(words, end)
            if digit is None or (text and len(str(digit)) > 1):
                break
            text, end = text + str(digit), behind
        return (value + Fraction(f"0.{text}"), end) if 0 < len(text) <= MAX_DIGITS else (value, at)

    def _with_half(self, words: tuple[str, ...], value: Fraction, at: int) -> tuple[Fraction, int]:
        for run, part in self.halves.items():
            if words[at : at + len(run)] == run:
                return value + part, at + len(run)
        return value, at


def runs_by_length(runs: Mapping[str, int]) -> dict[int, dict[tuple[str, ...], int]]:
    """The table `TableNumerals` reads from, of "vingt et un" to 21."""
    table: dict[int, dict[tuple[str, ...], int]] = {}
    for run, value in runs.items():
        words = tuple(run.split())
        table.setdefault(len(words), {})[words] = value
    return dict(sorted(table.items(), reverse=True))
