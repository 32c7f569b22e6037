"""The command `repartee init`."""

import os
from typing import Annotated

import typer

from assistant.commands.options import Config
from assistant.support.console import terminal


def init(  # noqa: PLR0917 - each is an option of the command
    language: Annotated[
        str | None, typer.Option(metavar="CODE", help="Language of the conversation, as in de or German.")
    ] = None,
    voice: Annotated[str | None, typer.Option(metavar="NAME", help="An installed voice.")] = None,
    llm: Annotated[
        str | None, typer.Option(metavar="auto|local|skills|URL|NAME", help="Who answers; NAME: a server or a cloud.")
    ] = None,
    model: Annotated[str | None, typer.Option(metavar="MODEL", help="Its model; default: the first it lists.")] = None,
    api_key_env: Annotated[
        str | None, typer.Option(metavar="VARIABLE", help="Environment variable that holds its key.")
    ] = None,
    remember: Annotated[
        bool | None, typer.Option("--remember/--no-remember", help="Whether `talk` keeps conversations.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Ask nothing: take what is found.")] = False,
    config: Config = None,
) -> None:
    """Set up: choose language and voice, check the microphone, choose who answers. Writes your configuration."""
    from assistant.commands.first_run.options import InitOptions
    from assistant.commands.init import init as run_init

    run_init(InitOptions(language, voice, llm, model, api_key_env, remember, yes), config, os.environ, terminal())
