"""Computes features of an interim transcript for the EOT model. English; pure."""

from dataclasses import asdict, dataclass
from math import log

from assistant.end_of_turn.completeness import completeness, is_request, is_short_answer, last_word, words_of
from assistant.end_of_turn.sentence_ends import english


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
