"""Terminal output in which no external text can control the terminal.

File names, endpoint and model names, server errors and traces may contain escape sequences, bidirectional controls and
invisible characters. These are replaced in everything that a command writes: `terminal()` makes the consoles, and
`guarded()` wraps standard output and standard error.
"""

import sys
import unicodedata
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from typing import IO, Any, TextIO, cast

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

REPLACED = "\ufffd"

_REPLACED_KINDS = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Unicode categories: 7- and 8-bit controls, format characters (also directional and zero-width), surrogates, line and
paragraph separators."""
_JOINERS = "\u200c\u200d"
"""Persian, Indian scripts and emoji need the joiners. After ASCII they are only invisible."""


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


class _SafeStream:
    """A standard stream that writes only safe text."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.rich_proxied_file = stream
        """Rich's consoles write to this instead: their escape sequences are intended, and their texts are already
        safe."""

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
    sys.stdout, sys.stderr = (None if one is None else cast("TextIO", _SafeStream(one)) for one in before)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before
