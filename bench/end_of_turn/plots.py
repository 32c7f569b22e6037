"""Draws the two plots of docs/lab/turn-taking.md."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl

from bench.end_of_turn.curve import Cost

mpl.use("svg")
# The same figures make the same file.
mpl.rcParams["svg.hashsalt"] = "repartee"
mpl.rcParams["svg.fonttype"] = "none"

from matplotlib import pyplot as plt  # noqa: E402

_COLOURS = {
    "fixed": "#888888",
    "sound": "#2a9d8f",
    "text": "#e9a23b",
    "smart": "#4361ee",
    "sound+text": "#8ab17d",
    "sound+text+smart": "#d62839",
}


def colour_of(source: str) -> str:
    """Returns the colour of a source. Expected punctuation counts as part of the words."""
    return _COLOURS.get(source.replace("+closure", ""), "#bbbbbb")


@dataclass(frozen=True, slots=True)
class Curve:
    """A way of waiting over all its settings, the most eager first."""

    name: str
    points: list[tuple[str, Cost]]


def plot_curves(curves: Sequence[Curve], profiles: Sequence[tuple[str, Cost]], path: Path) -> None:
    """Draws the median wait against the share of paused turns that are cut into."""
    figure, axes = plt.subplots(figsize=(7.5, 4.8))
    for curve in curves:
        points = [(cost.median_ms, 100 * cost.cut_turns) for _, cost in curve.points]
        style = "o--" if curve.name == "fixed" else "-"
        colour = colour_of(curve.name)
        axes.plot(*zip(*points, strict=True), style, color=colour, label=curve.name, markersize=3)
    for name, cost in profiles:
        axes.plot(cost.median_ms, 100 * cost.cut_turns, "D", color=colour_of("sound+text+smart"))
        axes.annotate(name, (cost.median_ms, 100 * cost.cut_turns), xytext=(6, 4), textcoords="offset points")
    axes.set(xlim=(120, 1250), ylim=(0, 102), xlabel="median wait after the last word, ms")
    axes.set_ylabel("turns with a pause ≥ 300 ms cut into, %")
    axes.grid(alpha=0.25)
    axes.legend(frameon=False)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def plot_areas(areas: Mapping[str, Mapping[str, tuple[float, float, float]]], silence_ms: int, path: Path) -> None:
    """Draws area under the curve and its interval, by set and source."""
    figure, axes = plt.subplots(figsize=(7.5, 3.8))
    sets = list(areas)
    sources = list(areas[sets[0]])
    for place, source in enumerate(sources):
        positions = [index + (place - len(sources) / 2) * 0.1 for index in range(len(sets))]
        intervals = [areas[name][source] for name in sets]
        middle = [value for value, _, _ in intervals]
        spread = [[value - low for value, low, _ in intervals], [high - value for value, _, high in intervals]]
        axes.errorbar(positions, middle, spread, fmt="o", color=colour_of(source), label=source, capsize=2)
    axes.axhline(0.5, color="#888888", linewidth=0.8)
    axes.set_xticks(range(len(sets)), [name.replace(", ", ",\n") for name in sets], fontsize=8)
    axes.set(ylim=(0.35, 1.0), ylabel=f"area at {silence_ms} ms of silence")
    axes.legend(frameon=False, fontsize=7, ncols=2, loc="upper right")
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
