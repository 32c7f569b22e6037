"""Splits a document into parts: at headings where possible, else between paragraphs, sentences or words. No I/O."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from assistant.documents import Document, Part

MIN_SHARE = 0.5
"""A heading begins a new part if the part before it has this share of the bound: short sections are asked together."""

MAX_HEADING_CHARS = 80
"""Longest heading that is told, in characters."""

_HEADING = re.compile(r" {0,3}#{1,6}(?:[ \t]+(?P<title>.*?)(?:[ \t]+#+)?)?[ \t]*$")
_UNDERLINE = re.compile(r" {0,3}(?:=+|-{2,})[ \t]*$")
_FENCE = re.compile(r" {0,3}(```|~~~)")
_SENTENCE_END = re.compile(r"(?<=[.!?…])[\"'”’»)\]]*\s+|(?<=[。！？])")


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph, a block of code, or a heading.

    Attributes:
        heading: The title, if it is a heading; "" else.
    """

    text: str
    heading: str = ""


def split(documents: Sequence[Document], max_chars: int) -> tuple[Part, ...]:
    """Returns the parts of all documents in order, each with at most `max_chars` characters.

    The parts of a document contain all its words, in order. Raises ValueError if `max_chars` is below 1.
    """
    if max_chars < 1:
        raise ValueError(f"a part must have at least 1 character, not {max_chars}")
    parts: list[Part] = []
    for index, document in enumerate(documents):
        pieces = _packed(list(_fitting(blocks_of(document.text, markdown=document.is_markdown), max_chars)), max_chars)
        parts += [
            Part(index, document.name, number, len(pieces), heading, text)
            for number, (heading, text) in enumerate(pieces, 1)
        ]
    return tuple(parts)


def blocks_of(text: str, *, markdown: bool) -> Iterator[Block]:
    """Yields the paragraphs of a text; of markdown also its headings, and each block of code as a whole."""
    lines: list[str] = []
    fence = ""
    for line in text.splitlines():
        mark = _FENCE.match(line) if markdown else None
        if mark is not None and fence in {"", mark[1]}:
            fence = "" if fence else mark[1]
        elif not fence and not line.strip():
            yield from _paragraph(lines)
            lines = []
            continue
        elif markdown and not fence and (title := _title(line, lines)) is not None:
            underlined = _HEADING.match(line) is None
            yield from _paragraph([] if underlined else lines)
            yield Block("\n".join([*(lines if underlined else ()), line]), _shown(title))
            lines = []
            continue
        lines.append(line)
    yield from _paragraph(lines)


def _paragraph(lines: Sequence[str]) -> Iterator[Block]:
    if text := "\n".join(lines).strip():
        yield Block(text)


def _title(line: str, before: Sequence[str]) -> str | None:
    """Returns the title if this line is a heading, or underlines the only line before it; else None."""
    if match := _HEADING.match(line):
        return match["title"] or ""
    return before[0].strip() if len(before) == 1 and _UNDERLINE.match(line) else None


def _shown(title: str) -> str:
    """Returns a heading as one short line without markup."""
    plain = " ".join(re.sub(r"[`*_]|\]\([^)]*\)|\[", "", title).split())
    return plain if len(plain) <= MAX_HEADING_CHARS else plain[: MAX_HEADING_CHARS - 1].rstrip() + "…"


def _fitting(blocks: Iterator[Block], max_chars: int) -> Iterator[Block]:
    """Yields the blocks. A block that is too long comes in pieces."""
    for block in blocks:
        if len(block.text) <= max_chars:
            yield block
        else:
            yield from (
                Block(piece, block.heading if not index else "")
                for index, piece in enumerate(_cut(block.text, max_chars))
            )


def _cut(text: str, max_chars: int) -> Iterator[str]:
    """Yields pieces of at most `max_chars`: whole sentences where they fit, else words, else characters."""
    piece = ""
    for sentence in _SENTENCE_END.sub(lambda end: f"{end[0]}\0", text).split("\0"):
        if len(piece) + len(sentence.rstrip()) <= max_chars:
            piece += sentence
            continue
        if piece.strip():
            yield piece.strip()
        piece = sentence
        while len(piece.rstrip()) > max_chars:
            space = max(piece.rfind(" ", 1, max_chars + 1), piece.rfind("\n", 1, max_chars + 1))
            end = space if space > 0 and piece[:space].strip() else max_chars
            yield piece[:end].strip()
            piece = piece[end:].lstrip()
    if piece.strip():
        yield piece.strip()


def _packed(blocks: Sequence[Block], max_chars: int) -> list[tuple[str, str]]:
    """Joins neighbouring blocks to parts; returns the heading and the text of each."""
    parts: list[list[Block]] = []
    chars = 0
    for block in blocks:
        added = len(block.text) + 2  # and the blank line between blocks
        full = chars + added > max_chars + 2
        if not parts or full or (block.heading and chars >= MIN_SHARE * max_chars):
            kept = _trailing_headings(parts[-1]) if parts and full and not block.heading else []
            if kept and sum(len(block.text) + 2 for block in kept) + added <= max_chars + 2:
                del parts[-1][-len(kept) :]  # a heading stays with the text under it
            else:
                kept = []
            parts.append(kept)
            chars = sum(len(block.text) + 2 for block in kept)
        parts[-1].append(block)
        chars += added
    return _with_headings([part for part in parts if part])


def _trailing_headings(part: Sequence[Block]) -> list[Block]:
    """Returns the headings at the end of a part, unless it consists of nothing else."""
    count = 0
    while count < len(part) and part[-1 - count].heading:
        count += 1
    return list(part[len(part) - count :]) if count < len(part) else []


def _with_headings(parts: Sequence[Sequence[Block]]) -> list[tuple[str, str]]:
    """Returns each part's first heading, if it begins with one, else the last heading before it; and its text."""
    told, heading = [], ""
    for part in parts:
        heading = part[0].heading or heading
        told.append((heading, "\n\n".join(block.text for block in part)))
        heading = next((block.heading for block in reversed(part) if block.heading), heading)
    return told
