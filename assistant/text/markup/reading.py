"""How far a marked-up text was read: what all rules of `assistant.text.speakable` share."""

from collections.abc import Callable
from dataclasses import dataclass, field

from assistant.text.plain_text import PlainText

WAIT = -1
"""A rule's answer: more text could change the decision."""

Rule = Callable[[str, int], int]
"""(text, position) → the position from which to read on; the same one where another rule is to look at it."""


@dataclass(slots=True)
class MarkupReader:
    """Of one text.

    Attributes:
        plain: What may be said.
        previous: The last character that was read, "" at the start.
        final: No more text comes.
        in_code_span: Between two "`".
        mode: Has all that comes, until it gives it back; None: each character has a rule of its own.
    """

    plain: PlainText = field(default_factory=PlainText)
    previous: str = ""
    final: bool = False
    in_code_span: bool = False
    mode: Rule | None = None
    _until: str = ""

    def lacks(self, text: str, pos: int, chars: int) -> bool:
        """True where fewer than `chars` characters from `pos` on are known and more may come."""
        return not self.final and len(text) - pos < chars

    def literal(self, text: str, pos: int) -> int:
        """The character stands for itself."""
        self.plain.push(text[pos])
        return pos + 1

    def skip_line(self) -> None:
        """The rest of the line is not said."""
        self.mode = self._skipped

    def drop_until(self, closing: str) -> None:
        """Nothing is said up to `closing`, in lower case; nor is that."""
        self._until = closing
        self.mode = self._dropped

    def _skipped(self, text: str, pos: int) -> int:
        end = text.find("\n", pos)
        if end < 0:
            return len(text)
        self.mode = None
        return end

    def _dropped(self, text: str, pos: int) -> int:
        """Inside reasoning or a comment; the end may be cut over tokens."""
        end = text.lower().find(self._until, pos)
        if end >= 0:
            self.mode = None
            return end + len(self._until)
        # Keep what may be the head of the closing mark.
        kept = max(pos, len(text) - len(self._until) + 1)
        return kept if kept > pos and not self.final else (len(text) if self.final else WAIT)
