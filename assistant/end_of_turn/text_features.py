"""Computes features of an interim transcript for the EOT model. English; pure."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from importlib import resources
from math import log

from assistant.end_of_turn.completeness import completeness, is_request, is_short_answer, last_word, words_of

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


@dataclass(frozen=True, slots=True)
class TextShape:
    """Features of an interim transcript. They tolerate a word error rate of about one third.

    Attributes:
        words: The natural logarithm of one plus the number of words.
        wordless: 1 if there are no words.
        completeness: The score of `completeness`, 0..1.
        end_log10: The base-10 logarithm of the probability that a sentence ends after the last two words.
        filler, dangling, preposition, number, open_verb: 1 if the last word is of this kind.
        request: 1 if the text begins as a question or a command.
        short_answer: 1 if the text is one of the known short but complete phrases.
    """

    words: float
    wordless: float
    completeness: float
    end_log10: float
    filler: float
    dangling: float
    preposition: float
    number: float
    open_verb: float
    request: float
    short_answer: float

    def named(self) -> dict[str, float]:
        """Returns the features by name."""
        return asdict(self)


def text_shape(text: str) -> TextShape:
    """Computes the features of a transcript, with or without punctuation."""
    words = words_of(text)
    kind = last_word(words)
    return TextShape(
        words=log(1 + len(words)),
        wordless=float(not words),
        completeness=completeness(text),
        end_log10=english().log10(words),
        filler=float(kind == "filler"),
        dangling=float(kind == "dangling"),
        preposition=float(kind == "preposition"),
        number=float(kind == "number"),
        open_verb=float(kind == "open verb"),
        request=float(is_request(words)),
        short_answer=float(is_short_answer(words)),
    )
