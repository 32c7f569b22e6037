"""Draws the plots of a report's page as SVG text without external references."""

import io
import warnings
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from assistant.trace.latency import STAGES, Stage
from assistant.trace.waterfall import BAND_MS
from assistant.trace_report.statistics import Values, percentile
from assistant.trace_report.waterfall import WaterfallRow

if TYPE_CHECKING:
    from matplotlib.axes import Axes

STAGE_COLOURS: Mapping[Stage, str] = {
    "endpoint_wait": "#a9b4b5",
    "stt": "#5b8be0",
    "queue": "#8b97a0",
    "llm_network": "#8a70e0",
    "llm_first_token": "#c763b4",
    "first_sentence": "#e07a5f",
    "tts": "#22a384",
    "transport": "#cfa32e",
    "playout": "#6ca646",
}
"""Colours of the stages. They match the page of `repartee serve`."""

MAX_BARS = 200
"""Maximum number of bars. With more turns, each bar is the mean of several consecutive turns."""

_INK, _FAINT, _GRID, _BAND = "#222222", "#6f6f6f", "#e6e6e6", "#0b7d66"
# These entries name external resources.
_NO_METADATA: Mapping[str, None] = dict.fromkeys(("Date", "Creator", "Format", "Type"))


def distribution(latency: Values) -> str:
    """Draws a histogram of sorted latencies, up to twice the p99."""
    with _style():
        figure, axes = _figure(2.6)
        most = min(float(latency[-1]), 2 * percentile(latency, 99))
        axes.hist(latency, bins=np.linspace(0, max(most, BAND_MS[1]) * 1.02, 80).tolist(), color=_BAND)
        axes.axvspan(*BAND_MS, color=_BAND, alpha=0.08)
        for percent in (50, 95, 99):
            at_ms = percentile(latency, percent)
            axes.axvline(at_ms, color=_INK, linewidth=0.8)
            axes.annotate(f"p{percent}", (at_ms, 1.01), xycoords=("data", "axes fraction"), ha="center", fontsize=8)
        beyond = int((latency > most).sum())
        axes.set_xlabel(f"response latency, ms{f'; {beyond} beyond {most:.0f}' if beyond else ''}")
        axes.set_ylabel("turns")
        return _svg(figure)


def over_time(stages: Values) -> str:
    """Draws the stages of each turn over time. Expects one row for each of STAGES, and turns in order."""
    with _style():
        figure, axes = _figure(2.8)
        turns = stages.shape[1]
        edges = np.linspace(0, turns, min(turns, MAX_BARS) + 1).astype(np.int64)
        sizes = np.diff(edges)
        foot = np.zeros(len(sizes))
        for stage, values in zip(STAGES, stages, strict=True):
            heights = np.add.reduceat(values.astype(np.float64), edges[:-1]) / sizes
            if heights.any():
                axes.bar(edges[:-1], heights, sizes, foot, align="edge", color=STAGE_COLOURS[stage], label=stage)
                foot += heights
        axes.axhspan(*BAND_MS, color=_BAND, alpha=0.08)
        axes.set_xlim(0, turns)
        axes.set_xlabel("turns, oldest first" + (f"; a bar is the mean of {sizes.max()}" if sizes.max() > 1 else ""))
        axes.set_ylabel("ms")
        axes.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False, fontsize=8)
        return _svg(figure)


def turn_plot(rows: Sequence[WaterfallRow], zero_ms: float) -> str:
    """Draws the spans of one turn. Solid: part of the latency; pale: hidden; outline: dropped."""
    with _style():
        figure, axes = _figure(0.5 + 0.2 * len(rows))
        for place, row in enumerate(rows):
            for piece in row.pieces:
                colour = STAGE_COLOURS.get(row.stage, _FAINT)  # a newer version may have more stages
                # Spans have a minimum drawn width of 1 ms: a shorter span would be invisible.
                width = max(piece.end_ms - piece.start_ms, 1.0)
                dropped = piece.cost == "dropped"
                axes.barh(
                    place,
                    width,
                    0.7,
                    piece.start_ms - zero_ms,
                    color="none" if dropped else colour,
                    edgecolor=colour if dropped else "none",
                    alpha=0.35 if piece.cost == "hidden" else 1.0,
                )
        axes.axvline(0, color=_INK, linewidth=0.8)
        axes.set_yticks(range(len(rows)), [f"{row.attempt} {row.name}" for row in rows], fontsize=7)
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.set_xlabel("ms after the end of speech")
        axes.legend(handles=_costs(), loc="upper left", bbox_to_anchor=(1, 1), frameon=False, fontsize=7)
        return _svg(figure)


def _style() -> AbstractContextManager[None]:
    """Returns the plot style: text stays text, and the same turns give the same page."""
    return mpl.rc_context(
        {
            "svg.hashsalt": "repartee",
            "svg.fonttype": "none",
            "font.size": 9,
            "axes.edgecolor": _FAINT,
            "text.parse_math": False,  # endpoint names may contain "$" and are not formulas
        }
    )


def _costs() -> list[Patch]:
    return [
        Patch(color=_FAINT, label="waited for"),
        Patch(facecolor=_FAINT, alpha=0.35, label="hidden"),
        Patch(facecolor="none", edgecolor=_FAINT, label="dropped"),
    ]


def _figure(height_in: float) -> "tuple[Figure, Axes]":
    figure = Figure(figsize=(9, height_in), facecolor="none", layout="constrained")
    axes = figure.subplots()
    axes.set_facecolor("none")
    axes.grid(axis="both", color=_GRID)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def _svg(figure: Figure) -> str:
    text = io.StringIO()
    with warnings.catch_warnings():
        # Text stays text: the reader's browser has the glyphs that the font of this machine may lack.
        warnings.filterwarnings("ignore", "Glyph", UserWarning)
        figure.savefig(text, format="svg", metadata=dict(_NO_METADATA))
    # Starts at the <svg> element: the document type before it refers to an external file.
    return text.getvalue().partition("<svg")[2].join(("<svg", ""))
