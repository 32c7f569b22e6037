"""Handles lines and blocks of code: where a line ends a sentence, and which lines are not read aloud."""

import re

from assistant.text.markup.reading import WAIT, MarkupReader

_RULED_LINE = re.compile(r"[ \t]*[|:]?[ \t]*(?:-{3,}|={3,}|\*{3,}|_{3,}|[|: \t*_=-]*\|[|: \t*_=-]*)[|: \t*_=-]*")
_RULE_CHARS = re.compile(r"[|: \t*_=-]*")
_FENCE_INFO = re.compile(r"[\w+#./-]*[ \t]*")
_MAX_INFO_CHARS = 100
_MAX_RULE_CHARS = 300


class Blocks:
    """Rules for line ends, line starts, "`" and "~".

    Attributes:
        line_fresh: Whether the next character is the first of a line.
    """

    def __init__(self, reading: MarkupReader, code_note: str) -> None:
        """Applies to the text of `reading`; `code_note` replaces the first block of code, "" for nothing."""
        self.line_fresh = True
        self._reading = reading
        self._code_note = code_note
        self._line_is_prose = True
        self._newline_pending = False
        self._fence = ""

    # Lines

    def newline(self, text: str, pos: int) -> int:
        """Handles a line end. An empty line ends the sentence; otherwise the next line decides."""
        self._reading.in_code_span = False
        if self._newline_pending:
            self._reading.plain.line_break()
        self._newline_pending = True
        self.line_fresh = True
        return pos + 1

    def line_start(self, text: str, pos: int) -> int:
        """Handles the first character of a line and decides whether the sentence continues in it."""
        first = text[pos]
        if first == " ":
            return pos + 1
        if first in "|:-=*_":
            ruled = self._ruled_line(text, pos)
            if ruled is not None:
                return ruled
        if self._newline_pending:
            wrapped = self._line_is_prose and first.islower() and self._reading.plain.last not in ".!?:。！？…"
            if wrapped:
                self._reading.plain.push(" ")
            else:
                self._reading.plain.line_break()
        self._line_is_prose = not (first in "-*+•#>|" or first.isdigit())
        self._newline_pending = False
        self.line_fresh = False
        return pos

    def _ruled_line(self, text: str, pos: int) -> int | None:
        """Drops a line that only draws a rule (`---`, `|---|---|`); returns None for text."""
        drawn = _RULE_CHARS.match(text, pos, pos + _MAX_RULE_CHARS)
        end = drawn.end() if drawn else pos
        if end == len(text) and end - pos < _MAX_RULE_CHARS and not self._reading.final:
            return WAIT
        if end < len(text) and text[end] != "\n":
            return None
        return end if _RULED_LINE.fullmatch(text, pos, end) else None

    # Code

    def backtick(self, text: str, pos: int) -> int:
        """Handles "`" and "~": opens or closes a code span or code block, or pushes the character."""
        mark = text[pos]
        end = pos
        while end < len(text) and text[end] == mark and end - pos < 16:
            end += 1
        if end == len(text) and end - pos < 16 and not self._reading.final:
            return WAIT
        if end - pos >= 3 and (mark == "`" or self._reading.plain.at_line_start):
            opens = self._opens_fence(text, end)
            if opens is None:
                return WAIT
            if opens:
                self._note_code()
                self._fence = mark * 3
                self._reading.mode = self._fenced
                return end
        if mark == "~":
            self._reading.plain.push(text[pos:end])
        else:
            self._reading.in_code_span = not self._reading.in_code_span
        return end

    def _opens_fence(self, text: str, pos: int) -> bool | None:
        """Returns whether three marks ending at `pos` open a code block; None if more text is needed."""
        at_line_start = self._reading.plain.at_line_start
        line_end = text.find("\n", pos, pos + _MAX_INFO_CHARS)
        info = text[pos : line_end if line_end >= 0 else pos + _MAX_INFO_CHARS]
        if "`" in info:
            return False
        likely = at_line_start or _FENCE_INFO.fullmatch(info) is not None
        if line_end >= 0 or not likely:
            return likely
        if len(info) >= _MAX_INFO_CHARS:
            return False
        return at_line_start if self._reading.final else None

    def _note_code(self) -> None:
        if self._code_note:
            self._reading.plain.line_break()
            self._reading.plain.push(self._code_note)
            self._reading.plain.line_break()
            self._code_note = ""

    def _fenced(self, text: str, pos: int) -> int:
        """Drops the text up to the closing line of the code block."""
        if self._reading.previous != "\n":
            end = text.find("\n", pos)
            return end + 1 if end >= 0 else len(text)
        if text[pos] == " ":
            # Spaces before the closing marks still belong to the line start.
            end = pos + 1
            while end < len(text) and text[end] == " ":
                end += 1
            if end == len(text):
                return WAIT if end - pos < 40 and not self._reading.final else end
            if not text.startswith(self._fence[0], end):
                return end
            pos = end
        if self._reading.needs_more(text, pos, 3):
            return WAIT
        if not text.startswith(self._fence, pos):
            return pos + 1
        self._line_is_prose = False
        self._reading.skip_line()
        return pos + 3
