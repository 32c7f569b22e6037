"""Draws the plots of a report's page as SVG text without external references.

The colours are CSS variables of the page, so that its light and dark theme both apply.
"""

import io
import re
import warnings
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from assistant.trace.latency import STAGES, Stage
from assistant.trace.waterfall import BAND_MS, shown
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
"""Colours of the stages in the light theme. They match the page of `repartee serve` (web/static/style/base.css)."""

DARK_STAGE_COLOURS: Mapping[Stage, str] = {
    "endpoint_wait": "#4b5a61",
    "stt": "#8fb4f5",
    "queue": "#8b97a0",
    "llm_network": "#a995ef",
    "llm_first_token": "#dd92cf",
    "first_sentence": "#f09c86",
    "tts": "#6fd3b8",
    "transport": "#e6c76c",
    "playout": "#9acb7b",
}
"""Colours of the stages in the dark theme."""

MAX_BEFORE_MS = 300.0
"""Time before the end of speech that the plot of a turn shows at most."""

MAX_BARS = 200
"""Maximum number of bars. With more turns, each bar is the mean of several consecutive turns."""

_INK, _FAINT, _GRID, _BAND = "#010101", "#020202", "#030303", "#040404"
_VARIABLES: Mapping[str, str] = {
    _INK: "text", _FAINT: "soft", _GRID: "border", _BAND: "reply",
    **{colour: stage for stage, colour in STAGE_COLOURS.items()},
}  # fmt: skip
"""The page's variable for each colour in a drawing. The first four stand only for these."""

_COLOUR = re.compile("#[0-9a-f]{6}")
_GROUP_ID = re.compile('<g id="[^"]*">')
# These entries name external resources.
_NO_METADATA: Mapping[str, None] = dict.fromkeys(("Date", "Creator", "Format", "Type"))


def css_colours(colours: Mapping[Stage, str]) -> str:
    """Returns the colours as CSS variables."""
    return " ".join(f"--{stage}: {colour};" for stage, colour in colours.items())


def upper_end(latency: Values) -> float:
    """Returns the upper end of an axis for sorted latencies: a few slow turns would make all others too small."""
    return min(float(latency[-1]), max(BAND_MS[1], 1.5 * percentile(latency, 95)))


def distribution(latency: Values) -> str:
    """Draws a histogram of sorted latencies, without the few that are far slower than the others."""
    with _style():
        figure, axes = _figure(2.6)
        most = upper_end(latency)
        axes.hist(latency, bins=np.linspace(0, max(most, BAND_MS[1]) * 1.02, 80).tolist(), color=_BAND)
        axes.axvspan(*BAND_MS, color=_BAND, alpha=0.08)
        at_ms = {percent: min(percentile(latency, percent), most) for percent in (50, 95, 99)}
        for percent, latency_ms in at_ms.items():
            axes.axvline(latency_ms, color=_INK, linewidth=0.8)
            together = [f"p{other}" for other, there in at_ms.items() if abs(there - latency_ms) < most / 30]
            if together[0] == f"p{percent}":  # else its label stands at the percentile before it
                label = ", ".join(together)
                axes.annotate(label, (latency_ms, 1.01), xycoords=("data", "axes fraction"), ha="center", fontsize=8)
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
                axes.bar(edges[:-1], heights, sizes, foot, align="edge", color=STAGE_COLOURS[stage], label=shown(stage))
                foot += heights
        axes.axhspan(*BAND_MS, color=_BAND, alpha=0.08)
        axes.set_xlim(0, turns)
        most = upper_end(np.sort(foot))
        axes.set_ylim(0, max(most, BAND_MS[1]) * 1.05)
        mean = f"; a bar is the mean of {sizes.max()}" if sizes.max() > 1 else ""
        beyond = int((foot > most * 1.05).sum())
        cut = f"; {beyond} cut off, the highest has {foot.max():.0f} ms" if beyond else ""
        axes.set_xlabel(f"turns, oldest first{mean}{cut}")
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
        axes.axvspan(*BAND_MS, color=_BAND, alpha=0.08)
        axes.set_xlim(*_shown(rows, zero_ms))
        axes.set_yticks(range(len(rows)), [f"{row.attempt} {shown(row.name)}" for row in rows], fontsize=7)
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.set_xlabel("ms after the end of speech")
        axes.legend(handles=_costs(), loc="upper left", bbox_to_anchor=(1, 1), frameon=False, fontsize=7)
        return _svg(figure)


def _shown(rows: Sequence[WaterfallRow], zero_ms: float) -> tuple[float, float]:
    """Returns the part of a turn that matters: from shortly before the end of speech to the end of what was heard."""
    heard = [row for row in rows if any(piece.cost != "dropped" for piece in row.pieces)] or rows
    begin_ms = min((row.start_ms for row in rows), default=zero_ms) - zero_ms
    end_ms = max((row.end_ms for row in heard), default=zero_ms) - zero_ms
    return max(min(begin_ms, 0.0), -MAX_BEFORE_MS), max(end_ms, BAND_MS[0]) * 1.04


def _style() -> AbstractContextManager[None]:
    """Returns the plot style: text stays text, and the same turns give the same page."""
    return mpl.rc_context(
        {
            "svg.hashsalt": "repartee",
            "svg.fonttype": "none",
            "font.size": 9,
            "axes.edgecolor": _FAINT,
            "axes.labelcolor": _INK,
            "text.color": _INK,
            "xtick.color": _FAINT,
            "ytick.color": _FAINT,
            "xtick.labelcolor": _INK,
            "ytick.labelcolor": _INK,
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
    drawn = text.getvalue().partition("<svg")[2].join(("<svg", ""))
    drawn = _GROUP_ID.sub("<g>", drawn)  # every drawing has the same ids; a page must not repeat them
    return _COLOUR.sub(lambda match: f"var(--{_VARIABLES[match[0]]})" if match[0] in _VARIABLES else match[0], drawn)
