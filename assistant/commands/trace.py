"""The commands `repartee trace ...`, which read traces."""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assistant.commands.options import settings_of, with_home
from assistant.support.console import write_error

if TYPE_CHECKING:
    from assistant.trace_report.page import PageNotes

trace = typer.Typer(help="Read traces: one turn, many turns, or two sets of turns.", no_args_is_help=True)

Files = Annotated[
    list[Path] | None,
    typer.Argument(metavar="FILE|DIR", help="Trace files or folders; default: trace.dir."),
]


@trace.callback()
def trace_group() -> None:
    """Read traces: one turn, many turns, or two sets of turns."""


@trace.command()
def show(
    files: Files = None,
    turn: Annotated[int | None, typer.Option(min=1, metavar="N", help="Only the turn with this number.")] = None,
) -> None:
    """Show turns as waterfalls: what ran when, what delayed the reply, and what was wasted."""
    from assistant.trace_report import commands

    with _errors_as_one_line():
        commands.show(_trace_paths(files), turn, commands.screen())


@trace.command()
def report(
    files: Files = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of the tables.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print the stages as CSV instead of the tables.")] = False,
    html: Annotated[
        Path | None, typer.Option(parser=with_home, metavar="OUT", help="Also write one page with drawings and advice.")
    ] = None,
) -> None:
    """Report response latency, stages, slow turns, interruptions, speculation and engines over many turns."""
    from assistant.trace_report import commands

    if as_json and as_csv:
        raise typer.BadParameter("--json and --csv are two forms of one report; choose one.")
    with _errors_as_one_line():
        formats = commands.ReportFormats(as_json, as_csv, html, names_source=not files, notes=_page_notes)
        commands.report(_trace_paths(files), formats, commands.screen())


@trace.command()
def compare(
    before: Annotated[Path, typer.Argument(metavar="A", help="Trace file or folder: before the change.")],
    after: Annotated[Path, typer.Argument(metavar="B", help="Trace file or folder: after the change.")],
    gate: Annotated[
        bool, typer.Option("--gate", help="Exit status 1 if the median or p95 of the response latency is worse.")
    ] = False,
) -> None:
    """Compare two sets of turns, stage by stage: better, worse, or cannot tell."""
    from assistant.trace_report import commands

    with _errors_as_one_line():
        worse = commands.compare(before, after, commands.screen())
    if gate and worse:
        sys.exit(1)


@trace.command()
def replay(
    files: Files = None,
    overrides: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="turn.KEY=VALUE", help="Decide with this setting; may be repeated."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object, with every turn.")] = False,
) -> None:
    """Replay recorded turns through turn taking with other settings: latency, cut-ins, wasted answers."""
    from assistant.replay import commands
    from assistant.trace_report.commands import screen

    with _errors_as_one_line():
        commands.replay(_trace_paths(files), overrides or [], screen(), as_json=as_json)


@trace.command()
def advise(
    files: Files = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of sentences.")] = False,
) -> None:
    """Show what makes slow turns slow, and what other settings would gain."""
    from assistant.replay import commands
    from assistant.trace_report.commands import screen

    with _errors_as_one_line():
        commands.advise(_trace_paths(files), screen(), as_json=as_json)


@trace.command()
def follow(
    where: Annotated[
        str | None,
        typer.Argument(metavar="FILE|DIR|URL", help="Trace file, folder, or address of a server; default: trace.dir."),
    ] = None,
) -> None:
    """Print a line for each turn as it ends, from files or a running server, until Ctrl-C."""
    from assistant.trace_report import commands

    with _errors_as_one_line():
        try:
            if where is not None and "://" in where:
                commands.follow_server(where, os.environ, commands.screen())
            elif where is None:
                commands.follow_turns(_trace_paths(None)[0], commands.screen(), to_come=True)
            else:
                commands.follow_turns(Path(where), commands.screen(), to_come=False)
        except KeyboardInterrupt:
            sys.exit(0)


@trace.command()
def scrub(
    files: Annotated[list[Path], typer.Argument(metavar="FILE|DIR", help="Trace files or folders.")],
) -> None:
    """Remove the words from traces that were written with trace.words = true; each file completely or not at all."""
    from assistant.trace_report import commands

    with _errors_as_one_line():
        commands.scrub_files(files, commands.screen())


def _trace_paths(files: list[Path] | None) -> list[Path]:
    if files:
        return files
    return [settings_of(None, []).settings.trace.dir]


def _page_notes(files: Sequence[Path]) -> "PageNotes":
    # On use: it imports matplotlib, which takes half a second and writes folders of its own.
    from assistant.replay.page_notes import page_notes

    return page_notes(files)


@contextmanager
def _errors_as_one_line() -> Iterator[None]:
    from assistant.trace_report.reading import TraceError

    try:
        yield
    except TraceError as error:
        write_error(str(error))
        sys.exit(2)
