"""The commands `repartee lists ...`: the lists and notes that the user has said."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from assistant.commands.options import with_home, write_new_file
from assistant.config.errors import ConfigError
from assistant.support.console import terminal

if TYPE_CHECKING:
    from assistant.skills.lists.items import ListItem
    from assistant.storage.list_file import Changes

lists = typer.Typer(help="Show, export and clear your lists and notes.")

_NONE = 'there are no lists and no notes; say "add milk to my shopping list" or "take a note"'


def _exchange(changes: "Changes") -> "tuple[ListItem, ...]":
    """Writes changes to the file and returns what is in it. Raises HomeError, and ConfigError if it cannot be used."""
    from assistant.storage.conversation_database import ConversationFileError
    from assistant.storage.list_file import ListFile, lists_path

    try:
        file = ListFile(lists_path(os.environ))
        try:
            return file.exchange(changes)
        finally:
            file.close()
    except ConversationFileError as error:
        raise ConfigError([f"{error.text}: move it away or make it writable"]) from error


@lists.callback(invoke_without_command=True)
def lists_group(context: typer.Context) -> None:
    """Show, export and clear your lists and notes."""
    if context.invoked_subcommand is None:
        show()


@lists.command()
def show() -> None:
    """Show all lists and notes."""
    from assistant.skills.lists.items import titled_lists

    console, items = terminal(), _exchange({})
    if not items:
        console.print(_NONE, soft_wrap=True)
    for title, of_list in titled_lists(items):
        console.print(Text(title, "bold"))
        for item in of_list:
            console.print(Text(f"  {item.text}"), soft_wrap=True)


@lists.command()
def export(
    out: Annotated[
        Path | None, typer.Argument(parser=with_home, metavar="FILE", help="Write to this new file; else print.")
    ] = None,
) -> None:
    """Print all lists and notes as Markdown, or write them to a file."""
    from assistant.skills.lists.items import titled_lists

    parts = [f"# {title}\n\n" + "".join(f"- {item.text}\n" for item in of) for title, of in titled_lists(_exchange({}))]
    text = "\n".join(parts)
    if out is None:
        typer.echo(text, nl=False)
    else:
        write_new_file(out, text)


@lists.command()
def clear(
    name: Annotated[str, typer.Argument(metavar="NAME", help='"shopping", "to-do", "notes" or the name of a list.')],
) -> None:
    """Remove all items of a list, or all notes."""
    from assistant.skills.lists.items import items_of, list_names

    items = _exchange({})
    list_name = name.casefold().removesuffix(" list")
    known = {title.casefold().removesuffix(" list"): title for title in list_names(items)}
    if list_name not in known:
        names = ", ".join(f'"{title}"' for title in list_names(items)) or "none"
        raise ConfigError([f"{name}: there is no such list; those with items: {names}"])
    removed = items_of(items, known[list_name])
    _exchange({item.key: None for item in removed})
    typer.echo("1 item removed" if len(removed) == 1 else f"{len(removed)} items removed")
