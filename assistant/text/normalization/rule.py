"""One way of reading: where it applies, and what it says there."""

import re
from collections.abc import Callable
from dataclasses import dataclass

DIGITS = frozenset("0123456789")
STARTS = r"(?<![\w.,:/@#$€£¥₹=^&?+\\-])"
"""Before an expression: nothing that would make it the tail of a longer one."""
ENDS = r"(?![\w\\]|[.,:/@’'-]\w|[-–—]\d)"
"""Behind an expression: nothing that would make it the head of a longer one."""


@dataclass(frozen=True, slots=True)
class Rule:
    """Says every match of `pattern` as `read` does.

    Attributes:
        needs: Characters of which the text holds at least one where the rule can apply; empty: any text.
        pattern: Repeats at most a fixed number of times, so that the cost stays linear.
        read: The words for a match, or None to leave it as it is written.
    """

    needs: frozenset[str]
    pattern: re.Pattern[str]
    read: Callable[[re.Match[str]], str | None]

    def apply(self, text: str) -> str:
        """`text` with every match in words."""
        return self.pattern.sub(self._words, text)

    def _words(self, match: re.Match[str]) -> str:
        words = self.read(match)
        return match[0] if words is None else words


def goes_on(match: re.Match[str], *, numbered: bool = False) -> bool:
    """Whether a small letter, a bracket or a hyphen follows: the dot at the end of the match ends no sentence.

    Nor does it before a digit, where a number belongs to the match: "Hauptstr. 12".
    """
    following = match.string[match.end() : match.end() + 2].lstrip(" ")[:1]
    return following.islower() or (numbered and following.isdigit()) or following in tuple(",;:()-")


def word_before(match: re.Match[str]) -> str:
    """The word in front of the match, in lower case; "" where there is none."""
    words = match.string[max(0, match.start() - 24) : match.start()].split()
    return words[-1].lower() if words and match.string[match.start() - 1] == " " else ""
