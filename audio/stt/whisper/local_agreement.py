"""Finds the stable words of a growing decode: the words on which two consecutive decodes agree. No I/O, no clock.

This is local agreement by Liu et al. 2020, used for Whisper by Macháček et al. 2023. The last words of a decode are
unreliable because their audio was cut off; the next decode often corrects them.
"""

from audio.stt.whisper.hallucination_filter import plain

_CUT_CONTEXT_WORDS = 3
"""Number of words that locate a cut: one or two words often occur more than once."""


class Agreement:
    """Tracks the stable words of one window. Not thread-safe."""

    def __init__(self) -> None:
        self._previous: list[str] = []
        self._stable: list[str] = []

    def after_cut(self, text: str) -> "Agreement":
        """Returns the state for the rest of the window after its beginning was decoded finally as `text`.

        Words so far are kept if the end of `text` is found among them; otherwise they are dropped.
        """
        rest = Agreement()
        before = text.split()
        rest._previous, rest._stable = _words_after(before, self._previous), _words_after(before, self._stable)
        return rest

    def update(self, text: str) -> str:
        """Processes a newer decode of the same, now longer audio and returns the stable words so far.

        The stable words grow. They change only if two consecutive decodes agree on other words.
        """
        words = text.split()
        agreed = words[: _common_prefix_length(self._previous, words)]
        if not (len(agreed) < len(self._stable) and _common_prefix_length(agreed, self._stable) == len(agreed)):
            self._stable = agreed  # otherwise they agree on fewer words without a contradiction
        self._previous = words
        return " ".join(self._stable)


def _common_prefix_length(words: list[str], other: list[str]) -> int:
    """Returns the length of the common prefix, ignoring case and punctuation."""
    for index, (left, right) in enumerate(zip(words, other, strict=False)):
        if plain(left) != plain(right):
            return index
    return min(len(words), len(other))


def _words_after(before: list[str], words: list[str]) -> list[str]:
    """Returns the words after those of `before`.

    Searches the last words of `before` in `words`, nearest to their expected place. Returns [] if they are not found.
    """
    last = [plain(word) for word in before[-_CUT_CONTEXT_WORDS:]]
    plain_words = [plain(word) for word in words]
    ends = [end for end in range(len(last), len(plain_words) + 1) if plain_words[end - len(last) : end] == last]
    return words[min(ends, key=lambda end: abs(end - len(before))) :] if last and ends else []
