"""Code and tables of a reply for the terminal: the voice only says that they are there. Pure.

A reply that is not spoken is shown without its markup, with its code, tables and links below it.

The text may contain anything; each line is safe for a terminal and keeps its spaces.
"""

import re
from dataclasses import dataclass, field

from rich.cells import cell_len

from assistant.commands.talk.text import printable
from assistant.text.markup.notes import BlockNotes
from assistant.text.speakable import Speakable

MAX_BLOCKS = 8
"""Blocks of one reply that are shown."""
MAX_LINES = 60
"""Lines of one block that are shown."""
MAX_CHARS = 200_000
MAX_CELLS = 72
"""Width of a table; a wider one is shown as lists."""

_FENCE = re.compile(r" {0,12}(`{3,}|~{3,})[ \t]*([^`\n]*)")
_ROW = re.compile(r"[ \t]*\|.*")
_DELIMITER = re.compile(r"[ \t]*\|[ \t]*:?-+:?[ \t]*(\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*")
_ADDRESS = re.compile(r"https?://[^\s<>\"'`\[\]]+")
_CELL_END = re.compile(r"(?<!\\)\|")


@dataclass(frozen=True, slots=True)
class ShownBlock:
    """A block as lines; `title` says what it is."""

    title: str
    lines: tuple[str, ...]


@dataclass(slots=True)
class ReplyBlocks:
    """Collects the text of one reply as the model wrote it, and finds its code and tables."""

    _pieces: list[str] = field(default_factory=list)
    _chars: int = 0

    def add_text(self, text: str) -> None:
        """Adds a piece of the text."""
        if self._chars < MAX_CHARS:
            self._pieces.append(text)
            self._chars += len(text)

    def blocks(self, *, links: bool = False) -> tuple[ShownBlock, ...]:
        """Returns the blocks so far, in order. Code that is not complete is one too.

        `links`: whether the web addresses outside the blocks follow as one more block.
        """
        lines = "".join(self._pieces).split("\n")
        blocks: list[ShownBlock] = []
        addresses: dict[str, None] = {}  # in order, each once
        position = 0
        while position < len(lines) and len(blocks) < MAX_BLOCKS:
            fence = _FENCE.fullmatch(lines[position].rstrip())
            if fence is not None:
                end = _code_end(lines, position + 1, fence[1])
                blocks.append(ShownBlock(_title("code", fence[2]), _shown(lines[position + 1 : end])))
                position = end + 1
            elif (
                position + 1 < len(lines)
                and _ROW.fullmatch(lines[position])
                and _DELIMITER.fullmatch(lines[position + 1].rstrip())
            ):
                end = position + 2
                while end < len(lines) and _ROW.fullmatch(lines[end]):
                    end += 1
                blocks.append(
                    ShownBlock(
                        "table", _shown(_table([_cells(lines[position]), *map(_cells, lines[position + 2 : end])]))
                    )
                )
                position = end
            else:
                addresses |= dict.fromkeys(map(_address, _ADDRESS.findall(lines[position])))
                position += 1
        if links and addresses:
            blocks.append(ShownBlock("links", _shown(list(addresses))))
        return tuple(blocks)


class ReadableText:
    """Removes markup, code and tables from the text of a reply that is not spoken, as it arrives."""

    def __init__(self) -> None:
        """Starts a text."""
        self._speakable = _speakable()

    def add_text(self, text: str) -> str:
        """Adds a piece of the text; returns what can be shown."""
        return self._speakable.feed(text)

    def finish(self) -> str:
        """Returns the rest of the text, and starts another."""
        rest, self._speakable = self._speakable.finish(), _speakable()
        return rest


def _speakable() -> Speakable:
    """Returns a converter that replaces code and tables by nothing."""
    return Speakable(BlockNotes("", table=" ", table_of=" "))


def _address(link: str) -> str:
    """Returns a web address without the punctuation of its sentence or of its Markdown."""
    address = link.rstrip(".,;:!?*_")
    while address.endswith(")") and address.count(")") > address.count("("):
        address = address[:-1].rstrip(".,;:!?*_")
    return address


def _code_end(lines: list[str], start: int, marks: str) -> int:
    """Returns the line that closes the code."""
    closing = re.compile(rf" {{0,12}}{re.escape(marks[0])}{{{len(marks)},}}[ \t]*")
    return next((index for index in range(start, len(lines)) if closing.fullmatch(lines[index])), len(lines))


def _title(kind: str, info: str) -> str:
    name = printable(info, max_chars=30)
    return f"{kind} ({name})" if name else kind


def _cells(line: str) -> list[str]:
    inner = line.strip().removeprefix("|")
    cells = [printable(cell.replace("\\|", "|").replace("**", "").replace("`", "")) for cell in _CELL_END.split(inner)]
    return cells[:-1] if len(cells) > 1 and not cells[-1] else cells


def _table(rows: list[list[str]]) -> list[str]:
    """Returns the lines of a table: columns side by side, or one list for each row if they are too wide."""
    columns = max(map(len, rows))
    rows = [[*row, *[""] * (columns - len(row))] for row in rows[: MAX_LINES + 1]]
    widths = [max(cell_len(row[index]) for row in rows) for index in range(columns)]
    if sum(widths) + 2 * (columns - 1) <= MAX_CELLS:
        lines = [
            "  ".join(cell + " " * (widths[index] - cell_len(cell)) for index, cell in enumerate(row)) for row in rows
        ]
        return [lines[0], "  ".join("─" * width for width in widths), *lines[1:]]
    head = rows[0]
    return [
        f"{name}: {cell}" if name else cell for row in rows[1:] for name, cell in zip(head, row, strict=True) if cell
    ]


def _shown(lines: list[str]) -> tuple[str, ...]:
    """Returns the lines as they are safe for a terminal, with their spaces."""
    kept = [_safe(line.expandtabs(4)).rstrip() for line in lines[:MAX_LINES]]
    more = len(lines) - len(kept)
    return (*kept, f"… {more} more lines") if more else tuple(kept)


def _safe(line: str) -> str:
    parts = re.split("( +)", line[:1000])
    return "".join(part if part.isspace() else printable(part) for part in parts)
