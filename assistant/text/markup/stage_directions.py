"""Detects stage directions, such as `*holds out a hand*` or `[sighs]`. Between sentences they form a separate chunk.

Stage directions in parentheses keep their marks; `assistant.text.sentence_boundaries` detects them.
"""

import re

from assistant.text.markup.reading import WAIT, MarkupReader

_CLOSING = {"*": "*", "_": "_", "[": "]"}
_BODY = re.compile(r"[^\W\d_](?:[^\W\d_]|[ ,'’-])*")
_SENTENCE_ENDED = re.compile(r"(?:\A|\n|[.!?…。！？][\"'”’»)]?)\Z")
_LIST_NUMBER = re.compile(r"(?:\A|\n)\s*\(?\w{1,3}\.\Z")
_NEXT_STARTS = "\"'“„«¿¡*_[0123456789"
_MIN_CHARS = 3
_MAX_CHARS = 60


class StageDirections:
    """Detects marked words that start where a sentence may start and precede a new sentence or the end of the text."""

    def __init__(self, reading: MarkupReader) -> None:
        """Applies to the text of `reading`."""
        self._reading = reading

    def mark(self, text: str, pos: int) -> int:
        """Handles an opening mark with no other meaning: a stage direction, or a plain character."""
        after = self.direction(text, pos)
        return self._reading.literal(text, pos) if after is None else after

    def direction(self, text: str, pos: int) -> int | None:
        """Returns the position after a stage direction that starts at `pos`; None if none does."""
        if not self._may_begin():
            return None
        limit = pos + 1 + _MAX_CHARS
        body = _BODY.match(text, pos + 1, limit)
        end = body.end() if body else pos + 1
        if end == len(text) and end < limit and not self._reading.final:
            return WAIT
        if body is None or text[end : end + 1] != _CLOSING[text[pos]] or end - pos - 1 < _MIN_CHARS:
            return None
        follows = self._sentence_follows(text, end + 1)
        if not follows:
            return WAIT if follows is None else None
        self._reading.plain.line_break()
        self._reading.plain.add_text(body.group())
        self._reading.plain.line_break()
        return end + 1

    def _may_begin(self) -> bool:
        """Returns whether the previous text ends a sentence and is not a list number."""
        previous, plain = self._reading.previous, self._reading.plain
        if self._reading.in_code_span or (previous and not previous.isspace()):
            return False
        return plain.at_text_start or (
            not plain.holds_mark
            and _SENTENCE_ENDED.search(plain.tail) is not None
            and _LIST_NUMBER.search(plain.tail) is None
        )

    def _sentence_follows(self, text: str, pos: int) -> bool | None:
        """Returns whether a new sentence or line begins at `pos`; None if more text is needed."""
        following = text[pos : pos + 4]
        first = following.lstrip(" ")[:1]
        if not first:
            return True if self._reading.final else (None if len(following) < 4 else False)
        if first == "\n":
            return True
        return following.startswith(" ") and (first.isupper() or first in _NEXT_STARTS)
