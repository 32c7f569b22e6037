"""What Whisper expects behind the last word that it heard: the end of a sentence, or more of it.

It was trained on text with punctuation, so its probabilities of a full stop, a comma or the end of all text say how
finished the words sound, of their sense and of their melody. Pure, but for numpy.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from audio.stt import Punctuation

Logits = npt.NDArray[np.float32]
"""Of one step, shape (tokens,)."""

_SPACE = "\u0120"
"""How a byte-level tokenizer writes the space before a word."""

_ENDS = re.compile(rf"{_SPACE}?[\"')\]]*(?:[?!]+|\.)[\"')\]?!]*")
_GOES_ON = re.compile(rf"{_SPACE}?[\"')\]]*(?:[,;:-]+|\.\.+)[\"']*")


class ClosingMarks:
    """Which tokens are marks, of one tokenizer."""

    def __init__(self, vocabulary: Mapping[str, int], eot: int) -> None:
        """From its tokens and their numbers; `eot` ends all text, and what comes behind it is no text either."""
        words = {token: number for token, number in vocabulary.items() if number < eot}
        self._ends = _matching(_ENDS, words)
        self._goes_on = _matching(_GOES_ON, words)
        self._eot = eot
        self._marks = frozenset((*self._ends.tolist(), *self._goes_on.tolist()))

    def step_after_words(self, said: Sequence[int]) -> int:
        """The step that decided what comes behind the last token that is no mark."""
        steps = (step for step in range(len(said), 0, -1) if said[step - 1] not in self._marks)
        return next(steps, 0)

    def closure(self, logits: Logits) -> Punctuation:
        """Of the probabilities at one step."""
        odds = np.exp(logits.astype(np.float64) - float(logits.max()))
        odds /= odds.sum()
        return Punctuation(float(odds[self._ends].sum() + odds[self._eot]), float(odds[self._goes_on].sum()))


def _matching(pattern: re.Pattern[str], words: Mapping[str, int]) -> npt.NDArray[np.intp]:
    found: Iterable[int] = (number for token, number in words.items() if pattern.fullmatch(token))
    return np.array(sorted(found), np.intp)
