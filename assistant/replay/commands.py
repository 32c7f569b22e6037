"""Implements the commands `repartee trace replay` and `repartee trace advise`: reads traces and prints the results."""

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from assistant.replay import report as replay_report
from assistant.replay.advice import advice
from assistant.replay.advice_report import advice_json, advice_lines
from assistant.replay.conversations import collect_inputs
from assistant.replay.conversations import replay as replay_traces
from assistant.support.console import write_json
from assistant.trace_report.commands import reading, show_lines, warn
from assistant.trace_report.reading import TraceError, distinct, trace_files


def replay(paths: Sequence[Path], overrides: Sequence[str], console: Console, *, as_json: bool) -> None:
    """Decides all turns again with other settings and prints the result. Raises TraceError."""
    files = trace_files(paths)
    with reading(files):
        found = replay_traces(distinct(files, warn), overrides, warn)
    if not found.figures.turns:
        raise TraceError(replay_report.nothing_to_replay([str(path) for path in paths], found))
    if as_json:
        write_json(replay_report.as_json(found))
        return
    show_lines(replay_report.headline(found), console)
    console.print("", replay_report.comparison(found.figures), "")
    show_lines(replay_report.sentences(found.figures), console)


def advise(paths: Sequence[Path], console: Console, *, as_json: bool) -> None:
    """Prints what the traces suggest about settings. Raises TraceError."""
    files = trace_files(paths)
    with reading(files):
        found = advice(collect_inputs(distinct(files, warn), warn))
    if not found.turns:
        raise TraceError(f"{', '.join(map(str, paths))}: no turn has a response latency.")
    if as_json:
        write_json(advice_json(found))
    else:
        show_lines(advice_lines(found), console)
