"""Terminal output in which no external text can control the terminal.

File names, endpoint and model names, server errors and traces may contain escape sequences, bidirectional controls and
invisible characters. These are replaced in everything that a command writes: `terminal()` makes the consoles, and
`guarded()` wraps standard output and standard error.
"""

import os
import re
import sys
import unicodedata
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from typing import IO, Any, TextIO, cast

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

REPLACED = "\ufffd"

_REPLACED_KINDS = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Unicode categories: 7- and 8-bit controls, format characters (also directional and zero-width), surrogates, line and
paragraph separators."""
_JOINERS = "\u200c\u200d"
"""Persian, Indian scripts and emoji need the joiners. After ASCII they are only invisible."""

_LABEL = re.compile(r" *(\S.{,20}?  +(?=\S))?")
"""Blanks, and a label with at least two blanks after it: the other lines of a paragraph begin below its text."""


_WORD = re.compile(" *[^ ]+ *")


def safe(text: str) -> str:
    """Replaces characters that control a terminal or are invisible. Keeps line breaks and tabs."""
    if text.isprintable() or text.replace("\n", "").replace("\t", "").isprintable():
        return text
    return "".join(
        REPLACED if _is_unsafe(char, before) else char for before, char in zip(" " + text, text, strict=False)
    )


def _is_unsafe(char: str, before: str) -> bool:
    if char in "\n\t" or char.isprintable():
        return False
    if char in _JOINERS:
        return before.isascii()
    return unicodedata.category(char) in _REPLACED_KINDS


def wrapped_for(stream: TextIO, line: str) -> str:
    """Returns a line as it is written to this stream: broken between words for a terminal, else whole."""
    try:
        columns = os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError, AttributeError):  # no terminal
        return line
    blank = line[len(line.rstrip(" ")) :]  # of a prompt
    return wrapped(Text(line), columns).plain.rstrip(" ") + blank if columns > 0 else line


def wrapped(text: Text, columns: int) -> Text:
    """Returns the text with lines of at most `columns`, broken between words. A longer word, as a path, stays whole."""
    return Text("\n").join(piece for line in text.split("\n", allow_blank=True) for piece in _pieces(line, columns))


def _pieces(line: Text, columns: int) -> Iterable[Text]:
    if line.cell_len <= columns:
        return [line]
    match = _LABEL.match(line.plain)
    indent = 0 if match is None else match.end()
    if indent > columns // 2:
        indent = 0
    offsets, column = [], indent
    for word in _WORD.finditer(line.plain, indent):
        if column > indent and column + cell_len(word[0].rstrip(" ")) > columns:
            offsets.append(word.start())
            column = indent
        column += cell_len(word[0])
    first, *others = line.divide(offsets)
    pieces = [first, *(Text.assemble(" " * indent, piece) for piece in others)]
    for piece in pieces:
        piece.rstrip()
    return pieces


def safe_json(text: str) -> str:
    """Returns equivalent JSON in which the characters that `safe` replaces are JSON escapes."""
    if safe(text) == text:
        return text
    return "".join(char if safe(char) == char else f"\\u{ord(char):04x}" for char in text)


def write_json(text: str) -> None:
    """Writes JSON to standard output, with a newline at the end."""
    sys.stdout.write(safe_json(text) + ("" if text.endswith("\n") else "\n"))


class _SafeConsole(Console):
    """A console on which only its own styles control the terminal."""

    @property
    def file(self) -> IO[str]:
        """The stream behind all wrappers. While `Live` redirects it, standard output is wrapped twice."""
        file = super().file
        while (inner := getattr(file, "rich_proxied_file", None)) is not None:
            file = inner
        return file

    @file.setter
    def file(self, file: IO[str]) -> None:
        self._file = file

    def print(self, *objects: Any, soft_wrap: bool | None = None, **options: Any) -> None:
        """Prints as rich does. A terminal gets lines that `soft_wrap` leaves whole broken between words."""
        if soft_wrap and self.is_terminal and all(isinstance(part, str | Text) for part in objects):
            texts = [part if isinstance(part, Text) else Text(part) for part in objects]
            objects = (wrapped(Text(options.pop("sep", " ")).join(texts), self.width),)
        super().print(*objects, soft_wrap=soft_wrap, **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Renders with safe texts. Control segments come from rich itself and stay unchanged."""
        for segment in super().render(renderable, options):
            text = segment.text if segment.control else safe(segment.text)
            yield segment if text is segment.text else Segment(text, segment.style)


def terminal(*, stderr: bool = False, width: int | None = None, file: TextIO | None = None) -> Console:
    """Returns a console that prints text literally, without rich's markup and emoji codes.

    Characters that would control the terminal are replaced. `file`: written to instead of standard output.
    """
    return _SafeConsole(highlight=False, markup=False, emoji=False, stderr=stderr, width=width, file=file)


def write_error(text: str) -> None:
    """Writes "repartee: text" to standard error. A terminal gets it broken between words."""
    sys.stderr.write(wrapped_for(sys.stderr, f"repartee: {text}") + "\n")


class _SafeStream:
    """A standard stream that writes only safe text."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.rich_proxied_file = stream
        """Rich's consoles write to this instead: their escape sequences are intended, and their texts are already
        safe."""

    def leading_to(self, stream: TextIO) -> "_SafeStream":
        """Returns such a stream in front of another one."""
        return _SafeStream(stream)

    def write(self, text: str) -> int:
        return self._stream.write(safe(text))

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def guarded() -> Generator[None]:
    """Makes everything written to standard output and standard error safe while the context is active."""
    before = sys.stdout, sys.stderr
    # A stream is None where there is no console.
    sys.stdout, sys.stderr = (None if stream is None else cast("TextIO", _SafeStream(stream)) for stream in before)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before
