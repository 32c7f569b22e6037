"""Counts word errors after normalizing both texts. Pure."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rapidfuzz.distance import Levenshtein

from assistant.text.normalization.reading import spoken

_NOT_KNOWN = "<unk>"
"""Marks unintelligible speech in some transcripts; such a clip cannot be counted."""

_BETWEEN_WORDS = re.compile(r"[^\w']+|_")


@dataclass(frozen=True, slots=True)
class WordErrors:
    """Word errors of any number of clips.

    Attributes:
        errors: Words inserted, deleted or replaced.
        reference_words: Words of the reference transcripts.
    """

    errors: int
    reference_words: int

    @property
    def rate(self) -> float | None:
        """Word error rate; above 1 if more words were recognized than said. None without reference words."""
        return self.errors / self.reference_words if self.reference_words else None


def word_errors(pairs: Iterable[tuple[str, str]], language: str) -> WordErrors:
    """Counts errors in pairs of reference and recognized text. Skips references with unintelligible speech."""
    errors = word_count = 0
    for transcript, heard in pairs:
        if _NOT_KNOWN not in transcript:
            words = plain_words(transcript, language)
            errors += edits(words, plain_words(heard, language))
            word_count += len(words)
    return WordErrors(errors, word_count)


def plain_words(text: str, language: str) -> tuple[str, ...]:
    """Returns lower-case words without punctuation, with numbers and dates as spoken: "Jan 2nd" is "january second"."""
    words = (word.strip("'") for word in _BETWEEN_WORDS.split(spoken(text, language).lower().replace("’", "'")))
    return tuple(word for word in words if word)


def edits(words: Sequence[str], heard: Sequence[str]) -> int:
    """Returns the least number of insertions, deletions and replacements between two word sequences."""
    return Levenshtein.distance(words, heard)
