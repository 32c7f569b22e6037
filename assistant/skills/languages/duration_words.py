"""Rewrites durations and 24-hour times into the one form that the templates understand.

"1½ hours", "1 hour 30", "an hour and a half", "1:30 hours" and "1h30" become "5400 seconds". "oh six thirty" becomes
"06 thirty" and "0700 hours" becomes "00700"; the leading zero marks a 24-hour time. It is used only for text that no
template understands, so other text does not change. The words come from a language's `durations.yaml`. Pure.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from assistant.skills.languages.numerals import FRACTION_SLASH, Numerals, word_or_empty

_VULGAR = {
    "½": "1/2", "¼": "1/4", "¾": "3/4", "⅓": "1/3", "⅔": "2/3", "⅛": "1/8", "⅜": "3/8", "⅝": "5/8", "⅞": "7/8",
}  # fmt: skip
_MIXED = re.compile(rf"(?<![\d.,/])(?:(\d{{1,3}})[ -]*)?([{''.join(_VULGAR)}])")
_PLAIN = re.compile(r"(?<![\d.,/-])(?:(\d{1,3})[ -]+)?(\d)/([2348])(?![\d/-]|[.,]\d)")
_COLON = re.compile(r"(?<![\d:.,])(\d{1,3}):([0-5]\d)(?::([0-5]\d))?(?![\d:])")
_ELIDED = re.compile(r"\bd'(?=\s*\d)")
_PRIMES = re.compile(r"(?<!\d)(\d{1,3}) ?['′] ?([0-5]?\d)(?:\"|″|'')?(?![\d'\"])")
# Replaces ":", which is dropped as punctuation, by a sign that stays a word.
_RATIO = "∶"
_BELOW = {3600: 60, 60: 1}
_MAX_NUMBER_WORDS = 8
_KNOWN_UNITS = frozenset({3600, 60, 1, None})
_IN_HUNDREDS = re.compile(r"0\d{2,3}|[12]\d{3}")


@dataclass(frozen=True, slots=True)
class DurationWords:
    """The duration words of one language.

    Attributes:
        second: Unit of the rewritten durations.
        units: Seconds in each unit.
        short_units: Seconds in each one-letter unit, which is a unit only directly after digits.
        ones: Articles that mean one of the following unit.
        ands: Words between parts.
        fractions: Maps the words of a fraction to its value, longest first.
        joints: Runs of words between a fraction and its unit.
        mixed: Fractions that follow a number without a word of `ands`.
        fraction_without_and: Whether a fraction after a unit needs no word of `ands`.
        unit_alone: Whether a unit without a number counts once if a fraction follows.
        zeros: Words for the zero in "06".
        hours: Words that may follow a 24-hour time.
    """

    second: str
    units: Mapping[str, int]
    short_units: Mapping[str, int]
    ones: frozenset[str]
    ands: frozenset[str]
    fractions: Mapping[tuple[str, ...], Fraction]
    joints: tuple[tuple[str, ...], ...]
    mixed: frozenset[str]
    fraction_without_and: bool
    unit_alone: bool
    zeros: frozenset[str]
    hours: frozenset[str]


def duration_words_of(data: Mapping[str, Any]) -> DurationWords:
    """Returns the duration words in a language's `durations.yaml`. Raises KeyError if an entry is missing."""
    fractions = {tuple(str(words).split()): Fraction(value) for words, value in data["fractions"].items()}
    return DurationWords(
        str(data["second"]),
        data["units"],
        data["short_units"],
        frozenset(data["ones"].split()),
        frozenset(data["ands"].split()),
        dict(sorted(fractions.items(), key=lambda item: -len(item[0]))),
        tuple(sorted((tuple(joint.split()) for joint in data["joints"]), key=len, reverse=True)),
        frozenset(data.get("mixed", "").split()),
        bool(data.get("fraction_without_and")),
        bool(data.get("unit_alone")),
        frozenset(data["zeros"].split()),
        frozenset(data["hours"].split()),
    )


