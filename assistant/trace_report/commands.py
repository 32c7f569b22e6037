"""Implements the commands `repartee trace ...`: reads traces and prints tables, reports and waterfalls."""

import re
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from assistant.support.atomic_file import is_among, write_whole
from assistant.support.console import REPLACED, terminal, write_error, write_json
from assistant.support.plots import why_no_plots
from assistant.trace.folder import TRACE_NAME
from assistant.trace_report.following import follow
from assistant.trace_report.reading import TraceError, convert_record, distinct, read_records, trace_files
from assistant.trace_report.scrubbing import scrub
from assistant.trace_report.waterfall import line_of, waterfall

if TYPE_CHECKING:
    from assistant.trace_report.page import PageNotes

DRAWN = 10
"""Number of slowest turns that a page draws."""

PIPE_COLUMNS = 160
"""Table width outside a terminal. Wide enough that nothing is cut or folded."""


def screen() -> Console:
    """Returns a console: coloured on a terminal, plain and uncut in a pipe."""
    console = terminal()
    return console if console.is_terminal else terminal(width=PIPE_COLUMNS)


def warn(what: str) -> None:
    """Prints a warning to standard error."""
    write_error(what)


def reading(files: Sequence[Path]) -> AbstractContextManager[object]:
    """Shows a progress indicator on a terminal. Reading gigabytes of traces takes a while."""
    what = f"reading {len(files):,} trace{'' if len(files) == 1 else 's'}"
    return terminal(stderr=True).status(what, spinner="line")  # ASCII only: any terminal can show it


def show(paths: Sequence[Path], turn: int | None, console: Console) -> None:
    """Prints a waterfall of every turn, or of every turn with number `turn`. Raises TraceError."""
    shown = 0
    for record in read_records(trace_files(paths), warn):
        if turn is not None and record["turn"] != turn:
            continue
        if shown:
            console.print()
        shown += 1
        show_lines(convert_record(partial(waterfall, columns=console.width), record), console)
    if not shown:
        which = "it has no turns." if turn is None else f"it has no turn {turn}; without --turn all are shown."
        raise TraceError(f"{_named(paths)}: {which}")


@dataclass(frozen=True, slots=True)
class ReportFormats:
    """Requested output formats of a report. Without any: tables."""

    as_json: bool = False
    as_csv: bool = False
    html: Path | None = None
    names_source: bool = False
    """Whether the tables begin with the folder and the days that were read."""
    notes: "Callable[[Sequence[Path]], PageNotes] | None" = None
    """Returns what the page shows besides the figures, from the trace files."""


def report(paths: Sequence[Path], formats: ReportFormats, console: Console) -> None:
    """Prints the figures of all turns. Raises TraceError."""
    from assistant.trace_report import text as trace_report  # noqa: PLC0415 - numpy, which showing a turn does not need
    from assistant.trace_report.counting import count_turns  # noqa: PLC0415 - as above

    files = trace_files(paths)
    if formats.html is not None:
        _check_page(formats.html, files)
    with reading(files):
        tally, slowest = count_turns(distinct(files, warn), DRAWN if formats.html is not None else 1, warn)
    figures = tally.figures()
    if not figures.turns:
        raise TraceError(f"{_named(paths)}: it has no turns.")
    if formats.html is not None:
        from assistant.trace_report.page import PageNotes, page  # noqa: PLC0415 - matplotlib: half a second

        with reading(files):
            notes = PageNotes() if formats.notes is None else formats.notes(distinct(files, lambda _what: None))
        _write(formats.html, page(tally, figures, slowest, notes))
    if formats.as_json:
        write_json(trace_report.as_json(figures))
    elif formats.as_csv:
        sys.stdout.write(trace_report.as_csv(figures))
    else:
        if formats.names_source:
            show_lines([_source(paths, files)], console)
        show_lines(trace_report.headline(figures), console)
        sheets = trace_report.sheets(figures)
        for sheet in sheets:
            console.print("", sheet.table(console.width))
        console.print()
        if (wide := max((sheet.width for sheet in sheets), default=0)) > console.width:
            console.print(
                f"some columns are hidden: a window of {wide} columns, a pipe and --json show all", soft_wrap=True
            )
        show_lines([*trace_report.slowest_of(slowest), *trace_report.sentences(figures)], console)
        if formats.html is not None:
            console.print(f"\npage  {formats.html}", soft_wrap=True)


