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
        figures = replay_traces(distinct(files, warn), overrides, warn)
    if not figures.figures.turns:
        raise TraceError(replay_report.nothing_to_replay([str(path) for path in paths], figures))
    if as_json:
        write_json(replay_report.as_json(figures))
        return
    show_lines(replay_report.headline(figures), console)
    console.print("", replay_report.comparison(figures.figures), "")
    show_lines(replay_report.sentences(figures.figures), console)


def advise(paths: Sequence[Path], console: Console, *, as_json: bool) -> None:
    """Prints what the traces suggest about settings. Raises TraceError."""
    files = trace_files(paths)
    with reading(files):
        items = advice(collect_inputs(distinct(files, warn), warn))
    if not items.turns:
        raise TraceError(f"{', '.join(map(str, paths))}: no turn has a response latency.")
    if as_json:
        write_json(advice_json(items))
    else:
        show_lines(advice_lines(items), console)
