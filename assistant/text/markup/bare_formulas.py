"""Handles LaTeX outside "$": commands with their arguments, indices and groups; and distinguishes file paths."""

import re

from assistant.text.markup.reading import WAIT, MarkupReader
from assistant.text.markup.stage_directions import StageDirections
from assistant.text.normalization.math import spoken_math, spoken_subscript

TAKES_GROUPS = frozenset(
    "frac dfrac tfrac sqrt text textbf textit textrm mathrm mathbf mathit mathbb mathcal mathsf operatorname boxed"
    " overline underline hat bar vec tilde dot sum prod int lim log ln sin cos tan binom left right alpha beta gamma"
    " delta epsilon theta lambda mu pi rho sigma tau phi psi omega Delta Sigma Omega".split()
)
"""Commands that take the groups, indices and powers directly after them, also outside "$"."""
_GROUP = r"\{[^{}\n]*(?:\{[^{}\n]*(?:\{[^{}\n]*\}[^{}\n]*)*\}[^{}\n]*)*\}"
_ATTACHED = re.compile(
    rf"(?:\\[A-Za-z]+|{_GROUP}|[_^](?:{_GROUP}|\w|\\[A-Za-z]+)|(?<=sqrt)\[\w\]|(?<=frac)\d\d?|(?<=sqrt)\d)+"
)
_ATTACHED_PARTIAL = re.compile(r"(?:[_^]?\{[^\n]*|[_^]|[_^]?\\[A-Za-z]*|(?<=sqrt)\[\w?|(?<=frac)\d?)?")
_INDEX = re.compile(r"_\{\s*([A-Za-z0-9]{1,8})\s*\}")
_INDEX_PARTIAL = re.compile(r"_(?:\{\s{0,2}[A-Za-z0-9]{0,8}\s{0,2})?")
_LONE_GROUP = re.compile(r"\{\s?([A-Za-z])\s?\}(?=[_^])")
_LONE_GROUP_PARTIAL = re.compile(r"\{\s?(?:[A-Za-z]\s?\}?)?")
_VALUE = re.compile(r" ?\{\s?(\d{1,6}(?:[.,]\d{1,6})?)\s?\}")
_VALUE_PARTIAL = re.compile(r" ?(?:\{\s?(?:\d{1,6}(?:[.,]\d{0,6})?)?\s?)?")
_PATH_PIECE = re.compile(r"[\w.~%$()-]+")
_MAX_ATTACHED_CHARS = 200


class BareFormulas:
    """Rules for "_", "{" and a backslash before letters."""

    def __init__(self, reading: MarkupReader, directions: StageDirections) -> None:
        """Applies to the text of `reading`."""
        self._reading = reading
        self._directions = directions

    def in_path(self, following: str) -> bool:
        """Returns whether a backslash belongs to a Windows path.

        It follows a drive letter or a word, not a variable ("3x\\leq 5").
        """
        if not following.isalnum():
            return False
        return self._reading.previous in (":", "\\") or (
            self._reading.previous.isalpha() and self._reading.plain.tail[-2:].isalpha()
        )

    def path(self, text: str, pos: int) -> int:
        """Speaks all names of a path, even if they look like commands."""
        if text[pos] == "\\":
            self._reading.plain.add_text(" ")
            return pos + 1
        piece = _PATH_PIECE.match(text, pos)
        if piece is None:
            self._reading.mode = None
            return pos
        self._reading.plain.add_text(piece.group())
        return piece.end()

    def command(self, text: str, pos: int) -> int:
        """Handles a command outside "$" with its arguments."""
        limit = pos + _MAX_ATTACHED_CHARS
        attached = _ATTACHED.match(text, pos, limit)
        end = attached.end() if attached else pos + 1
        if _ATTACHED_PARTIAL.fullmatch(text, end, limit) and self._reading.needs_more(text, pos, _MAX_ATTACHED_CHARS):
            return WAIT
        apart = " " * (text[end : end + 1].isalnum() or text[end : end + 1] in ("(", "√"))
        self._reading.plain.add_text(" " + spoken_math(text[pos:end]) + apart)
        return end

    def sign(self, text: str, pos: int, sign: str) -> int:
        """Speaks `sign` for a command, and a number in braces after it: `\\leq {24}`."""
        value = _VALUE.match(text, pos)
        if value is None and _VALUE_PARTIAL.fullmatch(text, pos) and not self._reading.final:
            return WAIT
        self._reading.plain.add_text(f" {sign} {value.group(1)}" if value else f" {sign}")
        return value.end() if value else pos

    def underscore(self, text: str, pos: int) -> int:
        """Handles "_": an index outside "$" (`x_{1}`), a stage direction, or a plain character."""
        index = _INDEX.match(text, pos)
        if index:
            inner = index.group(1)
            self._reading.plain.add_text(spoken_subscript(inner) if inner.isdigit() else f" {inner} ")
            return index.end()
        if _INDEX_PARTIAL.fullmatch(text, pos) and not self._reading.final:
            return WAIT
        return self._directions.mark(text, pos)

    def brace(self, text: str, pos: int) -> int:
        """Handles a variable in braces, as in `{x}_{1}`."""
        group = _LONE_GROUP.match(text, pos)
        if group:
            self._reading.plain.add_text(group.group(1))
            return group.end()
        if _LONE_GROUP_PARTIAL.fullmatch(text, pos) and not self._reading.final:
            return WAIT
        return self._reading.literal(text, pos)
