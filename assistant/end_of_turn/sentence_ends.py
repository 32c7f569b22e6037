"""Looks up how likely a sentence ends after its last words, in a table from a language model of spoken English."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

_TABLE = "sentence_ends.json"


@dataclass(frozen=True, slots=True)
class SentenceEnds:
    """Probabilities of a sentence end. The values are -100 times the logarithm to base 10, as in the file.

    Attributes:
        words: The value after each of the frequent words.
        pairs: The value after two words, if it differs from that of the second word.
        other: The value after any other word.
    """

    words: Mapping[str, int]
    pairs: Mapping[str, int]
    other: int

    def log10(self, words: Sequence[str]) -> float:
        """Returns the base-10 logarithm of the probability that the sentence ends after `words` (lower case).

        Without words the result is 0.
        """
        if not words:
            return 0.0
        pair = self.pairs.get(" ".join(words[-2:])) if len(words) > 1 else None
        return (self.words.get(words[-1], self.other) if pair is None else pair) / -100


@cache
def english() -> SentenceEnds:
    """Returns the shipped English table. It is read once."""
    found = json.loads((resources.files("assistant.end_of_turn") / _TABLE).read_text(encoding="utf-8"))
    return SentenceEnds(found["words"], found["pairs"], found["other"])
