"""The names of devices as words, and the comparison with whole names. Pure."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from assistant.home import Device, Kind
from assistant.home.likeness import MAX_LONGER, is_sure, likeness
from assistant.home.query import Words

_JOINERS = frozenset(("and", "und", "et", "y", "plus", "mas", "slash"))
"""Words that names also write as "&", "+" or "/", or leave out."""
_SINGLE_ROMAN = re.compile(r"(?<=\w )[IVX]$")
_ROMAN_VALUES = {"I": "1", "V": "5", "X": "10"}
GUARDED: frozenset[Kind] = frozenset(("lock", "garage"))
"""Kinds of devices that let somebody in. A word that is only similar to their name does not mean them."""
_SAME_NAME = 0.88
"""Likeness of a whole name from which the words may be this name."""


@dataclass(frozen=True, slots=True)
class NamedDevice:
    """A device and the words of one of its names.

    Attributes:
        device: The device.
        words: The words of the name.
        parts: The same, and each two neighbours as one word: "Wi-Fi" is "wifi".
        joined: The same as one word.
        beside: The words of its area and floor.
        has_kind: Whether the name says what kind the device is.
    """

    device: Device
    words: Words
    parts: Words
    joined: str
    beside: Words
    has_kind: bool

    def has_joined(self, word: str) -> bool:
        """Returns whether a word that is joined of two, "" for none, surely is a part of the name or its place."""
        return not word or any(likeness(word, part) > _SAME_NAME for part in (*self.parts, *self.beside))


def written_names(device: Device) -> tuple[str, ...]:
    """Returns the names of a device. A single Roman numeral at the end may be a letter, too: "Lamp V"."""
    names = (device.name, *device.aliases)
    as_numbers = (_SINGLE_ROMAN.sub(lambda match: _ROMAN_VALUES[match[0]], name) for name in names)
    return tuple(dict.fromkeys((*names, *as_numbers)))


def parts_of(words: Words) -> Words:
    """Returns the words, and each two neighbours as one word."""
    return (*words, *(first + second for first, second in pairwise(words)))


def joined_ways(words: Words) -> Iterable[tuple[Words, str]]:
    """Yields the words with two neighbours as one word, and this word: "wi fi router" as "wifi router"."""
    for index in range(len(words) - 1):
        joined = words[index] + words[index + 1]
        if not joined.isdecimal():
            yield (*words[:index], joined, *words[index + 2 :]), joined


def joined_words(words: Words) -> str:
    """Returns the words as one word."""
    return "".join(word for word in words if word not in _JOINERS)


def with_name(joined: str, among: Sequence[NamedDevice]) -> list[NamedDevice]:
    """Returns the devices with a name of these letters."""
    return [named for named in among if joined and named.joined == joined]


def same_name(words: Words, among: Sequence[NamedDevice]) -> tuple[list[NamedDevice], bool]:
    """Returns the devices whose whole name these words are: exactly, else the most alike; and whether it is certain."""
    joined = joined_words(words)
    if not joined or (exact := with_name(joined, among)):
        return exact if joined else [], True
    best, matches = _SAME_NAME, []
    for named in among:
        if abs(len(named.joined) - len(joined)) > MAX_LONGER:
            continue
        alike = likeness(joined, named.joined)
        if alike > best + 1e-6:
            best, matches = alike, [named]
        elif matches and alike > best - 1e-6:
            matches.append(named)
    return matches, all(_is_surely(words, named, best) for named in matches)


def _is_surely(words: Words, named: NamedDevice, alike: float) -> bool:
    """Returns whether words that are so alike to a name surely mean it: no short word is another one."""
    is_guarded = named.device.kind in GUARDED
    if len(words) != len(named.words):
        return is_sure(joined_words(words), alike, is_guarded=is_guarded)
    pairs = [(word, likeness(word, own)) for word, own in zip(words, named.words, strict=True)]
    return all(is_sure(word, like, is_guarded=is_guarded) for word, like in pairs)
