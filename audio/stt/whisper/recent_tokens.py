"""Keeps the tokens of a conversation's last transcripts, with their probabilities, while somebody wants them."""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from audio.stt import SegmentId, TokenProbability

Tokens = tuple[TokenProbability, ...]

_TRANSCRIPTS = 4
"""A commit may come after the first transcript of the next turn."""


@dataclass(slots=True)
class RecentTokens:
    """The tokens of the last transcripts.

    Attributes:
        enabled: Whether anything is kept.
        timed: Whether with the times of words.
    """

    enabled: bool = False
    timed: bool = False
    _settled: tuple[SegmentId | None, Tokens] = (None, ())
    _recent: deque[Tokens] = field(default_factory=lambda: deque(maxlen=_TRANSCRIPTS))

    def settle(self, segment: SegmentId, tokens: Tokens) -> None:
        """Adds tokens to the beginning of the segment's transcript, which does not change any more."""
        if self.enabled:
            self._settled = segment, (*self._beginning(segment), *tokens)

    def add_transcript(self, segment: SegmentId, tokens: Tokens) -> None:
        """Adds the transcript of a segment: what has settled, and these tokens."""
        if self.enabled:
            self._recent.append((*self._beginning(segment), *tokens))

    def of(self, text: str) -> Tokens | None:
        """Returns the newest transcript with these words, or None."""
        words = text.split()
        return next(
            (tokens for tokens in reversed(self._recent) if "".join(part.text for part in tokens).split() == words),
            None,
        )

    def _beginning(self, segment: SegmentId) -> Tokens:
        return self._settled[1] if self._settled[0] == segment else ()


def with_times(tokens: Tokens, words: Sequence[tuple[str, float, float]]) -> Tokens:
    """Returns the tokens with the times of their words.

    `words`: the same text in words, each with its start and end in s.
    """
    probabilities: list[TokenProbability] = []
    waiting, ends_at, position = iter(words), 0, 0
    start_s = end_s = 0.0
    for token in tokens:
        while position >= ends_at and (word := next(waiting, None)) is not None:
            ends_at, start_s, end_s = ends_at + len(word[0]), word[1], word[2]
        position += len(token.text)
        probabilities.append(replace(token, start_s=start_s, end_s=end_s))
    return tuple(probabilities)


def token_probabilities(
    token_ids: Sequence[int], rows: Iterable[npt.NDArray[np.float32]], text_of: Callable[[int], str]
) -> Tokens:
    """Returns the tokens that were said with their probabilities.

    Args:
        token_ids: The tokens.
        rows: The logits of each step, over the whole vocabulary.
        text_of: Returns the text of a token.
    """
    probabilities = []
    for token, row in zip(token_ids, rows, strict=False):
        above = row - row.max()
        probabilities.append(TokenProbability(text_of(token), float(above[token] - np.log(np.exp(above).sum()))))
    return tuple(probabilities)
