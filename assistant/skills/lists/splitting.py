"""Splits what a user says into items: "milk, eggs and macaroni and cheese" are three. Pure."""

import re
from dataclasses import dataclass

from assistant.skills.languages.numerals import Numerals, find_numbers

ITEM_BREAK = "\n"
"""Separates items that are not split further."""

_STAND_IN = "\x00"


@dataclass(frozen=True, slots=True)
class ItemWords:
    """Words of one language around items.

    Attributes:
        joint: Matches " and " between two items.
        articles: Matches words before an item that do not belong to it: "some".
        together: Matches names that contain "and".
    """

    joint: re.Pattern[str]
    articles: re.Pattern[str]
    together: re.Pattern[str] | None


def split_items(text: str, words: ItemWords, numerals: Numerals) -> tuple[str, ...]:
    """Returns the items in `text`, without articles, their number in digits.

    Commas separate. After commas, only the first "and" of the last part does: "eggs and macaroni and cheese". Without
    commas, every "and" does, except in a known name.
    """
    parts = text.split(ITEM_BREAK) if ITEM_BREAK in text else _parts(text, words)
    items = (_item(part, words, numerals) for part in parts)
    return tuple(dict.fromkeys(item for item in items if item))


def _parts(text: str, words: ItemWords) -> list[str]:
    whole: list[str] = []
    if words.together is not None:  # names with "and" are taken out
        whole = [match.group() for match in words.together.finditer(text)]
        text = words.together.sub(_STAND_IN, text)
    segments = [part for part in re.split(r"\s*[,;](?!\d)\s*", text) if part.strip()]
    parts: list[str] = []
    for number, segment in enumerate(segments):
        is_last = number == len(segments) - 1
        if is_last and len(segments) > 1:
            begun = words.joint.match(f" {segment}")  # "milk, eggs, and macaroni and cheese"
            parts += [segment[begun.end() - 1 :]] if begun else words.joint.split(segment, maxsplit=1)
        else:
            parts += words.joint.split(segment)
    names = iter(whole)
    return [re.sub(_STAND_IN, lambda _found: next(names), part) for part in parts]


def _item(part: str, words: ItemWords, numerals: Numerals) -> str:
    item = part.strip(" .,;:!?\"'“”")
    shorter = words.articles.sub("", item, count=1)
    item = shorter or item
    spoken = tuple(item.split())
    numbered = find_numbers(tuple(word.lower() for word in spoken), numerals)
    if (
        spoken
        and spoken[0].isalpha()
        and numbered.numbers
        and numbered.words[0] == "0"
        and numbered.numbers[0].denominator == 1
        and len(spoken) > 1
    ):
        rest = spoken[len(numbered.number_words[0].split()) :]
        return " ".join((str(numbered.numbers[0]), *rest))
    return item
