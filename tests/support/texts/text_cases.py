"""Parametrized tests over tables of texts, with ids in plain ASCII."""

import unicodedata
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import pytest

MOST_CHARS = 60
"""Maximum length of the id of one text."""


def text_cases(
    names: str | Sequence[str], rows: Collection[Any], columns: Sequence[int] = (0,)
) -> pytest.MarkDecorator:
    """Works as `pytest.mark.parametrize`. The id of a case is made of its texts in these columns."""
    ids = []
    for row in rows:
        values = (row,) if isinstance(names, str) else row
        ids.append("-".join(plain_text(str(values[column])) for column in columns))
    return pytest.mark.parametrize(names, rows, ids=ids)


def named_cases(names: str | Sequence[str], cases: Mapping[str, Any]) -> pytest.MarkDecorator:
    """Works as `pytest.mark.parametrize`, with the id of each case beside its values."""
    return pytest.mark.parametrize(names, cases.values(), ids=cases)


def plain_text(text: str) -> str:
    """Returns the text in printable ASCII, cut after the last word that fits: other characters by their names."""
    parts: list[str] = []
    for character in text[: MOST_CHARS + 1]:
        base = unicodedata.normalize("NFKD", character)[0]
        if character.isspace():
            parts.append(" ")
        elif base.isascii() and base.isprintable():
            parts.append(base)
        elif not unicodedata.combining(character):
            name = unicodedata.name(character, f"U+{ord(character):04X}").lower()
            parts.append(f" {name} ")
    words = "".join(parts).split()
    if not words:
        return "blank" if text else "empty"
    while len(" ".join(words)) > MOST_CHARS and len(words) > 1:
        words.pop()
    return " ".join(words)[:MOST_CHARS]
