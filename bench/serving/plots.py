"""Draws the plots of a run: turn latencies, the sweep with the latency limit, and the silence timeout trade-off."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from assistant.trace.waterfall import BAND_MS
from bench.end_of_turn.plots import colour_of  # also makes the SVG files reproducible
from bench.serving.figures import Point, band_ends_at, sweep_points, turn_figures
from bench.serving.rows import Run, Scenario, measured

_BAND = "#8ab17d"
SHOWN: dict[Scenario, tuple[str, str]] = {
    "turns": ("plain turns", "#d62839"),
    "paused": ("with a pause, not talked over", "#4361ee"),
    "sessions": ("several at once", "#e9a23b"),
}


def plot(run: Run, folder: Path) -> list[Path]:
    """Draws the plots for which the run has figures. Returns the files."""
    written = []
    if any(run.of(scenario) for scenario in SHOWN):
        written.append(folder / "latencies.svg")
        plot_latencies(run, written[-1])
    if run.of("sweep"):
        written.append(folder / "sweep.svg")
        plot_sweep(run, written[-1])
    if run.curve:
        written.append(folder / "curve.svg")
        plot_curve(run, written[-1])
    return written


def plot_latencies(run: Run, path: Path) -> None:
    """Draws the share of turns answered within a time."""
    _figure, axes = plt.subplots(figsize=(7.5, 3.6))
    axes.axvspan(*BAND_MS, color=_BAND, alpha=0.25, linewidth=0)
    for scenario, (label, colour) in SHOWN.items():
        rows = measured(run.of(scenario))
        latencies_ms = sorted(row.latency_ms for row in rows if row.latency_ms is not None and not row.cut_in)
        if latencies_ms:
            shares = [100 * (place + 1) / len(latencies_ms) for place in range(len(latencies_ms))]
            axes.step(latencies_ms, shares, where="post", color=colour, label=f"{label} ({len(latencies_ms)})")
    axes.set(xlim=(0, None), ylim=(0, 102), xlabel="from the last word to the first sound of the reply, ms")
    axes.set_ylabel("turns answered by then, %")
    axes.grid(alpha=0.25)
    axes.legend(frameon=False, loc="lower right")
    _save(path)


def plot_sweep(run: Run, path: Path) -> None:
    """Draws median latency and its range against the LLM's time to the first token, and against its rate."""
    _figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True)
    rows = run.of("sweep")
    _sweep(left, sweep_points(rows, by_rate=False), "time to the first token, ms")
    _sweep(right, sweep_points(rows, by_rate=True), "tokens per second")
    left.set(ylim=(0, None), ylabel="response latency, ms")
    right.set_xscale("log")
    right.set_xticks([point.value for point in sweep_points(rows, by_rate=True)])
    right.xaxis.set_major_formatter("{x:g}")
    right.minorticks_off()
    _save(path)


def plot_curve(run: Run, path: Path) -> None:
    """Draws the median wait against the share of paused turns that are cut into; and complete latencies as measured."""
    _figure, axes = plt.subplots(figsize=(7.5, 4.4))
    for source in dict.fromkeys(point.source for point in run.curve if point.source != "profile"):
        points = [(point.median_ms, 100 * point.cut_share) for point in run.curve if point.source == source]
        style = "o--" if source == "fixed" else "-"
        axes.plot(*zip(*points, strict=True), style, color=colour_of(source), label=source, markersize=3)
    for point in run.curve:
        if point.source == "profile":
            point_place = (point.median_ms, 100 * point.cut_share)
            axes.plot(*point_place, "D", color=colour_of("sound+text+smart"))
            axes.annotate(point.setting, point_place, xytext=(6, 4), textcoords="offset points")
    for variant in ("", *run.variants):
        plain, paused = turn_figures(run.of("turns", variant)), turn_figures(run.of("paused", variant))
        if plain.latency is not None and paused.turns:
            point_place = (plain.latency.p50, 100 * paused.talked_over_share)
            axes.plot(*point_place, "x", color="#000000")
            axes.annotate(
                f"{variant or 'this run'}, measured", point_place, xytext=(6, -11), textcoords="offset points"
            )
    axes.set(xlim=(100, 1250), ylim=(0, 104), xlabel="median wait after the last word, ms; x: the whole latency")
    axes.set_ylabel("turns with a pause ≥ 300 ms cut into, %")
    axes.grid(alpha=0.25)
    axes.legend(frameon=False)
    _save(path)


def _sweep(axes: Axes, points: Sequence[Point], label: str) -> None:
    axes.axhspan(*BAND_MS, color=_BAND, alpha=0.25, linewidth=0)
    middle = [point.median_ms for point in points]
    spread = [
        [point.median_ms - point.least_ms for point in points],
        [point.most_ms - point.median_ms for point in points],
    ]
    axes.errorbar([point.value for point in points], middle, spread, fmt="o-", color="#d62839", capsize=3)
    ends = band_ends_at(points)
    if ends is not None:
        axes.axvline(ends, color="#888888", linestyle="--", linewidth=1)
        axes.annotate(f"{ends:.0f}", (ends, BAND_MS[1]), xytext=(4, 4), textcoords="offset points")
    axes.set_xlabel(label)
    axes.grid(alpha=0.25)


def _save(path: Path) -> None:
    plt.gcf().tight_layout()
    plt.savefig(path, metadata={"Date": None})
    plt.close()