def keep_number_signs(text: str) -> str:
    """Returns `text` with fractions as single numbers and colons between digits as words.

    Without this, both are lost when punctuation is removed.
    """
    text = text.replace("’", "'")
    text = _MIXED.sub(lambda match: _one_number(match[1], *_VULGAR[match[2]].split("/")), text)
    text = _PLAIN.sub(lambda match: _one_number(match[1], match[2], match[3]), text)
    text = _COLON.sub(lambda match: f" {_RATIO} ".join(number for number in match.groups() if number), text)
    return _ELIDED.sub("de ", _PRIMES.sub(r"\1 min \2", text))


def _one_number(whole: str | None, above: str, below: str) -> str:
    value = Fraction(int(whole or 0)) + Fraction(int(above), int(below))
    return f" {value.numerator}{FRACTION_SLASH}{value.denominator} "


def with_durations(words: tuple[str, ...], language: DurationWords, numerals: Numerals) -> tuple[str, ...]:
    """Returns `words` with each duration in seconds."""
    reader = _Reader(words, language, numerals)
    out: list[str] = []
    position = 0
    while position < len(words):
        total, end = reader.duration(position)
        if end == position or reader.plain:  # not a duration, or one that the templates understand
            end = max(end, position + 1)
            out += words[position:end]
            position = end
            continue
        whole = total.denominator == 1
        out += (str(total) if whole else f"{total.numerator}{FRACTION_SLASH}{total.denominator}", language.second)
        position = end
    return tuple(out)


def contains_24_hour_time(words: tuple[str, ...], language: DurationWords) -> bool:
    """Returns whether `words` contain a 24-hour time such as "0700 hours"."""
    return any(
        _IN_HUNDREDS.fullmatch(word) and word_or_empty(words, index + 1) in language.hours
        for index, word in enumerate(words)
    )


def with_24_hour_times(words: tuple[str, ...], language: DurationWords, numerals: Numerals) -> tuple[str, ...]:
    """Returns `words` with 24-hour times in the form of the templates, with a leading zero.

    Examples of such times: "oh six thirty", "0700 hours".
    """
    out: list[str] = []
    has_hundred = "hundred" in words and bool(language.hours)
    position = 0
    while position < len(words):
        word, following = words[position], word_or_empty(words, position + 1)
        digit, _ = numerals.number((following,), 0) if word in language.zeros else (None, 0)
        if digit is not None and digit.denominator == 1 and 0 <= digit < 10:
            out.append(f"0{digit}")
            has_hundred, position = True, position + 2
            continue
        if _IN_HUNDREDS.fullmatch(word):
            out.append(f"0{word}" if following in language.hours else word)
            has_hundred = True
        elif word not in ({_RATIO, *language.hours} if has_hundred else {_RATIO}):
            out.append(word)
        has_hundred = has_hundred or word.startswith("0")
        position += 1
    return tuple(out)


