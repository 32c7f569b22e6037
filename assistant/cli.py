"""The program `repartee`."""

import asyncio
import os
import sys
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    name="repartee",
    help="A voice assistant that answers within 200-500 ms, and accounts for every millisecond.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)

Config = Annotated[
    Path | None,
    typer.Option("--config", metavar="FILE", help="Settings to use in place of ./config.toml."),
]
Overrides = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="SECTION.KEY=VALUE", help="One setting, over file and environment; may be repeated."),
]


@app.callback()
def repartee() -> None:
    """A voice assistant that answers within 200-500 ms, and accounts for every millisecond."""


@app.command()
def demo(  # noqa: PLR0917 - each is an option of the command
    wav: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Your own recording: wav, flac or ogg, any rate, mono or stereo."),
    ] = None,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where demo.wav and the trace go.")] = Path("out"),
    stt: Annotated[str | None, typer.Option(metavar="ENGINE", help="Short for --set stt.engine=ENGINE.")] = None,
    tts: Annotated[str | None, typer.Option(metavar="ENGINE", help="Short for --set tts.engine=ENGINE.")] = None,
    config: Config = None,
    overrides: Overrides = None,
) -> None:
    """Hear a conversation: a recording of a person talks with the assistant, in real time."""
    from rich.console import Console

    from assistant.config import load_settings
    from assistant.demo import demo as run_demo

    engines = [f"{stage}.engine={name}" for stage, name in (("stt", stt), ("tts", tts)) if name is not None]
    loaded = load_settings(config, os.environ, [*engines, *(overrides or [])])
    asyncio.run(run_demo(wav, out, loaded, os.environ, Console(highlight=False)))


@app.command()
def config(config: Config = None, overrides: Overrides = None) -> None:
    """Show the effective configuration, and where each value comes from."""
    from rich.console import Console
    from rich.table import Table

    from assistant.config import load_settings, render_effective

    loaded = load_settings(config, os.environ, overrides or [])
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("key", no_wrap=True)
    table.add_column("value", overflow="fold")
    table.add_column("from", no_wrap=True)
    for row in render_effective(loaded):
        table.add_row(row.key, row.value, row.origin, style="dim" if row.origin == "default" else None)
    Console(highlight=False).print(table)


models = typer.Typer(help="The models that the configuration needs: what is at hand, and fetching the rest.")
app.add_typer(models, name="models")


@models.callback(invoke_without_command=True)
def list_models(
    context: typer.Context,
    everything: Annotated[bool, typer.Option("--all", help="Also those that are neither needed nor at hand.")] = False,
    config: Config = None,
    overrides: Overrides = None,
) -> None:
    """The models that the configuration needs: what is at hand, and fetching the rest."""
    if context.invoked_subcommand is not None:
        return
    from rich.console import Console
    from rich.table import Table

    from assistant.build import needs
    from assistant.config import load_settings
    from assistant.models import rows

    settings = load_settings(config, os.environ, overrides or []).settings
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for heading in ("model", "for", "size", "licence", "where"):
        table.add_column(heading, overflow="fold")
    for row in rows(needs(settings), everything=everything):
        style = None if row.at_hand else "yellow" if row.needed else "dim"
        table.add_row(row.name, row.purpose, row.size, row.licence, row.where, style=style)
    Console(highlight=False).print(table)


@models.command()
def pull(
    name: Annotated[str | None, typer.Argument(help="Which; without a name, whatever the configuration lacks.")] = None,
    config: Config = None,
    overrides: Overrides = None,
) -> None:
    """Fetch a model. Nothing else ever downloads one."""
    from rich.console import Console

    from assistant.build import needs
    from assistant.config import load_settings
    from assistant.model_pull import pull as pull_model
    from assistant.model_pull import pull_missing

    console = Console(highlight=False)
    if name is not None:
        pull_model(name, console)
    else:
        pull_missing(needs(load_settings(config, os.environ, overrides or []).settings), console)


def main() -> None:
    """Run the program; a user's mistake ends in one clear line."""
    # A Python-heavy moment of one thread must not hold the event loop for the default 5 ms.
    sys.setswitchinterval(0.0005)
    from assistant.config import ConfigError
    from assistant.models import ModelError
    from audio.errors import AudioError
    from llm.errors import LlmError

    # Inside an except* block an exit would itself become part of a group: so it is taken after it.
    message, code = "", 0
    try:
        app()
    except* (ConfigError, AudioError, LlmError, ModelError) as errors:
        message, code = f"repartee: {_first(errors)}\n", 2
    if code:
        sys.stderr.write(message)
        sys.exit(code)


def _first(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    """Of several that came at once, out of however many task groups."""
    error: BaseException = errors
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
