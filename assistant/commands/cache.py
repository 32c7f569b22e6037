"""The commands `repartee cache ...`: show and remove stored answers."""

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from assistant.commands.options import Config, Overrides, settings_of
from assistant.config.errors import ConfigError
from assistant.support.console import safe, terminal

if TYPE_CHECKING:
    from llm.cache import CacheEntry, CacheStore

cache = typer.Typer(help="Show and remove the answers that are stored to be given again.", no_args_is_help=True)

MAX_LISTED = 50
TIMEOUT_S = 5.0
"""Longest wait for a busy or slow store."""

ID_CHARS = 6
"""Characters of an id that are shown."""


@contextmanager
def _opened(config: Config, overrides: Overrides) -> "Generator[CacheStore]":
    """Opens the configured store. Raises ConfigError if it cannot be used."""
    from assistant.setup.answering.answer_cache import cache_store
    from llm.cache import CacheStoreError

    settings = settings_of(config, overrides).settings
    if settings.cache.store == "memory":
        raise ConfigError(["cache.store memory keeps answers in the running program only; stop it to remove them"])
    try:
        store = cache_store(settings, os.environ, TIMEOUT_S, creates=False)
        try:
            yield store
        finally:
            store.close()
    except CacheStoreError as error:
        raise ConfigError([f"{error}; see cache.store, cache.file and cache.redis_url"]) from error


@cache.command()
def stats(config: Config = None, overrides: Overrides = None) -> None:
    """Show how many answers are stored, and how often they were given again."""
    with _opened(config, overrides) as store:
        entries, name = store.entries(), store.name
    hits = sum(entry.hits for entry in entries)
    used = sum(entry.hits > 0 for entry in entries)
    console = terminal()
    console.print(name, soft_wrap=True, markup=False)
    again = f", given again {_counted(hits, 'time')} ({used} of them)" if hits else ", none given again"
    console.print(f"{_counted(len(entries), 'answer')}{again if entries else ''}")


@cache.command(name="list")
def list_answers(
    words: Annotated[str, typer.Argument(metavar="WORDS", help="Only requests that contain these words.")] = "",
    everything: Annotated[bool, typer.Option("--all", help=f"More than {MAX_LISTED} answers.")] = False,
    config: Config = None,
    overrides: Overrides = None,
) -> None:
    """List stored requests with their answers, the most recently used first."""
    from datetime import UTC, datetime

    from rich.table import Table

    with _opened(config, overrides) as store:
        entries = [entry for entry in store.entries() if words.lower() in entry.request.lower()]
    console = terminal()
    if not entries:
        console.print("no answers")
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for heading in ("id", "stored", "given", "by", "request", "answer"):
        table.add_column(heading, overflow="fold", no_wrap=heading in {"id", "stored", "given"})
    for entry in entries if everything else entries[:MAX_LISTED]:
        stored = datetime.fromtimestamp(entry.created_s, UTC)
        cells = (entry.id[:ID_CHARS], f"{stored:%Y-%m-%d}", str(entry.hits), entry.by, entry.request, entry.answer)
        table.add_row(*(Text(safe(cell)) for cell in cells))
    console.print(table)
    if not everything and len(entries) > MAX_LISTED:
        console.print(f"and {len(entries) - MAX_LISTED} more: repartee cache list --all")


@cache.command()
def forget(
    which: Annotated[list[str], typer.Argument(metavar="ID|WORDS", help="Ids from `list`, or words of requests.")],
    config: Config = None,
    overrides: Overrides = None,
) -> None:
    """Remove stored answers by their id, or by words that their requests contain."""
    with _opened(config, overrides) as store:
        removed = store.forget([entry.id for entry in store.entries() if _is_named(entry, which)])
    terminal().print(f"{_counted(removed, 'answer')} removed")
    sys.exit(0 if removed else 1)


@cache.command()
def purge(config: Config = None, overrides: Overrides = None) -> None:
    """Remove all stored answers."""
    with _opened(config, overrides) as store:
        removed = store.forget([entry.id for entry in store.entries()])
    terminal().print(f"{_counted(removed, 'answer')} removed")


def _is_named(entry: "CacheEntry", which: list[str]) -> bool:
    return any(
        (len(name) >= ID_CHARS and entry.id.startswith(name)) or name.lower() in entry.request.lower() for name in which
    )


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}"
