"""Phonemes of a sentence and of its words. Pure."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

Phonemes = Sequence[str]


@dataclass(frozen=True, slots=True)
class WordPhonemes:
    """A word's characters in the piece, and its phonemes `begin` to `end` in the sentence with index `sentence`.

    `guessed` is True if the phonemes were found by alignment.
    """

    text_start: int
    text_end: int
    sentence: int
    begin: int
    end: int
    guessed: bool


def is_audible(symbol: str) -> bool:
    """Returns whether a phoneme is audible: a letter, not a stress or length mark, a blank or punctuation."""
    return any(unicodedata.category(character) in ("Ll", "Lu", "Lo", "Nd") for character in symbol)


def weight(symbol: str) -> float:
    """Returns the relative duration of a phoneme for voices without durations: stress marks 0, pauses 2."""
    if symbol in ",.:;!?":
        return 2.0
    if is_audible(symbol):
        return 1.0
    return 0.5 if symbol in "ː " else 0.0
