"""The commands `repartee models ...`: list and download models."""

from typing import Annotated

import typer
from rich.text import Text

from assistant.commands.options import Config, Overrides, settings_of
from assistant.support.console import terminal

models = typer.Typer(help="List the models that the configuration needs, and download missing ones.")


MAX_NAME_CHARS = 32
"""Longest name, in characters, that is not wrapped."""


@models.callback(invoke_without_command=True)
def list_models(
    context: typer.Context,
    everything: Annotated[bool, typer.Option("--all", help="Also list models that are not needed.")] = False,
    config: Config = None,
    overrides: Overrides = None,
) -> None:
    """List the models that the configuration needs, and download missing ones."""
    if context.invoked_subcommand is not None:
        return
    from rich.table import Table

    from assistant.models.needs import rows
    from assistant.setup.derived_settings import needs

    settings = settings_of(config, overrides).settings
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    model_rows = rows(needs(settings), everything=everything)
    console = terminal()
    # Names are meant to be copied, so they are not wrapped, unless a path or a narrow window needs the room.
    unwrapped = max(len(row.name) for row in model_rows) <= min(MAX_NAME_CHARS, console.width // 3)
    table.add_column("model", overflow="fold", no_wrap=unwrapped)
    for heading in ("for", "size", "licence"):
        table.add_column(heading, overflow="fold")
    # A path that would be wrapped stands below the table, so that it can be copied.
    beside = max((len(row.where) for row in model_rows if row.at_hand), default=0) <= console.width // 3
    table.add_column("where", overflow="fold")
    remedies, places = [], []
    for row in model_rows:
        style = None if row.at_hand else "yellow" if row.needed else "dim"
        where = "missing" if row.needed else "not downloaded"
        if row.at_hand:
            where = row.where if beside else "below"
            places.append(f"{row.name}: {row.where}")
        table.add_row(row.name, row.purpose, row.size, row.licence, where, style=style)
        if row.needed and not row.at_hand:
            remedies.append(f"{row.purpose}: {row.where.removeprefix('missing: ')}")
    console.print(table)
    if places and not beside:
        console.print(Text("\n".join(["", *places])), soft_wrap=True)
    if remedies:
        console.print(Text("\n".join(["", *remedies]), style="yellow"), soft_wrap=True)


@models.command()
def pull(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Its name; default: all that the configuration lacks.")
    ] = None,
    config: Config = None,
    overrides: Overrides = None,
) -> None:
    """Download a model. No other command downloads one. Says whether a language model answers from now on."""
    from assistant.models.catalogue import named
    from assistant.models.pull import pull as pull_model
    from assistant.models.pull import pull_missing
    from assistant.setup.derived_settings import needs, use_of_chat_model

    console = terminal()
    if name is None:
        pull_missing(needs(settings_of(config, overrides).settings), console)
        return
    pull_model(name, console)
    if (model := named(name)) is not None and model.kind == "chat":
        console.print(use_of_chat_model(settings_of(config, overrides).settings, model.name), soft_wrap=True)
