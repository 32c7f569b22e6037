"""Computes what the first word may be from the logits of the decoder's first step. Pure, uses only numpy."""

from collections.abc import Mapping

import numpy as np

from audio.stt.whisper.punctuation_score import Logits

MOST = 20
"""Number of beginnings that are returned. The others together have a probability of a few hundredths."""

_SPACE = "\u0120"
"""The space before a word in a byte-level tokenizer."""


class WordTokens:
    """The tokens of one tokenizer that may begin a word."""

    def __init__(self, vocabulary: Mapping[str, int], eot: int) -> None:
        """Takes a vocabulary (token to id). `eot` is the end token; ids from it on are no text."""
        self._text_of = {number: token.removeprefix(_SPACE) for token, number in vocabulary.items() if number < eot}

    def beginnings(self, logits: Logits) -> tuple[tuple[str, float], ...]:
        """Returns the likeliest beginnings of a word with their probabilities, from the logits of one step."""
        odds = np.exp(logits.astype(np.float64) - float(logits.max()))
        odds /= odds.sum()
        likeliest = np.argsort(odds)[::-1][:MOST]
        return tuple(
            (self._text_of[number], float(odds[number])) for number in likeliest.tolist() if number in self._text_of
        )
