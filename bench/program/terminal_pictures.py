"""Draws the terminal of `make run`, `repartee init` and `repartee doctor`, as an emulator shows the real programs.

    python -m bench.program.terminal_pictures [demo init doctor] [--to docs]

The programs use a folder without configuration, and the models that are installed. Microphone and loudspeaker are
replaced, so that the pictures do not depend on those of the machine. Take them on a machine that does nothing else.
"""

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from rich.console import Console
from rich.style import Style
from rich.text import Text

sys.path.append(str(Path(__file__).parents[2] / "tests"))

from support.programs.screen_programs import with_cards
from support.programs.terminal import Terminal

# rich's own frame without its web font: a picture in a repository must not fetch anything.
FRAME = """<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace;
  font-size: {char_height}px; line-height: {line_height}px; font-variant-east-asian: full-width; }}
{styles}
</style>
<defs><clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" /></clipPath>{lines}</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}<g class="{unique_id}-matrix">{matrix}</g></g>
</svg>
"""

COLUMNS = 100
ROWS = 120
"""Rows of the terminal; the picture ends with the last line that is written."""

FILES = {"demo": "terminal.svg", "init": "init.svg", "doctor": "doctor.svg"}
TITLES = {"demo": "make run", "init": "repartee init", "doctor": "repartee doctor"}

_ANSWERS = (
    ("Language [", b"\n"),
    ("Voice [", b"\n"),
    ("Press Enter", b"\n"),
    ("Who answers [", b"\n"),
    ("[y/N]", b"y\n"),
)


def _answer(terminal: Terminal) -> None:
    for question, keys in _ANSWERS:
        terminal.until_shown(question)
        terminal.press(keys)


def _wait(_terminal: Terminal) -> None:
    """Types nothing: the program ends by itself."""


def picture(arguments: Sequence[str], use: Callable[[Terminal], None]) -> str:
    """Runs the program to its end and returns its screen as SVG."""
    place = Path(tempfile.gettempdir(), "me")  # its path is in the picture
    place.mkdir()
    try:
        environ = {**os.environ, "XDG_CONFIG_HOME": str(place / ".config")}
        terminal = Terminal(arguments, environ, place, columns=COLUMNS, rows=ROWS, prepare=with_cards)
        try:
            use(terminal)
            terminal.end(120)
            text = _text(terminal)
        finally:
            terminal.close()
    finally:
        shutil.rmtree(place)
    console = Console(record=True, width=COLUMNS, highlight=False, file=open(os.devnull, "w"), color_system="truecolor")  # noqa: PTH123, SIM115
    console.print(text, soft_wrap=True)
    return console.export_svg(title=TITLES[arguments[0]], code_format=FRAME)


def _text(terminal: Terminal) -> Text:
    """Returns the lines with their colours."""
    lines = []
    for row in terminal.cells()[: len(terminal.lines())]:
        line = Text()
        for cell in row:
            style = Style(color=_colour(cell.fg), bgcolor=_colour(cell.bg), bold=cell.bold, italic=cell.italics)
            line.append(cell.data, style)
        line.rstrip()
        lines.append(line)
    return Text("\n").join(lines)


def _colour(name: str) -> str | None:
    """Returns rich's name of a colour of the emulator."""
    if name == "default":
        return None
    name = {"brown": "yellow"}.get(name, name)
    if name.startswith("bright"):
        return f"bright_{name.removeprefix('bright').replace('brown', 'yellow')}"
    return (
        name
        if name.isalpha() and name in {"black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"}
        else f"#{name}"
    )


def main() -> None:
    """Draws the pictures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=list(FILES), help="which of demo, init, doctor")
    parser.add_argument("--to", type=Path, default=Path("docs"))
    options = parser.parse_args()
    for name in options.names:
        svg = picture([name], _answer if name == "init" else _wait)
        (options.to / FILES[name]).write_text(svg, encoding="utf-8")


if __name__ == "__main__":
    main()
