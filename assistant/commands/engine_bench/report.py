"""Reports of `repartee bench engines`: a table for the terminal, a JSON file and a plot."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table

from assistant.commands.engine_bench.bench import BenchReport, BenchRow, MedianAndP95
from assistant.commands.engine_bench.verdict import verdict
from assistant.commands.engine_bench.words import WordErrors
from assistant.support.plots import why_no_plots
from audio.errors import AudioFileError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_TITLES = {
    "stt": "Last frame → final transcript, ms",
    "tts": "Call → first audio, ms",
}
_NONE = "–"
_DOT, _WHISKER, _INK, _FAINT, _GRID = "#2a6f97", "#7fb0cc", "#222222", "#6f6f6f", "#e6e6e6"


def tables(report: BenchReport) -> list[Table]:
    """Returns the tables of recognizers and voices; a stage without rows has no table."""
    result = []
    hearing = [row for row in report.rows if row.stage == "stt"]
    speaking = [row for row in report.rows if row.stage == "tts"]
    if hearing:
        heard = f"{report.clips} clip{'s' * (report.clips != 1)}, {report.speech_s:.0f} s of speech"
        title = f"speech to text: {heard}, transcript requested {report.asked_after_ms:g} ms after it"
        table = _table(
            title, "WER", "in\nnoise", "final ms\np50 / p95", "interim ms\np50 / p95", "real-\ntime\nfactor", "load\nms"
        )
        for row in hearing:
            _add_row(
                table, row, _rate(row.words), _rate(row.words_in_noise), _spelled(row.wait), _spelled(row.first_partial)
            )
        result.append(table)
    if speaking:
        table = _table("text to speech", "first audio ms\np50 / p95", "real-\ntime\nfactor", "load\nms")
        for row in speaking:
            _add_row(table, row, _spelled(row.wait))
        result.append(table)
    return result


def as_json(report: BenchReport) -> str:
    """Returns the report as JSON, with the word error rate beside its counts, and the verdict."""
    rows = [
        asdict(row) | {f"wer{ending}": None if words is None else words.rate for ending, words in _errors_of(row)}
        for row in report.rows
    ]
    return json.dumps(asdict(report) | {"rows": rows, "verdict": verdict(report)}, indent=2, ensure_ascii=False) + "\n"


def write(report: BenchReport, folder: Path) -> list[Path]:
    """Writes `engines.json` and, if there are figures and matplotlib, `engines.svg` and `engines.png`.

    Raises AudioFileError.
    """
    paths = [folder / "engines.json"]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # A model's name may contain bytes that are not UTF-8; escaped, they are valid JSON.
        paths[0].write_text(as_json(report), encoding="utf-8", errors="backslashreplace")
        if any(row.wait is not None for row in report.rows) and why_no_plots() is None:
            paths += _plot(report, folder)
    except OSError as error:
        raise AudioFileError(
            f"{folder} cannot be written ({error.strerror}); name another folder with --out."
        ) from error
    return paths


def _errors_of(row: BenchRow) -> tuple[tuple[str, WordErrors | None], ...]:
    return ("", row.words), ("_in_noise", row.words_in_noise)


# ---- the table ----


def _table(title: str, *headings: str) -> Table:
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("engine and setting", overflow="fold", min_width=18)
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    return table


def _add_row(table: Table, row: BenchRow, *cells: str) -> None:
    factor = _NONE if row.real_time_factor is None else f"{row.real_time_factor:.3f}"
    load = _NONE if row.load_ms is None else f"{row.load_ms:.0f}"
    # All in one column, so that the table fits 80 columns.
    name = "\n".join(text for text in (row.engine, row.setting, row.note) if text)
    table.add_row(name, *cells, factor, load, style="yellow" if row.wait is None else None)


def _rate(words: WordErrors | None) -> str:
    return _NONE if words is None or words.rate is None else f"{words.rate:.2f}"


def _spelled(span: MedianAndP95 | None) -> str:
    return _NONE if span is None else f"{span.p50_ms:.0f} / {span.p95_ms:.0f}"


# ---- the plot ----


def _plot(report: BenchReport, folder: Path) -> list[Path]:
    """Plots a dot for each median and a line to the 95th percentile; recognizers above, voices below."""
    import matplotlib as mpl  # noqa: PLC0415 - on use: it takes half a second
    from matplotlib.figure import Figure  # noqa: PLC0415 - as above

    panels = [[row for row in report.rows if row.stage == stage and row.wait is not None] for stage in _TITLES]
    panels = [rows for rows in panels if rows]
    heights = [len(rows) + 1.5 for rows in panels]
    paths = [folder / "engines.svg", folder / "engines.png"]
    # The same report produces the same file, byte for byte.
    with mpl.rc_context({"svg.hashsalt": "repartee", "font.size": 10, "axes.edgecolor": _FAINT}):
        figure = Figure(figsize=(9, 0.36 * sum(heights) + 0.6), facecolor="white", layout="constrained")
        axes = figure.subplots(len(panels), 1, squeeze=False, gridspec_kw={"height_ratios": heights})[:, 0]
        for axis, rows in zip(axes, panels, strict=True):
            _waits(axis, rows)
        figure.supxlabel(f"dot: median, line: up to the 95th percentile; {report.machine}", fontsize=8, color=_FAINT)
        figure.savefig(paths[0], metadata={"Date": None})
        figure.savefig(paths[1], dpi=150)
    return paths


def _waits(axes: "Axes", rows: list[BenchRow]) -> None:
    """Draws one panel on a log scale from 1 ms: a small engine takes a thousandth of a large one."""
    spans = [row.wait for row in rows if row.wait is not None]
    medians = [max(1.0, span.p50_ms) for span in spans]
    farthest = [max(1.0, span.p95_ms) for span in spans]
    places = range(len(rows))
    axes.set_facecolor("white")
    axes.hlines(places, medians, farthest, color=_WHISKER, linewidth=2)
    axes.scatter(medians, places, s=45, color=_DOT, zorder=3)
    for place, row, span, position in zip(places, rows, spans, farthest, strict=True):
        label = _spelled(span)
        if row.words is not None and row.words.rate is not None:
            label += f"   WER {row.words.rate:.2f}"
        axes.text(position * 1.15, place, label, va="center", fontsize=8, color=_INK)
    axes.set_yticks(places, [f"{row.engine} {row.setting}".strip() for row in rows], parse_math=False)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xscale("log")
    axes.set_xlim(0.8, max(100.0, *farthest) * 6)
    axes.xaxis.set_major_formatter(lambda ms, _place: f"{ms:g}")
    axes.grid(axis="x", color=_GRID)
    axes.set_axisbelow(True)
    axes.set_title(_TITLES[rows[0].stage], loc="left", fontsize=11, color=_INK)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
