"""Divides long text of a model into pieces, so that no piece keeps the event loop for more than a few milliseconds.

A service may send its whole answer at once, and 1,000 characters of marks take filter and chunker up to 20 ms.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from llm.chat import Token

PIECE_CHARS = 256
"""Length of a piece; a token has about four characters."""


@dataclass(frozen=True, slots=True)
class MoreText:
    """A piece of a long text was processed. Other tasks of the event loop run before the next one."""


def pieces_of(text: str) -> Iterator[str]:
    """Yields the pieces of a text."""
    for at in range(0, len(text), PIECE_CHARS):
        yield text[at : at + PIECE_CHARS]


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