class _Reader:
    """Reads durations at positions in the words. Methods return the value and its end; the start if there is none.

    Attributes:
        plain: Whether the last duration consisted only of whole numbers with units.
    """

    def __init__(self, words: tuple[str, ...], language: DurationWords, numerals: Numerals) -> None:
        self._words = words
        self._language = language
        self._numerals = numerals
        self.plain = True
        known = language.units.keys() | language.short_units.keys() | {_RATIO}
        self._units_at = [index for index, word in enumerate(words) if word.removeprefix("d'") in known]

    def duration(self, position: int) -> tuple[Fraction, int]:
        """Reads a duration, in seconds."""
        self.plain = True
        if not any(position <= unit_at <= position + _MAX_NUMBER_WORDS for unit_at in self._units_at):
            return Fraction(0), position
        total, unit_s, end = self._part(position)
        if end == position:
            return Fraction(0), position
        while True:
            begin = end + (word_or_empty(self._words, end) in self._language.ands)
            value, smaller_s, part_end = self._part(begin)
            if part_end == begin or smaller_s >= unit_s:
                break
            total, unit_s, end = total + value, smaller_s, part_end
        value, end = self._smaller_part(end, unit_s)
        if value or any(FRACTION_SLASH in word for word in self._words[position:end]):
            self.plain = False
        return total + value, end

    def _part(self, position: int) -> tuple[Fraction, int, int]:
        """Reads a number with a unit and its smaller parts. Returns the seconds, the unit and the end."""
        language = self._language
        amount, end = self._amount(position)
        if amount is None:
            alone = language.unit_alone and self._fraction(position + 1, joined=True)[0]
            if not alone:
                return Fraction(0), 0, position
            amount, self.plain = Fraction(1), False
        elif (split := self._split_by_colon(amount, end))[1] > end:
            self.plain = False
            return *split[0], split[1]
        unit_s = self._unit(end)
        if unit_s is None:
            return Fraction(0), 0, position
        more, after = self._fraction(end + 1, joined=not language.fraction_without_and)
        whole = amount.denominator == 1
        if more and whole and self._unit(after) is None:
            self.plain = False
            return (amount + more) * unit_s, unit_s, after
        return amount * unit_s, unit_s, end + 1

    def _amount(self, position: int) -> tuple[Fraction | None, int]:
        """Reads the number before a unit."""
        language = self._language
        fraction, end = self._fraction(position, joined=False, alone=True)
        if fraction:
            self.plain = self.plain and self._unit(self._after_joint(end)) is None
            return fraction, self._after_joint(end)
        value, end = self._numerals.number(self._words, position)
        if value is None:
            if word_or_empty(self._words, position) not in language.ones:
                return None, position
            value, end = Fraction(1), position + 1
        if value <= 0:
            return None, position
        if value < 1:
            return value, self._after_joint(end)
        more, after = self._fraction(end, joined=True)
        if not more and word_or_empty(self._words, end) in language.mixed:
            more, after = self._fraction(end, joined=False)
        if more and value.denominator == 1 and self._unit(after) is not None:
            self.plain = False
            return value + more, after
        return value, end

    def _fraction(self, position: int, *, joined: bool, alone: bool = False) -> tuple[Fraction, int]:
        """Reads a fraction, after a word of `ands` if `joined`. Returns 0 if there is none."""
        begin = position
        if word_or_empty(self._words, position) in self._language.ands and not alone:
            begin += 1
        elif joined:
            return Fraction(0), position
        above, slash, below = word_or_empty(self._words, begin).partition(FRACTION_SLASH)
        if slash and above.isdecimal() and below.isdecimal() and int(above) < int(below):
            return Fraction(int(above), int(below)), begin + 1
        for run, value in self._language.fractions.items():
            if self._words[begin : begin + len(run)] == run:
                return value, begin + len(run)
        return Fraction(0), position

    def _after_joint(self, position: int) -> int:
        for joint in self._language.joints:
            if self._words[position : position + len(joint)] == joint:
                return position + len(joint)
        return position

    def _unit(self, position: int) -> int | None:
        word = word_or_empty(self._words, position)
        unit_s = self._language.units.get(word.removeprefix("d'"))
        if unit_s is None and position and word_or_empty(self._words, position - 1)[-1:].isdigit():
            unit_s = self._language.short_units.get(word)
            self.plain = self.plain and unit_s is None
        if unit_s not in _KNOWN_UNITS:
            self.plain = False
        return unit_s

    def _split_by_colon(self, amount: Fraction, position: int) -> tuple[tuple[Fraction, int], int]:
        """Reads "2:30 minutes" or "1:30:00". Returns the seconds, the unit of the last number and the end."""
        numbers = [amount]
        while word_or_empty(self._words, position) == _RATIO and word_or_empty(self._words, position + 1).isdecimal():
            numbers.append(Fraction(self._words[position + 1]))
            position += 2
        unit_s = self._unit(position)
        if len(numbers) == 3 and unit_s in {3600, None}:
            return (numbers[0] * 3600 + numbers[1] * 60 + numbers[2], 1), position + (unit_s is not None)
        if len(numbers) != 2 or unit_s not in _BELOW:
            return (Fraction(0), 0), 0
        return (numbers[0] * unit_s + numbers[1] * _BELOW[unit_s], _BELOW[unit_s]), position + 1

    def _smaller_part(self, position: int, unit_s: int) -> tuple[Fraction, int]:
        """Reads "1 minute 30": a number in the next smaller unit."""
        begin = position + (word_or_empty(self._words, position) in self._language.ands)
        value, end = self._numerals.number(self._words, begin)
        smaller_s = _BELOW.get(unit_s)
        if value is None or smaller_s is None or value.denominator > 1 or not 0 < value < 60:
            return Fraction(0), position
        return value * smaller_s, end
