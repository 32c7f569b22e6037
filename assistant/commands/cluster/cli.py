"""The commands `repartee cluster ...`: start, deploy, status, stop."""

import asyncio
import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from assistant.commands.options import Config, Overrides, settings_of
from assistant.support.console import terminal

cluster = typer.Typer(no_args_is_help=True, help="Run the speech engines on a Ray cluster, for several servers.")


@cluster.command()
def start(
    port: Annotated[int, typer.Option(metavar="P", help="Port of the head.")] = 6379,
    host: Annotated[str, typer.Option(metavar="H", help="This machine's address, if others join.")] = "127.0.0.1",
    join: Annotated[str | None, typer.Option(metavar="HOST:PORT", help="Join this head instead of being one.")] = None,
    cpus: Annotated[int | None, typer.Option(metavar="N", help="CPU cores for replicas; default: all.")] = None,
) -> None:
    """Make this machine the head of a cluster, or a node of one, until it is ended by Ctrl-C or SIGTERM."""
    from assistant.commands.cluster.head import head_command, join_command, node_environment
    from audio.cluster.ray_connection import import_ray

    import_ray()  # says which extra is missing
    python = sys.executable
    command = join_command(python, join, cpus=cpus) if join else head_command(python, port=port, host=host, cpus=cpus)
    environ = node_environment(os.environ, Path.home(), joins=join is not None)
    os.execve(python, command, environ)  # noqa: S606 - its own interpreter


@cluster.command()
def deploy(config: Config = None, overrides: Overrides = None) -> None:
    """Deploy the engines that are set to ray, or replace their replicas without a lost turn."""
    from assistant.commands.cluster import command

    settings = settings_of(config, overrides).settings
    asyncio.run(command.deploy(settings, typer.echo))


@cluster.command()
def status(config: Config = None, overrides: Overrides = None) -> None:
    """Show the engines and their replicas. Exit status 1: an engine that the settings use does not run."""
    from assistant.commands.cluster import command

    settings = settings_of(config, overrides).settings
    if not asyncio.run(command.show_status(settings, terminal())):
        raise typer.Exit(1)


@cluster.command()
def stop(config: Config = None, overrides: Overrides = None) -> None:
    """Remove the engines from the cluster. The cluster itself goes on."""
    from assistant.commands.cluster import command

    settings = settings_of(config, overrides).settings
    asyncio.run(command.stop(settings, typer.echo))
