"""Divides long text of a model into pieces, so that no piece keeps the event loop for more than a few milliseconds.

A service may send its whole answer at once, and 1,000 characters of marks take filter and chunker up to 20 ms.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from llm.chat import Token

PIECE_CHARS = 256
"""Length of a piece; a token has about four characters."""


_SURROGATE = re.compile("[\ud800-\udfff]")


class Surrogates:
    """Holds back the first half of a surrogate pair, `\\ud83d`, until the second half arrives in the next token."""

    def __init__(self) -> None:
        self._half = ""

    def feed(self, text: str) -> str:
        """Returns the complete characters so far; a half without its counterpart becomes U+FFFD."""
        text, self._half = self._half + text, ""
        if text.isascii() or not _SURROGATE.search(text):
            return text
        if "\ud800" <= text[-1] <= "\udbff":
            text, self._half = text[:-1], text[-1]
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


@dataclass(frozen=True, slots=True)
class MoreText:
    """A piece of a long text was processed. Other tasks of the event loop run before the next one."""


def pieces_of(text: str) -> Iterator[str]:
    """Yields the pieces of a text."""
    for start in range(0, len(text), PIECE_CHARS):
        yield text[start : start + PIECE_CHARS]


def pause_after(piece: str) -> Iterator[MoreText]:
    """Yields `MoreText` if the piece may have a next one."""
    if len(piece) == PIECE_CHARS:
        yield MoreText()


def tokens_of(text: str, probability: float | None = None) -> Iterator[Token | MoreText]:
    """Yields a text as tokens, with `MoreText` between them. `probability`: that of each of them."""
    for number, piece in enumerate(pieces_of(text)):
        if number:
            yield MoreText()
        yield Token(piece, probability=probability)
