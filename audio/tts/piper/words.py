"""Assigns phonemes to words, to find when a word sounds.

The phonemizer does not report words, and its groups are not the words: "of the" is one group, "12.50" is four. If the
counts are equal, groups are words. Otherwise every word is phonemized separately, and the two sequences are aligned.
"""

import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from audio.pronunciation import PronouncedWord
from audio.tts.streaming.phonemes import Phonemes, WordPhonemes, is_audible


@dataclass(frozen=True, slots=True)
class _AudiblePhoneme:
    """An audible phoneme (no stress mark, blank or punctuation) and its position."""

    symbol: str
    sentence: int
    index: int


def place_words(
    text: str,
    spans: Sequence[tuple[int, int]],
    sentences: Sequence[Phonemes],
    alone: Callable[[str], Sequence[Phonemes]],
) -> list[WordPhonemes]:
    """Returns every word of `spans` with its place in the phonemes of the sentences of `text`.

    `alone` phonemizes one word. It is called only if groups and words differ in number.
    """
    audible = [
        _AudiblePhoneme(symbol, number, index)
        for number, phonemes in enumerate(sentences)
        for index, symbol in enumerate(phonemes)
        if is_audible(symbol)
    ]
    if not audible or not spans:
        return []
    bounds = _group_bounds(sentences)
    guessed = len(bounds) != len(spans)
    if guessed:
        solo = [
            [symbol for phonemes in alone(text[start:stop]) for symbol in phonemes if is_audible(symbol)]
            for start, stop in spans
        ]
        bounds = _compared_bounds(solo, [phoneme.symbol for phoneme in audible])
    bounds = [*bounds, len(audible)]
    return [
        _placed(span, audible, bounds[index], bounds[index + 1], guessed=guessed) for index, span in enumerate(spans)
    ]


def with_pronunciations(
    sentences: Sequence[Phonemes], placed: Sequence[WordPhonemes], pronounced: Sequence[PronouncedWord]
) -> list[Phonemes]:
    """Returns the phonemes of a text with those of the `pronounced` words replaced.

    Args:
        sentences: The phonemes of the text.
        placed: Its words, from `place_words`.
        pronounced: Words of the text with their phonemes.
    """
    changed = [list(phonemes) for phonemes in sentences]
    for word in reversed(placed):  # so that the places before it stay valid
        for other in pronounced:
            if word.text_start <= other.text_start < word.text_end:
                phonemes = changed[word.sentence]
                begin, end = word.begin, word.end
                while begin and unicodedata.category(phonemes[begin - 1]) == "Lm":  # a stress mark
                    begin -= 1
                while end < len(phonemes) and unicodedata.category(phonemes[end]) in ("Lm", "Mn"):
                    end += 1
                phonemes[begin:end] = other.phonemes
    return [*changed]


def _group_bounds(sentences: Sequence[Phonemes]) -> list[int]:
    """Returns the index of the first audible phoneme of every blank-separated group."""
    bounds: list[int] = []
    seen = 0
    for phonemes in sentences:
        fresh = True
        for symbol in phonemes:
            if symbol.isspace():
                fresh = True
            elif is_audible(symbol):
                if fresh:
                    bounds.append(seen)
                fresh = False
                seen += 1
    return bounds


def _compared_bounds(solo: Sequence[Sequence[str]], audible: Sequence[str]) -> list[int]:
    """Returns the index of the first audible phoneme of every word: aligned, and interpolated between matches."""
    line = [symbol for word in solo for symbol in word]
    matcher = SequenceMatcher(None, line, audible, autojunk=False)
    anchors = [(0, 0)]
    for block in matcher.get_matching_blocks():
        anchors += [(block.a, block.b), (block.a + block.size, block.b + block.size)]
    anchors.append((len(line), len(audible)))
    bounds, position = [], 0
    for word in solo:
        bounds.append(_between(anchors, position))
        position += len(word)
    return bounds


def _between(anchors: Sequence[tuple[int, int]], position: int) -> int:
    right = min(bisect_right(anchors, position, key=lambda anchor: anchor[0]), len(anchors) - 1)
    (a0, b0), (a1, b1) = anchors[right - 1], anchors[right]
    return b0 if a1 <= a0 else min(b1, b0 + round((position - a0) * (b1 - b0) / (a1 - a0)))


def _placed(
    span: tuple[int, int], audible: Sequence[_AudiblePhoneme], begin: int, end: int, *, guessed: bool
) -> WordPhonemes:
    """Returns the phonemes of a word.

    For a word without phonemes the range is empty. It lies where the next word begins, or at the end of the last word.
    """
    if begin >= len(audible):
        last = audible[-1]
        return WordPhonemes(*span, last.sentence, last.index + 1, last.index + 1, guessed)
    first = audible[begin]
    inside = [phoneme.index for phoneme in audible[begin:end] if phoneme.sentence == first.sentence]
    return WordPhonemes(*span, first.sentence, first.index, inside[-1] + 1 if inside else first.index, guessed)
