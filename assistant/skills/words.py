"""From a transcript to plain words: one spelling for what recognizers write in many."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

# Four large numbers in words and their operators fit; longer text is no command and would only cost time.
_MAX_CHARS = 400


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
        shortened: Spellings with dots or spaces in them, to those without: "a.m" to "am".
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
        tuple((str(long), str(short)) for long, short in data["shortened"].items()),
        frozenset(data["not_in_names"].split()),
        tuple(data["warm_up"]),
        re.compile(rf"{number}|[^\W\d_]+(?:'[^\W\d_]+)*|\S"),
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
    words: list[str] = []
    for found in wording.token.finditer(lowered):
        piece = "".join(found.group().split())  # some languages set a space between thousands
        if piece == "-":
            words.extend(_hyphen(lowered, found.start(), wording.minus))
        elif piece not in wording.silent and piece not in wording.hesitations:
            spoken = wording.contractions.get(piece) or wording.signs.get(piece) or piece
            words.extend(spoken.split())
    return tuple(words)


def _hyphen(text: str, at: int, minus: str) -> tuple[str, ...]:
    """What a hyphen says: "5 - 3" and "-5" a minus, "twenty-five" nothing.

    "555-1234" may be a telephone number: the word "hyphen" lets the templates decide.
    """
    before, after = text[:at], text[at + 1 :]
    if not after.lstrip()[:1].isdigit():
        return ()
    return ("hyphen",) if before[-1:].isdigit() and after[0].isdigit() else (minus,)


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
