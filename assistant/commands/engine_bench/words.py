"""Words heard against words said, both in one form. Pure."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from assistant.text.normalization.reading import spoken

_NOT_KNOWN = "<unk>"
"""Stands in some transcripts for what nobody could make out; such a clip cannot be counted."""

_BETWEEN_WORDS = re.compile(r"[^\w']+|_")


@dataclass(frozen=True, slots=True)
class WordErrors:
    """Of any number of clips.

    Attributes:
        errors: Words inserted, left out or replaced.
        said: Words of the transcripts.
    """

    errors: int
    said: int

    @property
    def rate(self) -> float | None:
        """The word error rate, over 1 where more was heard than said; None where nothing was said."""
        return self.errors / self.said if self.said else None


def word_errors(pairs: Iterable[tuple[str, str]], language: str) -> WordErrors:
    """Of pairs of what was said and what was heard, as written by whomever; transcripts with gaps are left out."""
    errors = said = 0
    for transcript, heard in pairs:
        if _NOT_KNOWN not in transcript:
            words = plain_words(transcript, language)
            errors += edits(words, plain_words(heard, language))
            said += len(words)
    return WordErrors(errors, said)


def plain_words(text: str, language: str) -> tuple[str, ...]:
    """Lower-case words without signs; numbers, dates and the like as they are said: "Jan 2nd" and "january second"."""
    words = (word.strip("'") for word in _BETWEEN_WORDS.split(spoken(text, language).lower().replace("’", "'")))
    return tuple(word for word in words if word)


def edits(said: Sequence[str], heard: Sequence[str]) -> int:
    """The fewest insertions, deletions and replacements that make one of the other."""
    row = list(range(len(heard) + 1))
    for i, word in enumerate(said, start=1):
        diagonal, row[0] = row[0], i
        for j, other in enumerate(heard, start=1):
            diagonal, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, diagonal + (word != other))
    return row[-1]
