"""From a transcript to plain words: one spelling for what recognizers write in many."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from assistant.skills.numerals import FRACTION_SLASH

# Four large numbers in words and their operators fit; longer text is no command and would only cost time.
_MAX_CHARS = 400
# "24/7", "1-800-555": whole numbers with nothing but these marks between them.
_FIGURES = re.compile(r"(?<![\d.,])\d+(?:[/-]\d+)+(?![.,]?\d)")
_MARKS = {"-": "hyphen", "/": "slash"}
# With one of these a text is a sum, whatever else it is.
_SUM = re.compile(r"[+*×÷^=√]")
_NUMBER = re.compile(r"[.,]?\d")


@dataclass(frozen=True, slots=True)
class Wording:
    """How one thing is said in several ways.

    Attributes:
        contractions: "what's" to "what is".
        openings: Word runs that may stand before a request and change nothing, longest first.
        closings: The same for after it.
        signs: "+" to "plus".
        silent: Punctuation, to be left out.
        hesitations: Words that say nothing.
        minus: What a hyphen before a number says.
        calculating: What says that "10/4" is a sum, and no date, score or name.
        shortened: Spellings with dots or spaces in them, to those without: "a.m" to "am", " first timer" to " timer".
        not_in_names: What no timer is called: a name is whatever stands in its place, so it must not be half of another
            sentence, "a timer for five minutes for me and the dog".
        warm_up: Sentences to match before the first that counts.
        token: Numbers with their separators, words with their apostrophes, and every other sign by itself: one that is
            not known stays, so that a sentence with it is not understood.
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
    token: re.Pattern[str]


def wording_of(data: Mapping[str, Any]) -> Wording:
    """The wording in a language's `wording.yaml`. Raises KeyError if something is missing there."""
    decimal = re.escape(data["decimal"])
    number = rf"\d+(?:[{re.escape(data['thousands'])}]\d{{3}})*(?:{decimal}\d+)?|{decimal}\d+"
    return Wording(
        {str(short): str(long) for short, long in data["contractions"].items()},
        _longest_first(data["openings"]),
        _longest_first(data["closings"]),
        {str(sign): str(said) for sign, said in data["signs"].items()},
        frozenset(data["silent"]),
        frozenset(data["hesitations"].split()),
        str(data["minus"]),
        re.compile(rf"\b(?:{'|'.join(data['calculating'])})\b"),
        tuple((str(long), str(short)) for long, short in data["shortened"].items()),
        frozenset(data["not_in_names"].split()),
        tuple(data["warm_up"]),
        re.compile(rf"\d+{FRACTION_SLASH}\d+|{number}|[^\W\d_]+(?:'[^\W\d_]+)*|\S"),
    )


def _longest_first(phrases: list[str]) -> tuple[tuple[str, ...], ...]:
    return tuple(sorted((tuple(phrase.split()) for phrase in phrases), key=len, reverse=True))


def plain_words(text: str, wording: Wording) -> tuple[str, ...]:
    """Lower case words of `text` without punctuation, hesitations and contractions; () if it is too long."""
    if len(text) > _MAX_CHARS:
        return ()
    lowered = text.lower().replace("’", "'").replace("−", "-")
    for long, short in wording.shortened:
        lowered = lowered.replace(long, short)
    marks = _marks_in_figures(lowered, wording)
    words: list[str] = []
    for found in wording.token.finditer(lowered):
        piece = "".join(found.group().split())  # some languages set a space between thousands
        if found.start() in marks:
            words.append(_MARKS[piece])
        elif piece == "-":
            words.extend(_hyphen(lowered, found.start(), wording))
        elif piece not in wording.silent and piece not in wording.hesitations:
            spoken = wording.contractions.get(piece) or wording.signs.get(piece) or piece
            words.extend(spoken.split())
    return tuple(words)


def _marks_in_figures(text: str, wording: Wording) -> set[int]:
    """Where hyphens and slashes calculate nothing: in "24/7" unless that is asked for, in "10/4/2026" never."""
    is_sum = _SUM.search(text) is not None or wording.calculating.search(text) is not None
    return {
        at
        for figures in _FIGURES.finditer(text)
        if not is_sum or len(re.findall("[/-]", figures.group())) > 1
        for at in range(*figures.span())
        if text[at] in _MARKS
    }


def _hyphen(text: str, at: int, wording: Wording) -> tuple[str, ...]:
    """What a hyphen says: "5 - 3" and "-5" a minus, "twenty-five" nothing; "3--2" cannot be understood."""
    before, after = text[:at], text[at + 1 :].lstrip()
    negative = after.lstrip("- ")
    if not _NUMBER.match(negative) and not negative.startswith(wording.minus):
        return ("-",) if after[:1] in wording.signs else ()
    return ("-",) if "-" in (before[-1:], text[at + 1 : at + 2]) else (wording.minus,)


def without_frame(words: tuple[str, ...], wording: Wording) -> tuple[str, ...]:
    """`words` without the politeness around them; never empty unless `words` is."""
    while True:
        shorter = _without_opening(_without_closing(words, wording), wording)
        if shorter == words:
            return words
        words = shorter


def _without_opening(words: tuple[str, ...], wording: Wording) -> tuple[str, ...]:
    for opening in wording.openings:
        if len(words) > len(opening) and words[: len(opening)] == opening:
            return words[len(opening) :]
    return words


def _without_closing(words: tuple[str, ...], wording: Wording) -> tuple[str, ...]:
    for closing in wording.closings:
        if len(words) > len(closing) and words[-len(closing) :] == closing:
            return words[: -len(closing)]
    return words
