"""Which words of a growing decode are stable: those that two decodes in a row agree on. Pure.

Local agreement, as by Liu et al. 2020 and used for Whisper by Macháček et al. 2023: the last words of a decode are
those whose sound was cut off, and the next decode often says otherwise.
"""

from audio.stt.whisper.hallucination_filter import plain

_SOUGHT = 3
"""Words before a cut that tell where it is: one or two are often said again."""


class Agreement:
    """The stable words of one window. Not thread-safe."""

    def __init__(self) -> None:
        self._previous: list[str] = []
        self._stable: list[str] = []

    def behind(self, text: str) -> "Agreement":
        """That of the rest of the window, once its beginning was cut off and decoded for good as `text`.

        The words so far stay where they are found again in the text's end; else they are forgotten.
        """
        rest = Agreement()
        before = text.split()
        rest._previous, rest._stable = _behind(before, self._previous), _behind(before, self._stable)
        return rest

    def hear(self, text: str) -> str:
        """A newer decode of the same, now longer sound; returns the stable words so far.

        They grow, and change only where two decodes in a row agree on other words.
        """
        words = text.split()
        agreed = words[: _common(self._previous, words)]
        if not (len(agreed) < len(self._stable) and _common(agreed, self._stable) == len(agreed)):
            self._stable = agreed  # else they agree on less than before, and contradict nothing
        self._previous = words
        return " ".join(self._stable)


def _common(one: list[str], other: list[str]) -> int:
    """Length of the common beginning, without regard to case and punctuation."""
    for index, (left, right) in enumerate(zip(one, other, strict=False)):
        if plain(left) != plain(right):
            return index
    return min(len(one), len(other))


def _behind(before: list[str], words: list[str]) -> list[str]:
    """The words behind those of `before`, whose last ones are sought, nearest to where they should be; else none."""
    last = [plain(word) for word in before[-_SOUGHT:]]
    said = [plain(word) for word in words]
    ends = [end for end in range(len(last), len(said) + 1) if said[end - len(last) : end] == last]
    return words[min(ends, key=lambda end: abs(end - len(before))) :] if last and ends else []
