"""Stage directions, such as `*holds out a hand*` or `[sighs]`: between sentences they are a chunk of their own.

Those in parentheses keep their marks, and `assistant.text.sentence_boundaries` finds them.
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
    """Finds them: marked words that begin where a sentence may and are followed by a new sentence or nothing."""

    def __init__(self, reading: MarkupReader) -> None:
        """Of the text that `reading` goes through."""
        self._reading = reading

    def mark(self, text: str, pos: int) -> int:
        """An opening mark that is nothing else: a stage direction begins, or it stands for itself."""
        after = self.direction(text, pos)
        return self._reading.literal(text, pos) if after is None else after

    def direction(self, text: str, pos: int) -> int | None:
        """Where to read on behind a stage direction that begins here; None where none does."""
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
        self._reading.plain.push(body.group())
        self._reading.plain.line_break()
        return end + 1

    def _may_begin(self) -> bool:
        """Whether what comes before ends a sentence, and is no number of a list."""
        previous, plain = self._reading.previous, self._reading.plain
        if self._reading.in_code_span or (previous and not previous.isspace()):
            return False
        return plain.at_text_start or (
            not plain.holds_mark
            and _SENTENCE_ENDED.search(plain.tail) is not None
            and _LIST_NUMBER.search(plain.tail) is None
        )

    def _sentence_follows(self, text: str, pos: int) -> bool | None:
        """Whether a new sentence or line begins behind it; None where more text must come first."""
        following = text[pos : pos + 4]
        first = following.lstrip(" ")[:1]
        if not first:
            return True if self._reading.final else (None if len(following) < 4 else False)
        if first == "\n":
            return True
        return following.startswith(" ") and (first.isupper() or first in _NEXT_STARTS)
