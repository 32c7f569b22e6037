"""The commands `repartee trace ...`, which read traces."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from assistant.commands.options import settings_of, with_home

trace = typer.Typer(help="Read traces: a turn, many turns, two sets of them.", no_args_is_help=True)

Files = Annotated[
    list[Path] | None,
    typer.Argument(metavar="FILE|DIR", help="Traces, or folders of them; without any, those of trace.dir."),
]


@trace.callback()
def trace_group() -> None:
    """Read traces: a turn, many turns, two sets of them."""


@trace.command()
def show(
    files: Files = None,
    turn: Annotated[int | None, typer.Option(min=1, metavar="N", help="Only the turn with this number.")] = None,
) -> None:
    """A turn as a waterfall: what ran when, what was waited for, what was hidden, and what came of it."""
    from assistant.trace_report import commands

    with _errors_as_one_line():
        commands.show(_trace_paths(files), turn, commands.screen())


@trace.command()
def report(
    files: Files = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object in place of the tables.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print the stages as CSV in place of the tables.")] = False,
    html: Annotated[
        Path | None, typer.Option(parser=with_home, metavar="OUT", help="Also write one page with drawings.")
    ] = None,
) -> None:
    """Response latency and every stage over many turns, the slow tail, interruptions, speculation, engines."""
    from assistant.trace_report import commands

    if as_json and as_csv:
        raise typer.BadParameter("--json and --csv are two forms of one report; choose one.")
    with _errors_as_one_line():
        commands.report(_trace_paths(files), commands.ReportFormats(as_json, as_csv, html), commands.screen())


@trace.command()
def compare(
    before: Annotated[Path, typer.Argument(metavar="A", help="A trace or folder: what was.")],
    after: Annotated[Path, typer.Argument(metavar="B", help="A trace or folder: what is.")],
    gate: Annotated[
        bool, typer.Option("--gate", help="Exit status 1 if the median or p95 of the response latency is worse.")
    ] = False,
) -> None:
    """Two sets of turns, stage by stage: better, worse, or not to be told."""
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
        typer.Option("--set", metavar="turn.KEY=VALUE", help="Decide with this setting; may be given several times."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object, with every turn.")] = False,
) -> None:
    """The same recorded facts, decided again by turn taking, with other settings: latency, cut-ins, waste."""
    from assistant.replay import commands
    from assistant.trace_report.commands import screen

    with _errors_as_one_line():
        commands.replay(_trace_paths(files), overrides or [], screen(), as_json=as_json)


@trace.command()
def advise(
    files: Files = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object in place of sentences.")] = False,
) -> None:
    """What makes slow turns slow, the settings that move it, and what the traces say they would gain."""
    from assistant.replay import commands
    from assistant.trace_report.commands import screen

    with _errors_as_one_line():
        commands.advise(_trace_paths(files), screen(), as_json=as_json)


@trace.command()
def follow(
    where: Annotated[
        str | None,
        typer.Argument(
            metavar="FILE|DIR|URL", help="A trace, a folder, or the address of a server; without it, trace.dir."
        ),
    ] = None,
) -> None:
    """A line for each turn as it ends, until Ctrl-C: of files, or of a server that runs."""
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
    files: Annotated[list[Path], typer.Argument(metavar="FILE|DIR", help="Traces, or folders of them.")],
) -> None:
    """Take the words out of traces that were written with trace.words = true. Each file whole, or not at all."""
    from assistant.trace_report import commands

    with _errors_as_one_line():
        commands.scrub_files(files, commands.screen())


def _trace_paths(files: list[Path] | None) -> list[Path]:
    if files:
        return files
    return [settings_of(None, []).settings.trace.dir]


@contextmanager
def _errors_as_one_line() -> Iterator[None]:
    from assistant.trace_report.reading import TraceError

    try:
        yield
    except TraceError as error:
        sys.stderr.write(f"repartee: {error}\n")
        sys.exit(2)
