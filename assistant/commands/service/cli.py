"""The commands `repartee service ...`: install, status, start, stop, log, remove."""

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from assistant.commands.options import Config, Llm, Overrides
from assistant.config.errors import ConfigError
from assistant.support.console import terminal, write_error

if TYPE_CHECKING:
    from assistant.commands.service.command import Service, Wish

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
    from assistant.commands.service.command import Wish, absolute

    if talk and (host or port):
        raise ConfigError(["--talk: leave out --host and --port; they are the server's"])
    given = {"config": str(absolute(config)) if config else None, "host": host, "port": port, "llm": llm}
    options = [f"--{name}={value}" for name, value in given.items() if value is not None]
    options += [f"--set={setting}" for setting in overrides or ()]
    with _opened(Wish(talk, tuple(options))) as one:
        if show:
            one.show_plan()
        else:
            one.install()


@service.command()
def status(talk: Talk = False) -> None:
    """Say whether it runs, since when, its address and its log. Exit status 1: it does not run."""
    from assistant.commands.service.command import Wish

    with _opened(Wish(talk)) as one:
        running = one.status()
    sys.exit(0 if running else 1)


@service.command()
def start(talk: Talk = False) -> None:
    """Start it, again if it runs already."""
    from assistant.commands.service.command import Wish

    with _opened(Wish(talk)) as one:
        one.start()


@service.command()
def stop(talk: Talk = False) -> None:
    """Stop it until the next login."""
    from assistant.commands.service.command import Wish

    with _opened(Wish(talk)) as one:
        one.stop()


@service.command()
def log(talk: Talk = False) -> None:
    """Print the last lines of its output."""
    from assistant.commands.service.command import Wish

    with _opened(Wish(talk)) as one:
        one.log()


@service.command()
def remove(talk: Talk = False) -> None:
    """Stop it and remove it. The file with the keys stays."""
    from assistant.commands.service.command import Wish

    with _opened(Wish(talk)) as one:
        one.remove()


@contextmanager
def _opened(wish: "Wish") -> "Generator[Service]":
    from assistant.commands.service.command import Service

    with _service_errors():
        yield Service(wish, os.environ, terminal())


@contextmanager
def _service_errors() -> Generator[None]:
    """Ends the program with the text of a ServiceError."""
    from assistant.commands.service.unit import ServiceError

    try:
        yield
    except ServiceError as error:
        write_error(str(error))
        raise typer.Exit(2) from error
