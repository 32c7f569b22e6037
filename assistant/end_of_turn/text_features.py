"""What the words so far say about the end of a turn, as numbers that a fit can weigh. English; pure."""

from dataclasses import asdict, dataclass
from math import log

from assistant.end_of_turn.completeness import completeness, is_request, is_short_answer, last_word, words_of
from assistant.end_of_turn.sentence_ends import english


@dataclass(frozen=True, slots=True)
class TextShape:
    """The shape of a partial transcript; made for words of which a third may be wrong.

    Attributes:
        words: Logarithm of one more than their number.
        wordless: 1 where nothing was understood.
        completeness: How finished it sounds by rule, 0..1.
        end_log10: How likely a sentence ends after the last two words.
        filler, dangling, preposition, number, open_verb: 1 where the last word is one.
        request: 1 where it begins as a question or a command.
        short_answer: 1 where it is one of the few short phrases that are whole.
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
        """By name."""
        return asdict(self)


def text_shape(text: str) -> TextShape:
    """The features of a transcript, with or without punctuation."""
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
