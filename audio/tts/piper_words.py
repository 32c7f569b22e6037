"""Which phonemes are which word, and when a word sounds.

Phonemes come without the words they were made of, and their groups are not the words: "of the" is one, "12.50"
four. Where the numbers are equal the groups are the words. Elsewhere every word is made into phonemes by itself, and
the two lines of phonemes are laid side by side.
"""

import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

Phonemes = Sequence[str]


@dataclass(frozen=True, slots=True)
class WordPhonemes:
    """A word's characters in the piece, and its phonemes: from `begin` up to `end` of the sentence `sentence`.

    `guessed` where the phonemes were found by comparison.
    """

    text_start: int
    text_end: int
    sentence: int
    begin: int
    end: int
    guessed: bool


@dataclass(frozen=True, slots=True)
class _Heard:
    """A phoneme that is heard (no stress, blank or punctuation) and where it stands."""

    symbol: str
    sentence: int
    index: int


def place_words(
    text: str,
    spans: Sequence[tuple[int, int]],
    sentences: Sequence[Phonemes],
    alone: Callable[[str], Sequence[Phonemes]],
) -> list[WordPhonemes]:
    """Every word of `spans` in the phonemes of the sentences that `text` became.

    `alone` makes the phonemes of one word; it is asked only where groups and words differ in number.
    """
    heard = [
        _Heard(symbol, number, index)
        for number, phonemes in enumerate(sentences)
        for index, symbol in enumerate(phonemes)
        if is_heard(symbol)
    ]
    if not heard or not spans:
        return []
    bounds = _group_bounds(sentences)
    guessed = len(bounds) != len(spans)
    if guessed:
        solo = [
            [symbol for phonemes in alone(text[start:stop]) for symbol in phonemes if is_heard(symbol)]
            for start, stop in spans
        ]
        bounds = _compared_bounds(solo, [phoneme.symbol for phoneme in heard])
    bounds = [*bounds, len(heard)]
    return [_placed(span, heard, bounds[index], bounds[index + 1], guessed=guessed) for index, span in enumerate(spans)]


def is_heard(symbol: str) -> bool:
    """Whether a phoneme is sound by itself: a letter, not a stress or length mark, a blank or punctuation."""
    return any(unicodedata.category(character) in ("Ll", "Lu", "Lo", "Nd") for character in symbol)


def weight(symbol: str) -> float:
    """How long a phoneme takes beside others, where the voice does not say: marks nothing, pauses two."""
    if symbol in ",.:;!?":
        return 2.0
    if is_heard(symbol):
        return 1.0
    return 0.5 if symbol in "ː " else 0.0


def _group_bounds(sentences: Sequence[Phonemes]) -> list[int]:
    """The first heard phoneme of every group between blanks."""
    bounds: list[int] = []
    seen = 0
    for phonemes in sentences:
        fresh = True
        for symbol in phonemes:
            if symbol.isspace():
                fresh = True
            elif is_heard(symbol):
                if fresh:
                    bounds.append(seen)
                fresh = False
                seen += 1
    return bounds


def _compared_bounds(solo: Sequence[Sequence[str]], heard: Sequence[str]) -> list[int]:
    """The first heard phoneme of every word: between what is the same in both lines, in proportion."""
    line = [symbol for word in solo for symbol in word]
    matcher = SequenceMatcher(None, line, heard, autojunk=False)
    anchors = [(0, 0)]
    for block in matcher.get_matching_blocks():
        anchors += [(block.a, block.b), (block.a + block.size, block.b + block.size)]
    anchors.append((len(line), len(heard)))
    bounds, at = [], 0
    for word in solo:
        bounds.append(_between(anchors, at))
        at += len(word)
    return bounds


def _between(anchors: Sequence[tuple[int, int]], at: int) -> int:
    right = min(bisect_right(anchors, at, key=lambda anchor: anchor[0]), len(anchors) - 1)
    (a0, b0), (a1, b1) = anchors[right - 1], anchors[right]
    return b0 if a1 <= a0 else min(b1, b0 + round((at - a0) * (b1 - b0) / (a1 - a0)))


def _placed(span: tuple[int, int], heard: Sequence[_Heard], begin: int, end: int, *, guessed: bool) -> WordPhonemes:
    """A word without phonemes of its own stands, without length, where the next one begins or the last one ends."""
    if begin >= len(heard):
        last = heard[-1]
        return WordPhonemes(*span, last.sentence, last.index + 1, last.index + 1, guessed)
    first = heard[begin]
    inside = [phoneme.index for phoneme in heard[begin:end] if phoneme.sentence == first.sentence]
    return WordPhonemes(*span, first.sentence, first.index, inside[-1] + 1 if inside else first.index, guessed)
