"""Options that several commands share, and loading of the settings."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assistant.config.errors import ConfigError
from assistant.support.paths import HomeError, at_home
from audio.private_file import open_private

if TYPE_CHECKING:
    from assistant.config.loading import Loaded
    from assistant.config.sources import Option


def with_home(text: str | Path) -> Path:
    """Expands ~ in a path; the shell does not do it in `--out=~/demo`. Raises typer.BadParameter."""
    if not str(text):
        raise typer.BadParameter("a path is missing")  # an empty path would mean the current folder
    try:
        return at_home(str(text))
    except HomeError as error:
        raise typer.BadParameter(str(error)) from error


def write_new_file(file: Path, text: str, *, option: str = "") -> None:
    """Writes text to a file that does not exist yet. Raises ConfigError; `option`: how the user named the file."""
    named = f"{option} {file}".strip()
    try:
        with open(open_private(file, os.O_WRONLY | os.O_EXCL), "w", encoding="utf-8", errors="replace") as opened:  # noqa: PTH123
            opened.write(text)
    except FileExistsError as error:
        raise ConfigError([f"{named}: the file exists; name a new one"]) from error
    except OSError as error:
        raise ConfigError([f"{named}: it cannot be written ({error.strerror})"]) from error


def settings_of(config: Path | None, overrides: Sequence[str] | None, options: "Sequence[Option]" = ()) -> "Loaded":
    """Loads the settings of a command. Raises ConfigError."""
    from assistant.config.loading import load_settings  # noqa: PLC0415 - --help needs no settings

    loaded = load_settings(config, os.environ, overrides or [], options)
    _check_models(loaded)
    return loaded


def _check_models(loaded: "Loaded") -> None:
    """Refuses names of models that do not exist. Raises ConfigError."""
    from assistant.models.needs import unknown_models  # noqa: PLC0415 - as above

    settings = loaded.settings
    if problems := unknown_models(settings.stt.model, settings.llm.local_model, settings.tts.voice):
        raise ConfigError([f"{loaded.origin[key]}: {problem}" for key, problem in problems.items()])


Config = Annotated[
    Path | None,
    typer.Option(
        "--config",
        parser=with_home,
        metavar="FILE",
        help="Configuration file instead of your own.",
    ),
]
Llm = Annotated[
    str | None,
    typer.Option(
        metavar="auto|local|skills|NAME",
        help="Language model: auto (on localhost), local (run by this program), skills (none), or an endpoint.",
    ),
]
Overrides = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="SECTION.KEY=VALUE", help="A setting that overrides file and environment; may be repeated."
    ),
]
