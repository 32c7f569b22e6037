"""The commands `repartee memory ...`: what is remembered of the user of `repartee talk`."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from assistant.commands.options import with_home, write_new_file
from assistant.config.errors import ConfigError
from assistant.support.console import terminal

if TYPE_CHECKING:
    from assistant.memory.facts import Fact
    from assistant.memory.memory_file import MemoryFile

memory = typer.Typer(help="Show, search, add, edit, delete and export what is remembered of you.")

KEY_CHARS = 8
"""Characters of a key that are shown; any beginning that is unique is understood."""

Key = Annotated[str, typer.Argument(metavar="KEY", help="The beginning of the fact's key.")]
Words = Annotated[str, typer.Argument(metavar="TEXT", help="What to remember, in your words.")]

_NONE = 'nothing is remembered; set memory.enabled = true and say "remember that ...", or use `repartee memory add`'
_REASONS = {
    "card": "a card number",
    "account": "an account number",
    "password": "a password, PIN or code",
    "id_number": "the number of an identity paper",
    "key": "a secret key",
    "instruction": "an instruction",
}


def _file() -> "MemoryFile":
    """Returns the file. Raises HomeError."""
    from assistant.setup.answering.user_memory import memory_file

    return memory_file(os.environ)


def _facts() -> "tuple[Fact, ...]":
    """Returns the facts, the oldest first. Raises HomeError, and ConfigError if the file cannot be used."""
    from assistant.storage.conversation_database import ConversationFileError
    from assistant.storage.conversation_file import TERMINAL

    file = _file()
    try:
        return file.facts(TERMINAL)
    except ConversationFileError as error:
        raise ConfigError([f"{error.text}: move it away or make it readable"]) from error
    finally:
        file.close()


def _change(changes: "Mapping[str, Fact | None]") -> None:
    """Writes and deletes facts. Raises HomeError and ConfigError."""
    from assistant.storage.conversation_database import ConversationFileError
    from assistant.storage.conversation_file import TERMINAL

    file = _file()
    try:
        file.change(TERMINAL, changes)
    except ConversationFileError as error:
        raise ConfigError([f"{error.text}: nothing was changed"]) from error
    finally:
        file.close()


@memory.callback(invoke_without_command=True)
def memory_group(context: typer.Context) -> None:
    """Show, search, add, edit, delete and export what is remembered of you."""
    if context.invoked_subcommand is None:
        list_all()


@memory.command("list")
def list_all() -> None:
    """List what is remembered, the newest first."""
    _print(_facts(), _NONE)


@memory.command()
def search(words: Annotated[str, typer.Argument(metavar="WORDS", help="Words of the facts.")]) -> None:
    """List the facts that share words with these, the best first."""
    from assistant.memory.fact_index import FactIndex

    facts = {fact.key: fact for fact in _facts()}
    index = FactIndex()
    index.update({key: fact.text for key, fact in facts.items()})
    keys = index.by_words(words, len(facts))
    _print(tuple(facts[key] for key in reversed(keys)), "no fact has such words")


@memory.command()
def add(text: Words) -> None:
    """Remember this."""
    from assistant.memory.facts import Fact, new_key
    from assistant.setup.build import local_now

    key = new_key()
    _change({key: Fact(key, _keepable(text), local_now().isoformat(timespec="seconds"))})
    typer.echo(f"remembered as {key[:KEY_CHARS]}")


@memory.command()
def edit(key: Key, text: Words) -> None:
    """Change the words of a fact; it keeps its date."""
    from dataclasses import replace

    fact = _fact_of(key)
    _change({fact.key: replace(fact, text=_keepable(text))})
    typer.echo("changed")


@memory.command()
def delete(
    key: Annotated[str | None, typer.Argument(metavar="KEY", help="The beginning of the fact's key.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Delete all facts.")] = False,
) -> None:
    """Delete one fact, or all. From the conversations so far, nothing more is drawn."""
    if (key is None) == (not everything):
        raise ConfigError(["delete: name one fact by its key, or use --all; `repartee memory list` shows the keys"])
    facts = _facts() if key is None else (_fact_of(key),)
    _change({fact.key: None for fact in facts})
    typer.echo("1 fact deleted" if len(facts) == 1 else f"{len(facts)} facts deleted")


@memory.command()
def export(
    out: Annotated[
        Path | None, typer.Argument(parser=with_home, metavar="FILE", help="Write to this new file; else print.")
    ] = None,
) -> None:
    """Print all facts as JSON, or write them to a file."""
    told = [{"key": fact.key, "said_at": fact.said_at, "text": fact.text} for fact in _facts()]
    text = json.dumps(told, ensure_ascii=False, indent=2) + "\n"
    if out is None:
        typer.echo(text, nl=False)
    else:
        write_new_file(out, text)


def _fact_of(key: str) -> "Fact":
    """Returns the fact whose key begins so. Raises ConfigError if there is not exactly one."""
    matching = [fact for fact in _facts() if key and fact.key.startswith(key)]
    if len(matching) != 1:
        many = "several facts have keys that begin so" if matching else "there is no such fact"
        raise ConfigError([f"{key}: {many}; `repartee memory list` shows the keys"])
    return matching[0]


def _keepable(text: str) -> str:
    """Returns the text as it is kept. Raises ConfigError if it must not be."""
    from assistant.memory.facts import MAX_FACT_CHARS
    from assistant.memory.unkeepable import reason_not_to_keep

    text = " ".join(text.split())
    reason = reason_not_to_keep(text)
    if reason is not None:
        raise ConfigError([f"this looks like {_REASONS[reason]}, which is never remembered"])
    if not 0 < len(text) <= MAX_FACT_CHARS:
        raise ConfigError([f"a fact has 1 to {MAX_FACT_CHARS} characters"])
    return text


def _print(facts: "tuple[Fact, ...]", none: str) -> None:
    console = terminal()
    if not facts:
        console.print(none, soft_wrap=True)
    for fact in reversed(facts):
        console.print(
            Text.assemble((f"{fact.key[:KEY_CHARS]}  {fact.said_at[:10]}  ", "dim"), fact.text), soft_wrap=True
        )
