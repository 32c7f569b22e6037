"""The terminal that commands write to: nothing that comes from outside may control it.

Names of files, endpoints and models, a server's refusals and the content of traces may hold escape sequences, marks
that turn the direction of the line around, and characters that nobody sees. They are replaced here, in everything that
any command writes: `terminal()` gives the consoles, and `guarded()` stands before standard output and standard error.
"""

import sys
import unicodedata
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from typing import Any, TextIO, cast

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

REPLACED = "\ufffd"

_REPLACED_KINDS = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Categories of Unicode: controls of 7 and 8 bits, format characters (also of direction and of no width), halves of
characters, separators of lines and paragraphs."""
_JOINERS = "\u200c\u200d"
"""Persian, the scripts of India and emoji need them; behind anything of ASCII they only hide."""


def safe(text: str) -> str:
    """The text with every character replaced that a terminal would obey or nobody would see; lines and tabs stay."""
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
    """JSON that means the same, with the characters that `safe` replaces written as JSON escapes."""
    if safe(text) == text:
        return text
    return "".join(char if safe(char) == char else f"\\u{ord(char):04x}" for char in text)


def write_json(text: str) -> None:
    """Write JSON to standard output, and an end of line where it has none."""
    sys.stdout.write(safe_json(text) + ("" if text.endswith("\n") else "\n"))


class _SafeConsole(Console):
    """A console on which only its own styles control the terminal."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """As the base, with safe texts. What rich itself tells the terminal is marked as such, and stays."""
        for segment in super().render(renderable, options):
            text = segment.text if segment.control else safe(segment.text)
            yield segment if text is segment.text else Segment(text, segment.style)


def terminal(*, stderr: bool = False, width: int | None = None, file: TextIO | None = None) -> Console:
    """Text stands on it as it is: what rich would take for markup or an emoji is a path, a name or somebody's words.

    Characters that would control the terminal are replaced. `file`: in place of standard output.
    """
    return _SafeConsole(highlight=False, markup=False, emoji=False, stderr=stderr, width=width, file=file)


class _SafeStream:
    """A standard stream that writes safe texts only."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.rich_proxied_file = stream
        """What rich's consoles write to instead: their escape sequences are their own, and their texts safe already."""

    def write(self, text: str) -> int:
        return self._stream.write(safe(text))

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def guarded() -> Generator[None]:
    """While it lasts, whatever is written to standard output and standard error is safe."""
    before = sys.stdout, sys.stderr
    # None where there is no console.
    sys.stdout, sys.stderr = (None if one is None else cast("TextIO", _SafeStream(one)) for one in before)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before
