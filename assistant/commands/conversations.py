"""The commands `repartee conversations ...`: the conversations that `repartee talk` and the server keep."""

import os
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.text import Text

from assistant.commands.options import with_home, write_new_file
from assistant.config.errors import ConfigError
from assistant.support.console import terminal, write_error, write_json

if TYPE_CHECKING:
    from assistant.storage.conversation_file import ConversationFile, KeptConversation
    from assistant.storage.conversation_search import Summary

conversations = typer.Typer(help="List, show, search, export and delete kept conversations, also those of the page.")

MAX_LISTED = 1000
PIPE_COLUMNS = 200
"""Columns of a list in a pipe, where a title must not be broken."""

NAMES = "`repartee conversations list` shows the names"

Name = Annotated[str, typer.Argument(metavar="NAME", help="The conversation's full name.")]


def _file() -> "ConversationFile":
    """Returns the file, after importing earlier versions' conversations.

    Raises HomeError, and ConfigError if the file cannot be used.
    """
    from assistant.storage.conversation_database import ConversationFileError
    from assistant.storage.conversation_file import ConversationFile
    from assistant.storage.conversation_import import import_files
    from assistant.storage.conversation_store import conversations_path

    try:
        file = ConversationFile(conversations_path(os.environ), lambda: datetime.now(UTC).timestamp())
        for problem in import_files(file):
            write_error(problem)
        file.check()
    except ConversationFileError as error:
        raise ConfigError([f"{error.text}: move it away or make it readable"]) from error
    return file


@conversations.callback(invoke_without_command=True)
def conversations_group(context: typer.Context) -> None:
    """List, show, search, export and delete kept conversations, also those of the page."""
    if context.invoked_subcommand is None:
        list_all()


@conversations.command("list")
def list_all() -> None:
    """List the kept conversations, the newest first."""
    file = _file()
    summaries = [(owner, summary) for owner in file.owners() for summary in file.summaries(owner, MAX_LISTED)]
    _print_summaries(
        summaries, "no conversation is kept; to keep those of `talk`: repartee talk --set talk.remember=true"
    )
    if pauses := _pauses(file):
        terminal().print(pauses, soft_wrap=True)


@conversations.command()
def search(words: Annotated[str, typer.Argument(metavar="WORDS", help="Words that all occur in one message.")]) -> None:
    """List the conversations in which these words were said."""
    file = _file()
    summaries = [(owner, summary) for owner in file.owners() for summary in file.search(owner, words, MAX_LISTED)]
    _print_summaries(summaries, "no conversation with these words is kept")


@conversations.command()
def show(name: Name) -> None:
    """Show what was said in a conversation."""
    from assistant.history.shown_speakers import shown_speakers
    from assistant.storage.conversation_export import message_objects

    console, messages = terminal(), message_objects(_loaded(name))
    speakers = shown_speakers(str(message.get("speaker", "")) for message in messages)
    for message, speaker in zip(messages, speakers, strict=True):
        who = (speaker or "you") if message["role"] == "user" else "repartee"
        cut = "" if message["complete"] else "  (interrupted)"
        for index, line in enumerate(str(message.get("markup", message["text"])).splitlines()):
            label = (f"{who if index == 0 else '':>9}  ", "dim")
            console.print(Text.assemble(label, line, (cut, "dim")), soft_wrap=True)


@conversations.command()
def export(
    name: Name,
    form: Annotated[Literal["markdown", "json"], typer.Option("--format", help="Form of the text.")] = "markdown",
    out: Annotated[
        Path | None, typer.Option(parser=with_home, metavar="FILE", help="Write it to this new file.")
    ] = None,
) -> None:
    """Print a conversation as Markdown or JSON, or write it to a file."""
    from assistant.storage.conversation_export import as_json, as_markdown

    kept = _loaded(name)
    text = as_json(kept) if form == "json" else as_markdown(kept)
    if out is not None:
        write_new_file(out, text, option="--out")
    elif form == "json":
        write_json(text)
    else:
        typer.echo(text, nl=False)


@conversations.command()
def delete(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="The conversation's full name.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Delete all of `talk`.")] = False,
) -> None:
    """Delete one conversation, or all that `talk` keeps."""
    from assistant.storage.conversation_database import ConversationFileError
    from assistant.storage.conversation_file import TERMINAL
    from assistant.storage.conversation_import import delete_imported

    if (name is None) == (not everything):
        raise ConfigError([f"delete: name one conversation, or use --all; {NAMES}"])
    file = _file()
    owner = TERMINAL if name is None else _owner(file, name)
    try:
        deleted = file.delete(owner, name)
    except ConversationFileError as error:
        raise ConfigError([f"{error.text}: nothing was deleted"]) from error
    for conversation_id in deleted:
        delete_imported(file, conversation_id)
    typer.echo("1 conversation deleted" if len(deleted) == 1 else f"{len(deleted)} conversations deleted")


def _pauses(file: "ConversationFile") -> str:
    """Returns a line about the pauses that are kept; "" for none."""
    from assistant.storage.conversation_file import TERMINAL

    kept = file.pauses()
    talk, pages = kept.pop(TERMINAL, None), len(kept)
    owners = [] if talk is None else [f"{talk.turns:.1f} turns of talk"]
    owners += [f"{pages} browser{'' if pages == 1 else 's'}"] if pages else []
    return f"pauses kept: {', '.join(owners)}; deleted with the last conversation (delete --all)" if owners else ""


def _owner(file: "ConversationFile", name: str) -> str:
    """Returns the owner of the conversation of this name. Raises ConfigError if there is not exactly one."""
    owners = [owner for owner in file.owners() if file.load(owner, name) is not None]
    if not owners:
        raise ConfigError([f"{name}: no such conversation; {NAMES}"])
    if len(owners) > 1:
        raise ConfigError([f"{name}: several browsers have a conversation of this name; use the page"])
    return owners[0]


def _loaded(name: str) -> "KeptConversation":
    """Returns a conversation. Raises ConfigError."""
    file = _file()
    kept = file.load(_owner(file, name), name)
    assert kept is not None
    return kept


def _print_summaries(summaries: "Iterable[tuple[str, Summary]]", none: str) -> None:
    from rich.table import Table

    from assistant.storage.conversation_file import TERMINAL

    summaries, console = sorted(summaries, key=lambda pair: pair[1].changed_s, reverse=True), terminal()
    if not console.is_terminal:
        console = terminal(width=PIPE_COLUMNS)
    if not summaries:
        console.print(none, soft_wrap=True)
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
    for index in range(4):
        table.add_column(no_wrap=index < 3, justify="right" if index == 1 else "left", overflow="fold")
    for owner, pair in summaries:
        turns = f"{pair.turns} turn{'' if pair.turns == 1 else 's'}"
        table.add_row(*map(Text, (pair.id, turns, "talk" if owner == TERMINAL else "page", pair.title)))
    console.print(table)
