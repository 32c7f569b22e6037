"""How likely a sentence ends after its last words: a small table out of a language model of spoken English."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

_TABLE = "sentence_ends.json"


@dataclass(frozen=True, slots=True)
class SentenceEnds:
    """Logarithms to base 10, times -100, as the file has them.

    Attributes:
        words: Of a sentence's end after a word, the more frequent words.
        pairs: After two words, where that differs from the second alone.
        other: After any other word.
    """

    words: Mapping[str, int]
    pairs: Mapping[str, int]
    other: int

    def log10(self, words: Sequence[str]) -> float:
        """Of the chance that the sentence ends after `words` (lower case); of no words 0."""
        if not words:
            return 0.0
        pair = self.pairs.get(" ".join(words[-2:])) if len(words) > 1 else None
        return (self.words.get(words[-1], self.other) if pair is None else pair) / -100


@cache
def english() -> SentenceEnds:
    """The table that ships with the program; read once."""
    found = json.loads((resources.files("assistant.end_of_turn") / _TABLE).read_text(encoding="utf-8"))
    return SentenceEnds(found["words"], found["pairs"], found["other"])
