"""Checks of every screen of the program, and the screens that are kept.

`RENEW_SCREENS=1 python -m pytest tests/assistant/screens` writes tests/golden/screens/ anew: look at the difference.
"""

import os
import re
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from support.programs.terminal import Terminal

KEPT = Path(__file__).parents[2] / "golden" / "screens"

LOOKS: dict[int, dict[str, str]] = {80: {}, 120: {"NO_COLOR": "1"}}
"""Environment by width: each is tested with one of both, colour or none."""

_MASKS = (
    (re.compile(r"\d\d:\d\d:\d\d"), "HH:MM:SS"),
    (re.compile(r"\d{8}-\d{6}-[0-9a-f]{8}"), "DATE-TIME-ID"),
    (re.compile(r"(?<=://127\.0\.0\.1:)\d{4,5}"), "PORT"),
    (re.compile(r"/tmp/[\w./-]+|/\w+(/[\w.-]+)+/config\.toml"), "PATH"),
    (re.compile(r"\b(It's )[a-z -]+ (AM|PM)\."), r"\1TIME."),
    (re.compile(r" *\d+ ms ([✓✗])[^\n]*"), r" N ms \1 BAR"),
    (re.compile(r"\d+(\.\d+)? (ms|s|MB/s|MB|GB)\b"), r"N \2"),
    (re.compile(r"p(50|95) N ms"), "pN N ms"),
    (re.compile(r"[─━]{4,}"), "────"),
)


def environ_of(folder: Path, look: dict[str, str]) -> dict[str, str]:
    """Returns the environment of a program with its own folders, on a terminal with this look."""
    folders = {name: str(folder / name.lower()) for name in ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME")}
    others = {name: value for name, value in os.environ.items() if not name.startswith("XDG_")}
    return others | {"HF_HUB_CACHE": str(folder)} | folders | look


@contextmanager
def in_terminal(
    arguments: Sequence[str | Path],
    columns: int,
    *,
    rows: int = 40,
    prepare: Callable[[], None] | None = None,
    **look: str,
) -> Generator[Terminal]:
    """Runs the program with its width's look, and more variables. The path of its folder always has the same length."""
    with TemporaryDirectory(dir="/tmp") as name:
        folder = Path(name)
        environ = environ_of(folder, LOOKS[columns] | look)
        terminal = Terminal(arguments, environ, folder, columns=columns, rows=rows, prepare=prepare)
        try:
            yield terminal
        finally:
            terminal.close()


def check_screen(terminal: Terminal) -> None:
    """Checks a screen on which the program still works."""
    faults = terminal.faults()
    assert not faults, faults
    if terminal.columns == 120:
        colours = terminal.colours()
        assert not colours, colours


def check_end(terminal: Terminal, kept: str = "") -> None:
    """Checks the screen at the end: the cursor is back, and the text is the one kept under this name."""
    check_screen(terminal)
    assert terminal.cursor_is_visible
    if not kept:
        return
    text = terminal.text()
    for pattern, replacement in _MASKS:
        text = pattern.sub(replacement, text)
    file = KEPT / f"{kept}-{terminal.columns}.txt"
    if "RENEW_SCREENS" in os.environ:
        KEPT.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{text}\n", encoding="utf-8")
    assert f"{text}\n" == file.read_text(encoding="utf-8"), (
        "if it is intended: RENEW_SCREENS=1 (tests/support/programs/screen_checks.py)"
    )
