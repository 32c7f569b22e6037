"""Options that several commands have."""

from pathlib import Path
from typing import Annotated

import typer

from assistant.home import HomeError, at_home


def with_home(text: str | Path) -> Path:
    """A path as a person writes it: the shell leaves the ~ of `--out=~/demo` as it is. Raises typer.BadParameter."""
    if not str(text):
        raise typer.BadParameter("a path is missing")  # an empty one would be this folder
    try:
        return at_home(str(text))
    except HomeError as error:
        raise typer.BadParameter(str(error)) from error


Config = Annotated[
    Path | None,
    typer.Option("--config", parser=with_home, metavar="FILE", help="Settings to use in place of ./config.toml."),
]
Llm = Annotated[
    str | None,
    typer.Option(metavar="auto|skills|NAME", help="Who answers: the first server on localhost, none, an endpoint."),
]
Overrides = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="SECTION.KEY=VALUE", help="One setting, over file and environment; may be repeated."),
]
