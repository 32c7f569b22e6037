"""The commands `repartee conversations ...`: list and delete the conversations that `repartee talk` keeps."""

import os
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from assistant.storage.conversation_file import ConversationFile

conversations = typer.Typer(help="List and delete the conversations that `talk` keeps.")

MAX_LISTED = 1000
OF_BROWSERS = "conversations of browsers are listed in the page; those that this machine's server keeps are in {path}"


def _file() -> "ConversationFile":
    """Returns the file, after importing earlier versions' conversations. Raises ConfigError if it cannot be used."""
    from assistant.config.loading import ConfigError
    from assistant.storage.conversation_database import ConversationFileError
    from assistant.storage.conversation_file import ConversationFile
    from assistant.storage.conversation_import import import_files
    from assistant.storage.conversation_store import conversations_path
    from assistant.support.paths import HomeError

    try:
        file = ConversationFile(conversations_path(os.environ), lambda: datetime.now(UTC).timestamp())
        for problem in import_files(file):
            typer.echo(problem, err=True)
        file.check()
    except HomeError as error:
        raise ConfigError([str(error)]) from error
    except ConversationFileError as error:
        raise ConfigError([f"{error.text}: move it away or make it readable"]) from error
    return file


@conversations.callback(invoke_without_command=True)
def conversations_group(context: typer.Context) -> None:
    """List and delete the conversations that `talk` keeps."""
    if context.invoked_subcommand is None:
        list_all()


@conversations.command("list")
def list_all() -> None:
    """List the kept conversations, the newest first."""
    from assistant.storage.conversation_file import TERMINAL
    from assistant.support.console import terminal

    file = _file()
    found = file.summaries(TERMINAL, MAX_LISTED)
    for one in found:
        typer.echo(f"{one.id}  {one.turns:>4} turn{'' if one.turns == 1 else 's'}  {one.title}")
    if not found:
        typer.echo("no conversation is kept; to keep them: repartee talk --set talk.remember=true")
    terminal(stderr=True).print(OF_BROWSERS.format(path=file.path), soft_wrap=True)


@conversations.command()
def delete(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="The conversation's full name.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Delete all of them.")] = False,
) -> None:
    """Delete one conversation, or all."""
    from assistant.config.loading import ConfigError
    from assistant.storage.conversation_database import ConversationFileError
    from assistant.storage.conversation_file import TERMINAL
    from assistant.storage.conversation_import import delete_imported

    if (name is None) == (not everything):
        raise ConfigError(["delete: name one conversation, or use --all; `repartee conversations list` shows them"])
    file = _file()
    try:
        deleted = file.delete(TERMINAL, name)
    except ConversationFileError as error:
        raise ConfigError([f"{error.text}: nothing was deleted"]) from error
    if not deleted and name is not None:
        raise ConfigError([f"delete {name}: no such conversation; `repartee conversations list` shows the names"])
    for one in deleted:
        delete_imported(file, one)
    typer.echo("1 conversation deleted" if len(deleted) == 1 else f"{len(deleted)} conversations deleted")
