"""Decodes one JSON string that arrives in pieces. No I/O."""

import re

_SPECIAL = re.compile(r'["\\]')
_SIMPLE = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_HEX = re.compile(r"[0-9a-fA-F]{4}")


class JsonText:
    """Decodes the text after the opening quote.

    Attributes:
        closed: Whether the closing quote arrived.
        rest: The text after the closing quote.
    """

    def __init__(self) -> None:
        self.closed = False
        self.rest = ""
        self._cut = ""

    def feed(self, piece: str) -> str:
        """Returns the decoded text of `piece`, which may end anywhere. Surrogate halves are returned unjoined."""
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
        """Returns the length of the escape that continues at `at`; None if it is incomplete."""
        kind = piece[at : at + 1]
        size = 5 if kind == "u" else 1
        return size if len(piece) >= at + size else None

    @staticmethod
    def _escaped(escape: str) -> str:
        if escape[0] == "u":
            return chr(int(escape[1:], 16)) if _HEX.fullmatch(escape[1:]) else "\ufffd"
        # Some servers insert text without escaping it (a path, LaTeX): the backslash is then literal.
        return _SIMPLE.get(escape, f"\\{escape}")
