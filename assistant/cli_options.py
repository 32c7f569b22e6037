"""Options that several commands have."""

from pathlib import Path
from typing import Annotated

import typer

Config = Annotated[
    Path | None,
    typer.Option("--config", metavar="FILE", help="Settings to use in place of ./config.toml."),
]
Llm = Annotated[
    str | None,
    typer.Option(metavar="auto|skills|NAME", help="Who answers: the first server on localhost, none, an endpoint."),
]
Overrides = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="SECTION.KEY=VALUE", help="One setting, over file and environment; may be repeated."),
]
