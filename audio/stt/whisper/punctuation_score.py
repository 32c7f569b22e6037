"""Computes the punctuation that Whisper expects after the last word: the end of a sentence or a continuation.

Whisper was trained on punctuated text. So its probabilities of a full stop, a comma or the end of the text tell how
finished the words sound, by meaning and intonation. Pure, uses only numpy.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from audio.stt import Punctuation

Logits = npt.NDArray[np.float32]
"""Logits of one step, shape (tokens,)."""

_SPACE = "\u0120"
"""The space before a word in a byte-level tokenizer."""

_SENTENCE_END = re.compile(rf"{_SPACE}?[\"')\]]*(?:[?!]+|\.)[\"')\]?!]*")
_CONTINUATION = re.compile(rf"{_SPACE}?[\"')\]]*(?:[,;:-]+|\.\.+)[\"']*")


class PunctuationTokens:
    """The punctuation tokens of one tokenizer."""

    def __init__(self, vocabulary: Mapping[str, int], eot: int) -> None:
        """Finds the punctuation tokens in a vocabulary (token to id).

        `eot` is the end token; ids from it on are no text.
        """
        words = {token: number for token, number in vocabulary.items() if number < eot}
        self._sentence_end = _matching(_SENTENCE_END, words)
        self._continuation = _matching(_CONTINUATION, words)
        self._eot = eot
        self._marks = frozenset((*self._sentence_end.tolist(), *self._continuation.tolist()))

    def step_after_words(self, token_ids: Sequence[int]) -> int:
        """Returns the index of the step that decided what follows the last token that is not punctuation."""
        steps = (step for step in range(len(token_ids), 0, -1) if token_ids[step - 1] not in self._marks)
        return next(steps, 0)

    def punctuation(self, logits: Logits) -> Punctuation:
        """Computes the punctuation probabilities from the logits of one step."""
        odds = np.exp(logits.astype(np.float64) - float(logits.max()))
        odds /= odds.sum()
        return Punctuation(
            float(odds[self._sentence_end].sum() + odds[self._eot]), float(odds[self._continuation].sum())
        )


def _matching(pattern: re.Pattern[str], words: Mapping[str, int]) -> npt.NDArray[np.intp]:
    numbers: Iterable[int] = (number for token, number in words.items() if pattern.fullmatch(token))
    return np.array(sorted(numbers), np.intp)
