"""Likeness of two words: compares letters, and knows endings of the plural. Pure."""

import re
import unicodedata
from functools import lru_cache

CLOSE = 0.75
"""Likeness from which one word may be a misspelling of the other."""
SURE = 0.95
"""Likeness that is enough for a device that lets somebody in: the same word, or another number of it."""
_SHORT_CHARS = 5
_SHORT_SURE = 0.8
"""A word of few letters is more alike than this, or it may be another word: "path", "bath"."""
MAX_LONGER = 2
"""Largest difference in length of two like words, in letters."""
MIN_FUZZY_CHARS = 4
_NO_DIGIT = re.compile(r"\D*")
_ENDINGS = ("s", "n", "e", "en", "es", "er", "x")


def folded(text: str) -> str:
    """Returns lower-case letters without accents: "Küche" as "kuche", "Straße" as "strasse"."""
    plain = unicodedata.normalize("NFKD", text.casefold())
    return "".join(sign for sign in plain if not unicodedata.combining(sign))


@lru_cache(maxsize=20000)
def likeness(word: str, other: str) -> float:
    """Returns how alike two folded words are, from 0 to 1: 1 for the same word or another number of it."""
    if word == other:
        return 1.0
    short, long = sorted((word, other), key=len)
    if len(short) >= 3 and any(long == short + ending for ending in _ENDINGS):
        return 0.95
    allowed = 1 if len(long) < 8 else 2
    if len(short) < MIN_FUZZY_CHARS or len(long) - len(short) > allowed or not _NO_DIGIT.fullmatch(word + other):
        return 0.0
    if len(set(word) ^ set(other)) > 2 * allowed:  # each change concerns two letters at most
        return 0.0
    distance = _distance(word, other, allowed)
    return 0.0 if distance > allowed else 1 - distance / len(long)


def is_sure(word: str, alike: float, *, is_guarded: bool = False) -> bool:
    """Returns whether `word` means another one that is so alike; otherwise the user is asked.

    `is_guarded`: whether it names a device that lets somebody in.
    """
    return alike >= (SURE if is_guarded else CLOSE) and (len(word) > _SHORT_CHARS or alike > _SHORT_SURE)


def _distance(word: str, other: str, most: int) -> int:
    """Returns how many letters are inserted, left out, replaced or swapped; more than `most` if many."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for index, sign in enumerate(word, 1):
        earlier, before, row = before, row, [index]
        for to, letter in enumerate(other, 1):
            cost = min(before[to] + 1, row[to - 1] + 1, before[to - 1] + (sign != letter))
            if index > 1 and to > 1 and sign == other[to - 2] and word[index - 2] == letter:
                cost = min(cost, earlier[to - 2] + 1)
            row.append(cost)
        if min(row) > most:
            return most + 1
    return row[-1]
