"""Computes features of an interim transcript for the EOT model. English; pure."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

from assistant.end_of_turn.completeness import completeness, words_of

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
    """Returns the shipped table, from a language model of spoken English. It is read once."""
    table = json.loads((resources.files("assistant.end_of_turn") / _TABLE).read_text(encoding="utf-8"))
    return SentenceEnds(table["words"], table["pairs"], table["other"])


def text_features(text: str) -> dict[str, float]:
    """Returns the features of a transcript, with or without punctuation, by name.

    They tolerate a word error rate of about one third. `completeness`: the score of `completeness`, 0..1; `end_log10`:
    the base-10 logarithm of the probability that a sentence ends after the last two words.
    """
    return {"completeness": completeness(text), "end_log10": english().log10(words_of(text))}
