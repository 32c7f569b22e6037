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
Satellite = Annotated[bool, typer.Option("--satellite", help="The service that runs a satellite of a server.")]


@service.command()
def install(  # noqa: PLR0917 - each is an option of the command
    talk: Talk = False,
    satellite: Satellite = False,
    server: Annotated[str | None, typer.Option(metavar="URL", help="With --satellite: its server.")] = None,
    room: Annotated[str | None, typer.Option(metavar="NAME", help="With --satellite: its room.")] = None,
    wake_word: Annotated[str | None, typer.Option(metavar="WORD", help="With --satellite: as in okay_nabu.")] = None,
    tls_fingerprint: Annotated[str | None, typer.Option(metavar="SHA256", help="As for `talk --server`.")] = None,
    host: Annotated[str | None, typer.Option(metavar="H", help="Short for --set server.host=H.")] = None,
    port: Annotated[str | None, typer.Option(metavar="P", help="Short for --set server.port=P.")] = None,
    show: Annotated[bool, typer.Option("--print", help="Print the file and the commands; change nothing.")] = False,
    llm: Llm = None,
    config: Config = None,
    overrides: Overrides = None,
) -> None:
    """Install the service and start it, now and at each login. Again: with other options."""
    from assistant.commands.service.command import absolute

    if (talk or satellite) and (host or port):
        raise ConfigError(["--talk, --satellite: leave out --host and --port; they are the server's"])
    of_satellite = {"server": server, "room": room, "wake-word": wake_word, "tls-fingerprint": tls_fingerprint}
    if not satellite and (wrong := [name for name, value in of_satellite.items() if value is not None]):
        raise ConfigError([f"--{wrong[0]}: add --satellite"])
    if satellite and (server is None or wake_word is None):
        raise ConfigError(["--satellite: add --server URL and --wake-word WORD, as in --wake-word okay_nabu"])
    if satellite and llm is not None:
        raise ConfigError(["--satellite: leave out --llm; the server chooses its models"])
    given = {"config": str(absolute(config)) if config else None, "host": host, "port": port, "llm": llm}
    options = [f"--{name}={value}" for name, value in (given | of_satellite).items() if value is not None]
    options += [f"--set={setting}" for setting in overrides or ()]
    with _opened(talk, satellite, options) as service:
        if satellite and server is not None:
            from repartee.server_talk import satellite_options

            satellite_options(server, service.settings(), tls_fingerprint=tls_fingerprint, tls_ca=None)
        if show:
            service.show_plan()
        else:
            service.install()


@service.command()
def status(talk: Talk = False, satellite: Satellite = False) -> None:
    """Say whether it runs, since when, its address and its log. Exit status 1: it does not run."""
    with _opened(talk, satellite) as service:
        running = service.status()
    sys.exit(0 if running else 1)


@service.command()
def start(talk: Talk = False, satellite: Satellite = False) -> None:
    """Start it, again if it runs already."""
    with _opened(talk, satellite) as service:
        service.start()


@service.command()
def stop(talk: Talk = False, satellite: Satellite = False) -> None:
    """Stop it until the next login."""
    with _opened(talk, satellite) as service:
        service.stop()


@service.command()
def log(talk: Talk = False, satellite: Satellite = False) -> None:
    """Print the last lines of its output."""
    with _opened(talk, satellite) as service:
        service.log()


@service.command()
def remove(talk: Talk = False, satellite: Satellite = False) -> None:
    """Stop it and remove it. The file with the keys stays."""
    with _opened(talk, satellite) as service:
        service.remove()


@contextmanager
def _opened(talk: bool, satellite: bool, options: Sequence[str] = ()) -> "Generator[Service]":
    """Gives the service. Ends the program with the text of a ServiceError."""
    from assistant.commands.service.command import Kind, Service, Wish
    from assistant.commands.service.unit import ServiceError

    if talk and satellite:
        raise ConfigError(["--talk, --satellite: they are two services; give one of both"])
    try:
        kind: Kind = "satellite" if satellite else "talk" if talk else "serve"
        yield Service(Wish(kind, tuple(options)), os.environ, terminal())
    except ServiceError as error:
        write_error(str(error))
        raise typer.Exit(2) from error