def compare(before: Path, after: Path, console: Console) -> bool:
    """Compares two sets of turns on the screen. Returns whether --gate finds `after` worse. Raises TraceError."""
    from assistant.trace_report import compare as comparing  # noqa: PLC0415 - as above
    from assistant.trace_report.counting import count_turns  # noqa: PLC0415 - as above
    from assistant.trace_report.text import number_of  # noqa: PLC0415 - as above

    sides = trace_files([before]), trace_files([after])
    with reading([*sides[0], *sides[1]]):
        first, second = (count_turns(distinct(files, warn), 0, warn)[0] for files in sides)
    for path, tally in ((before, first), (after, second)):
        if not tally.latency:
            raise TraceError(f"{path} has no turn with a response latency: there is nothing to compare.")
    comparisons = comparing.compare(first.ordered(), second.ordered())
    turns = [number_of(len(tally.latency), "turn") for tally in (first, second)]
    show_lines([f"A  {before}, {turns[0]}", f"B  {after}, {turns[1]}", ""], console)
    console.print(comparing.comparison_table(comparisons, "A", "B"), "")
    show_lines(comparing.notes(comparisons), console)
    return comparing.is_worse(comparisons)


_ADDRESS = re.compile(r"[\w.-]{1,253}:\d{1,5}")
"""Matches a server's host and port, without the scheme."""


def follow_turns(path: Path, console: Console, *, to_come: bool) -> None:
    """Prints a line for each turn as it is written, until interrupted. `to_come` as in `follow`. Raises TraceError."""
    if not to_come and _ADDRESS.fullmatch(str(path)) and not path.exists():
        raise TraceError(f"{path} is not a file; if it is a server, use: repartee trace follow http://{path}")
    for record in follow(path, warn, time.sleep, to_come=to_come):
        console.print(_one_line(convert_record(line_of, record)), soft_wrap=True)


def follow_server(address: str, environ: Mapping[str, str], console: Console) -> None:
    """Prints a line for each turn of a server as it ends, until interrupted. Raises TraceError."""
    from assistant.trace_report.subscription import subscribe  # noqa: PLC0415 - httpx, which files do not need

    for record in subscribe(address, environ, warn, time.sleep):
        console.print(_one_line(convert_record(line_of, record)), soft_wrap=True)


def scrub_files(paths: Sequence[Path], console: Console) -> None:
    """Removes the words from every file. Raises TraceError at the first failure; earlier files stay scrubbed."""
    for path in trace_files(paths):
        done = scrub(path, warn)
        words = f"words of {done.held_words} removed" if done.held_words else "no words in them"
        turns = f"{done.turns} turn{'s' * (done.turns != 1)}"
        console.print(f"{path}  {turns}, {words}", soft_wrap=True)


def show_lines(lines: Iterable[str], console: Console) -> None:
    """Prints lines verbatim: without folding or markup. Line breaks from a trace are replaced."""
    for line in lines:
        console.print(_one_line(line), soft_wrap=True)


def _one_line(line: str) -> Text:
    return Text(line.replace("\n", REPLACED))


def _named(paths: Sequence[Path]) -> str:
    return ", ".join(map(str, paths))


def _source(paths: Sequence[Path], files: Sequence[Path]) -> str:
    """Returns a line with the folder and the days of its conversations, which their file names begin with."""
    days = sorted(f"{name[:4]}-{name[4:6]}-{name[6:8]}" for file in files if TRACE_NAME.fullmatch(name := file.name))
    period = f", {' to '.join(dict.fromkeys([days[0], days[-1]]))} (UTC)" if days else ""
    return f"read from {', '.join(str(path.absolute()) for path in paths)}{period}"


def _check_page(path: Path, files: Sequence[Path]) -> None:
    """Rejects a page that cannot be drawn or would overwrite a trace. Called before anything is read."""
    if is_among(path, files):
        raise TraceError(f"{path} is one of the traces that are read; name another file with --html.")
    if path.suffix.lower() == ".jsonl":
        raise TraceError(f"{path} has the suffix of a trace; name another file with --html.")
    if reason := why_no_plots():
        raise TraceError(f"{path}: {reason}.")


def _write(path: Path, text: str) -> None:
    try:
        write_whole(path, text.encode())
    except OSError as error:
        raise TraceError(f"{path} cannot be written ({error.strerror}); name another file with --html.") from error
