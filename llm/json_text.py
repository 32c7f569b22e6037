"""The inside of one JSON string that arrives in pieces: its text, with the escapes undone. No I/O."""

import re

_SPECIAL = re.compile(r'["\\]')
_SIMPLE = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_HEX = re.compile(r"[0-9a-fA-F]{4}")


class JsonText:
    """Takes what follows the opening quote.

    Attributes:
        closed: The closing quote came.
        rest: What came after it.
    """

    def __init__(self) -> None:
        self.closed = False
        self.rest = ""
        self._cut = ""

    def feed(self, piece: str) -> str:
        """The text in `piece`, cut anywhere; halves of a character written as two escapes come as they are."""
        if self.closed:
            self.rest += piece
            return ""
        piece, self._cut = self._cut + piece, ""
        text: list[str] = []
        at = 0
        while found := _SPECIAL.search(piece, at):
            text.append(piece[at : found.start()])
            at = found.end()
            if found[0] == '"':
                self.closed = True
                self.rest = piece[at:]
                return "".join(text)
            size = self._escape_chars(piece, at)
            if size is None:
                self._cut = piece[found.start() :]
                return "".join(text)
            text.append(self._escaped(piece[at : at + size]))
            at += size
        return "".join(text) + piece[at:]

    @staticmethod
    def _escape_chars(piece: str, at: int) -> int | None:
        """How long the escape is that goes on at `at`; None where it is cut."""
        kind = piece[at : at + 1]
        size = 5 if kind == "u" else 1
        return size if len(piece) >= at + size else None

    @staticmethod
    def _escaped(escape: str) -> str:
        if escape[0] == "u":
            return chr(int(escape[1:], 16)) if _HEX.fullmatch(escape[1:]) else "\ufffd"
        # A server that pastes text without escaping it (a path, LaTeX) means the backslash itself.
        return _SIMPLE.get(escape, f"\\{escape}")
