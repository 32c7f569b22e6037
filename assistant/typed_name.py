"""What is typed for `repartee` where that is no command of the terminal: remedies name it, and are copied."""

import os
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

_NAMED = re.compile(r"\brepartee [a-z]")
"""A command as the texts of this program write it; not its label on the screen, nor its name before an error."""


@contextmanager
def told_once(argv: Sequence[str]) -> Generator[None]:
    """Behind all that is printed while it runs, one line to a person whose terminal does not know what was named."""
    line = how_it_is_typed(argv)
    if not line or sys.stdout is None or sys.stderr is None or not sys.stderr.isatty():
        yield
        return
    named: list[bool] = []
    try:
        with _watched(sys.stdout, named), _watched(sys.stderr, named):
            yield
    finally:
        if named:
            sys.stderr.write(f"repartee: {line}\n")


def how_it_is_typed(argv: Sequence[str]) -> str:
    """As in "type .venv/bin/repartee for `repartee`, ..."; empty where it is a command."""
    if shutil.which("repartee") is not None:
        return ""
    activate = os.path.join(os.path.dirname(argv[0]), "activate")  # noqa: PTH118, PTH120 - a Path drops the ./
    first = f", or first, once in each terminal: . {shlex.quote(activate)}" if Path(activate).is_file() else ""
    return f"type {shlex.quote(argv[0])} for `repartee`{first}"


@contextmanager
def _watched(stream: TextIO, named: list[bool]) -> Generator[None]:
    """Notes in `named` that a command was written, by whatever prints."""
    write: Callable[[str], int] = stream.write

    def noting(text: str) -> int:
        if not named and _NAMED.search(text):
            named.append(True)
        return write(text)

    stream.write = noting  # type: ignore[method-assign]
    try:
        yield
    finally:
        stream.write = write  # type: ignore[method-assign]
