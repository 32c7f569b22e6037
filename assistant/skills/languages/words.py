"""Converts a transcript to plain words with one spelling for the variants that recognizers write."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from assistant.skills.languages.numerals import FRACTION_SLASH

# Enough for four large numbers in words with operators. Longer text is not a command and would only cost time.
_MAX_CHARS = 400
# "24/7", "1-800-555": whole numbers with only these marks between them.
_FIGURES = re.compile(r"(?<![\d.,])\d+(?:[/-]\d+)+(?![.,]?\d)")
_MARKS = {"-": "hyphen", "/": "slash"}
# A text with one of these is a calculation.
_SUM = re.compile(r"[+*×÷^=√]")
_NUMBER = re.compile(r"[.,]?\d")


@dataclass(frozen=True, slots=True)
class Wording:
    """Equivalent wordings of one language.

    Attributes:
        contractions: Maps "what's" to "what is".
        openings: Polite word runs before a request, longest first.
        closings: Polite word runs after a request, longest first.
        signs: Maps "+" to "plus".
        silent: Punctuation that is removed.
        hesitations: Filler words that are removed.
        minus: The word for a hyphen before a number.
        calculating: Words that make "10/4" a calculation rather than a date, score or name.
        shortened: Maps spellings with dots or spaces to shorter ones: "a.m" to "am", " first timer" to " timer".
        not_in_names: Words that no timer name contains. A name slot matches any words, so without these it would match
            part of another sentence: "a timer for five minutes for me and the dog".
        warm_up: Sentences matched at startup, so that the first request is fast.
        expression_frame: Words that may stand around a typed expression.
        thousands: Marks between groups of three digits.
        decimal: Mark before the decimals.
        token: Matches numbers with separators, words with apostrophes, and single signs. An unknown sign stays in the
            text, so that the sentence is not understood.
    """

    contractions: dict[str, str]
    openings: tuple[tuple[str, ...], ...]
    closings: tuple[tuple[str, ...], ...]
    signs: dict[str, str]
    silent: frozenset[str]
    hesitations: frozenset[str]
    minus: str
    calculating: re.Pattern[str]
    shortened: tuple[tuple[str, str], ...]
    not_in_names: frozenset[str]
    warm_up: tuple[str, ...]
    expression_frame: frozenset[str]
    thousands: str
    decimal: str
    token: re.Pattern[str]


def wording_of(data: Mapping[str, Any]) -> Wording:
    """Returns the wording in a language's `wording.yaml`. Raises KeyError if an entry is missing."""
    decimal = re.escape(data["decimal"])
    number = rf"\d+(?:[{re.escape(data['thousands'])}]\d{{3}})*(?:{decimal}\d+)?|{decimal}\d+"
    return Wording(
        {str(short): str(long) for short, long in data["contractions"].items()},
        _longest_first(data["openings"]),
        _longest_first(data["closings"]),
        {str(sign): str(word) for sign, word in data["signs"].items()},
        frozenset(data["silent"]),
        frozenset(data["hesitations"].split()),
        str(data["minus"]),
        re.compile(rf"\b(?:{'|'.join(data['calculating'])})\b"),
        tuple((str(long), str(short)) for long, short in data["shortened"].items()),
        frozenset(data["not_in_names"].split()),
        tuple(data["warm_up"]),
        frozenset(data["expression_frame"].split()),
        data["thousands"],
        data["decimal"],
        re.compile(rf"\d+{FRACTION_SLASH}\d+|{number}|[^\W\d_]+(?:'[^\W\d_]+)*|\S"),
    )


def _longest_first(phrases: list[str]) -> tuple[tuple[str, ...], ...]:
    return tuple(sorted((tuple(phrase.split()) for phrase in phrases), key=len, reverse=True))


def plain_words(text: str, wording: Wording) -> tuple[str, ...]:
    """Returns the lower-case words of `text` without punctuation, fillers and contractions; () if it is too long."""
    if len(text) > _MAX_CHARS:
        return ()
    lowered = text.lower().replace("’", "'").replace("−", "-")
    for long, short in wording.shortened:
        lowered = lowered.replace(long, short)
    marks = _marks_in_figures(lowered, wording)
    words: list[str] = []
    for match in wording.token.finditer(lowered):
        piece = "".join(match.group().split())  # some languages put a space between thousands
        if match.start() in marks:
            words.append(_MARKS[piece])
        elif piece == "-":
            words.extend(_hyphen(lowered, match.start(), wording))
        elif piece not in wording.silent and piece not in wording.hesitations:
            spoken = wording.contractions.get(piece) or wording.signs.get(piece) or piece
            words.extend(spoken.split())
    return tuple(words)


def _marks_in_figures(text: str, wording: Wording) -> set[int]:
    """Returns the positions of hyphens and slashes that are not operators.

    In "24/7" they are operators only in a calculation, in "10/4/2026" never.
    """
    is_sum = _SUM.search(text) is not None or wording.calculating.search(text) is not None
    return {
        index
        for figures in _FIGURES.finditer(text)
        if not is_sum or len(re.findall("[/-]", figures.group())) > 1
        for index in range(*figures.span())
        if text[index] in _MARKS
    }


def _hyphen(text: str, position: int, wording: Wording) -> tuple[str, ...]:
    """Returns the words for a hyphen: minus in "5 - 3" and "-5", none in "twenty-five". "3--2" is not understood."""
    before, after = text[:position], text[position + 1 :].lstrip()
    negative = after.lstrip("- ")
    if not _NUMBER.match(negative) and not negative.startswith(wording.minus):
        return ("-",) if after[:1] in wording.signs else ()
    return ("-",) if "-" in (before[-1:], text[position + 1 : position + 2]) else (wording.minus,)


def without_frame(words: tuple[str, ...], wording: Wording) -> tuple[str, ...]:
    """Returns `words` without polite phrases around them; empty only if `words` is."""
    while True:
        shorter = _without_opening(_without_closing(words, wording), wording)
        if shorter == words:
            return words
        words = shorter


def _without_opening(words: tuple[str, ...], wording: Wording) -> tuple[str, ...]:
    for opening in wording.openings if words else ():
        if words[0] == opening[0] and len(words) > len(opening) and words[: len(opening)] == opening:
            return words[len(opening) :]
    return words


def _without_closing(words: tuple[str, ...], wording: Wording) -> tuple[str, ...]:
    for closing in wording.closings if words else ():
        if words[-1] == closing[-1] and len(words) > len(closing) and words[-len(closing) :] == closing:
            return words[: -len(closing)]
    return words
