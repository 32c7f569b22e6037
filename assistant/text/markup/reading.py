"""Shared state of the markup rules of `assistant.text.speakable`."""

from collections.abc import Callable
from dataclasses import dataclass, field

from assistant.text.plain_text import PlainText

WAIT = -1
"""Result of a rule whose decision depends on text that has not arrived yet."""

Rule = Callable[[str, int], int]
"""Maps (text, position) to the next position to read. The same position passes the character to another rule."""


@dataclass(slots=True)
class MarkupReader:
    """Reading state of one text with markup.

    Attributes:
        plain: Receives the speakable text.
        previous: The last character read, "" at the start.
        final: Whether the text is complete.
        in_code_span: Whether the position is inside a "`" span.
        mode: Rule that handles all text until it resets this field; None selects a rule for each character.
    """

    plain: PlainText = field(default_factory=PlainText)
    previous: str = ""
    final: bool = False
    in_code_span: bool = False
    mode: Rule | None = None
    _until: str = ""

    def needs_more(self, text: str, pos: int, chars: int) -> bool:
        """Returns whether fewer than `chars` characters are known from `pos` on and more may arrive."""
        return not self.final and len(text) - pos < chars

    def literal(self, text: str, pos: int) -> int:
        """Outputs the character unchanged."""
        self.plain.add_text(text[pos])
        return pos + 1

    def skip_line(self) -> None:
        """Drops the rest of the line."""
        self.mode = self._skip_line_rest

    def drop_until(self, closing: str) -> None:
        """Drops the text up to and including `closing`, which is in lower case."""
        self._until = closing
        self.mode = self._drop_text

    def _skip_line_rest(self, text: str, pos: int) -> int:
        end = text.find("\n", pos)
        if end < 0:
            return len(text)
        self.mode = None
        return end

    def _drop_text(self, text: str, pos: int) -> int:
        """Drops reasoning or a comment. The closing mark may be divided over tokens."""
        end = text.lower().find(self._until, pos)
        if end >= 0:
            self.mode = None
            return end + len(self._until)
        # Keep what may be the start of the closing mark.
        keep_from = max(pos, len(text) - len(self._until) + 1)
        return keep_from if keep_from > pos and not self.final else (len(text) if self.final else WAIT)
