"""The commands `repartee service ...`: install, status, start, stop, log, remove."""

import os
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from assistant.commands.options import Config, Llm, Overrides
from assistant.config.errors import ConfigError
from assistant.support.console import terminal, write_error

if TYPE_CHECKING:
    from assistant.commands.service.command import Service

service = typer.Typer(no_args_is_help=True, help="Run the server in the background, from login on (systemd).")

Talk = Annotated[bool, typer.Option("--talk", help="The service that runs `repartee talk` instead of the server.")]


@service.command()
def install(  # noqa: PLR0917 - each is an option of the command
    talk: Talk = False,
    host: Annotated[str | None, typer.Option(metavar="H", help="Short for --set server.host=H.")] = None,
    port: Annotated[str | None, typer.Option(metavar="P", help="Short for --set server.port=P.")] = None,
    show: Annotated[bool, typer.Option("--print", help="Print the file and the commands; change nothing.")] = False,
    llm: Llm = None,
    config: Config = None,
    overrides: Overrides = None,
) -> None:
    """Install the service and start it, now and at each login. Again: with other options."""
    from assistant.commands.service.command import absolute

    if talk and (host or port):
        raise ConfigError(["--talk: leave out --host and --port; they are the server's"])
    given = {"config": str(absolute(config)) if config else None, "host": host, "port": port, "llm": llm}
    options = [f"--{name}={value}" for name, value in given.items() if value is not None]
    options += [f"--set={setting}" for setting in overrides or ()]
    with _opened(talk, options) as service:
        if show:
            service.show_plan()
        else:
            service.install()


@service.command()
def status(talk: Talk = False) -> None:
    """Say whether it runs, since when, its address and its log. Exit status 1: it does not run."""
    with _opened(talk) as service:
        running = service.status()
    sys.exit(0 if running else 1)


@service.command()
def start(talk: Talk = False) -> None:
    """Start it, again if it runs already."""
    with _opened(talk) as service:
        service.start()


@service.command()
def stop(talk: Talk = False) -> None:
    """Stop it until the next login."""
    with _opened(talk) as service:
        service.stop()


@service.command()
def log(talk: Talk = False) -> None:
    """Print the last lines of its output."""
    with _opened(talk) as service:
        service.log()


@service.command()
def remove(talk: Talk = False) -> None:
    """Stop it and remove it. The file with the keys stays."""
    with _opened(talk) as service:
        service.remove()


@contextmanager
def _opened(talk: bool, options: Sequence[str] = ()) -> "Generator[Service]":
    """Gives the service. Ends the program with the text of a ServiceError."""
    from assistant.commands.service.command import Service, Wish
    from assistant.commands.service.unit import ServiceError

    try:
        yield Service(Wish(talk, tuple(options)), os.environ, terminal())
    except ServiceError as error:
        write_error(str(error))
        raise typer.Exit(2) from error
