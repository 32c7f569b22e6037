"""Normalization rules: a pattern and the words for its matches."""

import re
from collections.abc import Callable
from dataclasses import dataclass

DIGITS = frozenset("0123456789")
STARTS = r"(?<![\w.,:/@#$€£¥₹=^&?+\\-])"
"""Precedes an expression: excludes characters that would make it the end of a longer one."""
ENDS = r"(?![\w\\]|[.,:/@’'-]\w|[-–—]\d)"
"""Follows an expression: excludes characters that would make it the start of a longer one."""


@dataclass(frozen=True, slots=True)
class Rule:
    """Replaces every match of `pattern` by the result of `read`.

    Attributes:
        needs: The rule applies only to text with at least one of these characters; empty for any text.
        pattern: Repeats at most a fixed number of times, so that the cost stays linear in the text length.
        read: Returns the words for a match; None leaves it unchanged.
    """

    needs: frozenset[str]
    pattern: re.Pattern[str]
    read: Callable[[re.Match[str]], str | None]

    def apply(self, text: str) -> str:
        """Returns `text` with every match replaced by words."""
        return self.pattern.sub(self._words, text)

    def _words(self, match: re.Match[str]) -> str:
        words = self.read(match)
        return match[0] if words is None else words


def sentence_continues(match: re.Match[str], *, numbered: bool = False) -> bool:
    """Returns whether a lower-case letter, bracket or hyphen follows, so that the dot of the match ends no sentence.

    With `numbered`, a digit also continues the sentence: "Hauptstr. 12".
    """
    following = match.string[match.end() : match.end() + 2].lstrip(" ")[:1]
    return following.islower() or (numbered and following.isdigit()) or following in tuple(",;:()-")


def word_before(match: re.Match[str]) -> str:
    """Returns the word before the match in lower case; "" if there is none."""
    words = match.string[max(0, match.start() - 24) : match.start()].split()
    return words[-1].lower() if words and match.string[match.start() - 1] == " " else ""
