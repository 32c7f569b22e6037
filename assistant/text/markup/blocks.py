"""Handles lines and blocks of code: where a line ends a sentence, and which lines are not read aloud."""

import re

from assistant.text.markup.notes import BlockNotes
from assistant.text.markup.reading import WAIT, MarkupReader

_RULED_LINE = re.compile(r"[ \t]*[|:]?[ \t]*(?:-{3,}|={3,}|\*{3,}|_{3,}|[|: \t*_=-]*\|[|: \t*_=-]*)[|: \t*_=-]*")
_RULE_CHARS = re.compile(r"[|: \t*_=-]*")
_FENCE_INFO = re.compile(r"[\w+#./-]*[ \t]*")
_MAX_INFO_CHARS = 100
_MAX_RULE_CHARS = 300
_MAX_HEAD_CHARS = 400
_DELIMITER = re.compile(r"[ \t]*\|[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*")
_DELIMITER_PARTIAL = re.compile(r"[ \t]*(?:\|[|: \t-]*)?")


class Blocks:
    """Rules for line ends, line starts, "`" and "~".

    Attributes:
        line_fresh: Whether the next character is the first of a line.
    """

    def __init__(self, reading: MarkupReader, notes: BlockNotes) -> None:
        """Applies to the text of `reading`; `notes` replace the first block of code, and tables."""
        self.line_fresh = True
        self._reading = reading
        self._notes = notes
        self._noted_code = False
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
        if first == "|" and self._notes.table:
            table = self._table(text, pos)
            if table is not None:
                return table
        if first in "|:-=*_":
            ruled = self._ruled_line(text, pos)
            if ruled is not None:
                return ruled
        if self._newline_pending:
            wrapped = self._line_is_prose and first.islower() and self._reading.plain.last not in ".!?:。！？…"
            if wrapped:
                self._reading.plain.add_text(" ")
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

    def _table(self, text: str, pos: int) -> int | None:
        """Replaces a table by a sentence; returns None for text."""
        head_end = text.find("\n", pos, pos + _MAX_HEAD_CHARS)
        if head_end < 0:
            return None if self._reading.final or len(text) - pos >= _MAX_HEAD_CHARS else WAIT
        line_end = text.find("\n", head_end + 1, head_end + 1 + _MAX_HEAD_CHARS)
        if line_end < 0:
            if len(text) - head_end > _MAX_HEAD_CHARS or not _DELIMITER_PARTIAL.fullmatch(text, head_end + 1):
                return None
            if not self._reading.final:
                return WAIT
            line_end = len(text)
        if not _DELIMITER.fullmatch(text, head_end + 1, line_end):
            return None
        self._reading.plain.line_break()
        self._reading.plain.add_text(self._notes.of_table(text[pos:head_end]))
        self._reading.plain.line_break()
        self._reading.mode = self._table_rows
        return min(line_end + 1, len(text))

    def _table_rows(self, text: str, pos: int) -> int:
        """Drops the rows of a table."""
        if self._reading.previous == "\n" and text[pos] not in "| \t":
            self._reading.mode = None
            self._line_is_prose, self._newline_pending, self.line_fresh = False, True, True
            return pos
        end = text.find("\n", pos)
        return end + 1 if end >= 0 else len(text)

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
                self._note_code(text[end:].split("\n", 1)[0])
                self._fence = mark * 3
                self._reading.mode = self._fenced
                return end
        if mark == "~":
            self._reading.plain.add_text(text[pos:end])
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

    def _note_code(self, info: str) -> None:
        note = "" if self._noted_code else self._notes.of_code(info)
        if note:
            self._reading.plain.line_break()
            self._reading.plain.add_text(note)
            self._reading.plain.line_break()
            self._noted_code = True

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
