"""Points new users to `repartee init`, in one line."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from assistant.config.files import config_files
from assistant.support.paths import HomeError

HINT = "no configuration of your own yet: `repartee init` asks four questions and writes it"


def show_hint(console: Console, config: Path | None, environ: Mapping[str, str], given: Sequence[object]) -> None:
    """Prints the line in a terminal, if there is no configuration and no option was given.

    Args:
        console: Where it is printed.
        config: The file that was named, if any.
        environ: Environment variables, of which one may name a file.
        given: Values of the command's options; None or empty: not given.
    """
    if not console.is_terminal or any(given):
        return
    try:
        files = config_files(config, environ)
    except HomeError:
        return
    if files.own is not None and files.to_read is None:
        console.print(Text(HINT, style="dim"), soft_wrap=True)
