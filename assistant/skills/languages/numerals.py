"""Finds numbers in a sequence of words, as people say them and as recognizers write them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Protocol

# Longer numbers are recognition errors. The limit also bounds the cost of hostile text.
MAX_DIGITS = 18

FRACTION_SLASH = "⁄"
"""U+2044, between numerator and denominator."""


class Numerals(Protocol):
    """Reads the numbers of one language."""

    def sign(self, words: tuple[str, ...], position: int) -> bool:
        """Returns whether the word at `position` makes the following number negative."""

    def number(self, words: tuple[str, ...], position: int) -> tuple[Fraction | None, int]:
        """Returns the number that begins at `position` and its end; (None, at) if there is none."""


@dataclass(frozen=True, slots=True)
class NumberedWords:
    """Words in which each number is replaced by its index in `numbers`, in digits.

    Attributes:
        words: "what is 0 plus 1" for "what is twelve plus three point five".
        numbers: The values in order: 12, 7/2.
        number_words: The words of each number: "twelve", "three point five".
    """

    words: tuple[str, ...]
    numbers: tuple[Fraction, ...]
    number_words: tuple[str, ...]

    def index_of(self, word: str) -> int | None:
        """Returns the index of the number that a word stands for; None for a word. A very long number is a word."""
        return int(word) if word.isdecimal() and len(word) < MAX_DIGITS and int(word) < len(self.numbers) else None


def find_numbers(words: tuple[str, ...], numerals: Numerals) -> NumberedWords:
    """Replaces every number in `words` (lower case, without punctuation) by its index."""
    out: list[str] = []
    numbers: list[Fraction] = []
    number_words: list[str] = []
    position = 0
    while position < len(words):
        negative = numerals.sign(words, position) and (not out or not out[-1].isdigit())
        value, end = numerals.number(words, position + negative)
        if value is None:
            out.append(words[position])
            position += 1
            continue
        out.append(str(len(numbers)))
        numbers.append(-value if negative else value)
        number_words.append(" ".join(words[position:end]))
        position = end
    return NumberedWords(tuple(out), tuple(numbers), tuple(number_words))


def word_or_empty(words: tuple[str, ...], position: int) -> str:
    """Returns the word at `position`; "" after the last word."""
    return words[position] if position < len(words) else ""


def written_number(word: str, thousands: str, decimal: str) -> Fraction | None:
    """Returns the value of a number in digits with these separators; None if `word` is not one or is too long."""
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
    """Reads the numbers of a language that has a word, or a run of words, for each number below a thousand.

    Attributes:
        below_thousand: Maps the length of a run of words to a map from the run to its value.
        scales: "mille", "millions" and similar words. A scale without a number counts once.
        points: Words between the integer part and the decimals.
        signs: Words that make the next number negative, except after a word of `no_sign_after`.
        articles: Articles that also mean one. They are numbers only before a word of `counted`.
        counted: Counted nouns and words of arithmetic; "" if an article is a number at the end of a sentence.
        halves: Runs of words after a number that add a fraction: ("et", "demi").
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
    no_sign_after: frozenset[str] = frozenset()
    thousands: str = "."
    decimal: str = ","

    def sign(self, words: tuple[str, ...], position: int) -> bool:
        """Returns whether the word at `position` makes the following number negative."""
        return words[position] in self.signs and not (position and words[position - 1] in self.no_sign_after)

    def number(self, words: tuple[str, ...], position: int) -> tuple[Fraction | None, int]:
        """Returns the number that begins at `position` and its end; (None, at) if there is none."""
        word = word_or_empty(words, position)
        if word in self.articles and not self._is_number(words, position):
            return None, position
        written = written_number(word, self.thousands, self.decimal)
        value, end = (written, position + 1) if written is not None else self._cardinal(words, position)
        if value is None:
            return None, position
        value, end = self._with_decimals(words, value, end)
        value, end = self._with_half(words, value, end)
        while (scale := self.scales.get(word_or_empty(words, end))) is not None:  # "trois virgule cinq millions"
            value, end = value * scale, end + 1
        return value, end

    def _is_number(self, words: tuple[str, ...], position: int) -> bool:
        """Returns whether the article at `position` is a number, as in "una milla", and not in "una moneda"."""
        after = word_or_empty(words, position + 1)
        return after in self.counted or after in self.scales or after in self.points

    def _cardinal(self, words: tuple[str, ...], position: int) -> tuple[Fraction | None, int]:
        """Reads thousands, millions, ... in descending order, each with a factor below one thousand."""
        total, end, previous = 0, position, max(self.scales.values()) * 1000
        while end < len(words):
            group, group_end = self._below_thousand(words, end)
            scale = self.scales.get(word_or_empty(words, group_end), 1)
            if (group is None and scale == 1) or scale >= previous or (previous == 1):
                break
            total += (1 if group is None else group) * scale
            end, previous = group_end + (scale > 1), scale
        return (Fraction(total), end) if end > position else (None, position)

    def _below_thousand(self, words: tuple[str, ...], position: int) -> tuple[int | None, int]:
        for length, runs in self.below_thousand.items():  # the longest runs first
            value = runs.get(words[position : position + length])
            if value is not None:
                return value, position + length
        return None, position

    def _with_decimals(self, words: tuple[str, ...], value: Fraction, position: int) -> tuple[Fraction, int]:
        """Reads the decimals after a word such as "Komma": single digits, or a number below a hundred."""
        if word_or_empty(words, position) not in self.points:
            return value, position
        text, end = "", position + 1
        while len(text) < MAX_DIGITS:
            word = word_or_empty(words, end)
            digit, digit_end = (word, end + 1) if word.isdecimal() else self._below_thousand(words, end)
            if digit is None or (text and len(str(digit)) > 1):
                break
            text, end = text + str(digit), digit_end
        return (value + Fraction(f"0.{text}"), end) if 0 < len(text) <= MAX_DIGITS else (value, position)

    def _with_half(self, words: tuple[str, ...], value: Fraction, position: int) -> tuple[Fraction, int]:
        for run, part in self.halves.items():
            if words[position : position + len(run)] == run:
                return value + part, position + len(run)
        return value, position


def runs_by_length(runs: Mapping[str, int]) -> dict[int, dict[tuple[str, ...], int]]:
    """Returns the table for `TableNumerals.below_thousand` from runs such as "vingt et un"."""
    table: dict[int, dict[tuple[str, ...], int]] = {}
    for run, value in runs.items():
        words = tuple(run.split())
        table.setdefault(len(words), {})[words] = value
    return dict(sorted(table.items(), reverse=True))
