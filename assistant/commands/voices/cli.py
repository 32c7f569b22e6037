"""The commands `repartee voices ...` and their options."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from assistant.commands.options import Config, Overrides, settings_of, with_home
from assistant.config.errors import ConfigError
from assistant.support.console import terminal

if TYPE_CHECKING:
    from assistant.enrolment.voice_file import VoiceFile

voices = typer.Typer(help="Teach the program the voices of people, list and remove them.")

NONE = "no voice is kept; to teach one: repartee voices add NAME"


@contextmanager
def voice_file() -> "Iterator[VoiceFile]":
    """Gives the file of voices. Raises HomeError, and ConfigError if it cannot be used."""
    from assistant.enrolment.voice_file import VoiceFile, VoiceFileError, voices_path

    file = VoiceFile(voices_path(os.environ), lambda: datetime.now(UTC).timestamp())
    try:
        yield file
    except VoiceFileError as error:
        raise ConfigError([str(error)]) from error
    finally:
        file.close()


@voices.callback(invoke_without_command=True)
def voices_group(context: typer.Context) -> None:
    """Teach the program the voices of people, list and remove them."""
    if context.invoked_subcommand is None:
        list_all()


@voices.command()
def add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The person's name, as the assistant will see it.")],
    wav: Annotated[
        Path | None,
        typer.Option(parser=with_home, metavar="FILE", help="A recording of this person, instead of the microphone."),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="The person agrees; do not ask.")] = False,
    config: Config = None,
    overrides: Overrides = None,
) -> None:
    """Teach a voice: record 30 s of one person, or take a recording. Asks whether the person agrees."""
    import getpass

    from assistant.commands.first_run.prompts import Prompts
    from assistant.commands.voices.adding import VoiceAdder

    loaded = settings_of(config, overrides)
    console = terminal()
    has_terminal = sys.stdin is not None and sys.stdin.isatty()
    prompts = Prompts(console, input, getpass.getpass) if has_terminal and not yes else None
    with voice_file() as file:
        added = VoiceAdder(file, loaded.settings.audio.input, console, prompts).add(name, wav, agreed=yes)
    sys.exit(0 if added else 1)


@voices.command("list")
def list_all() -> None:
    """List the voices."""
    from rich.table import Table

    console = terminal()
    with voice_file() as file:
        kept = file.voices()
    if not kept:
        console.print(NONE, soft_wrap=True)
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
    for voice in kept:
        added = datetime.fromtimestamp(voice.added_s).astimezone().strftime("%Y-%m-%d")
        note = "" if voice.is_usable else "of another model: remove it and add it again"
        table.add_row(*map(Text, (voice.name, f"{voice.voiceprint.speech_s:.0f} s of speech", added, note)))
    console.print(table)


@voices.command()
def remove(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="The person's name.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Remove all voices.")] = False,
) -> None:
    """Remove a voice, or all. Nothing of it is kept."""
    if (name is None) == (not everything):
        raise ConfigError(["remove: name one voice, or use --all; `repartee voices list` shows the names"])
    with voice_file() as file:
        removed = file.remove(name)
    if name is not None and not removed:
        raise ConfigError([f"{name}: there is no such voice; `repartee voices list` shows the names"])
    typer.echo("1 voice removed" if len(removed) == 1 else f"{len(removed)} voices removed")
