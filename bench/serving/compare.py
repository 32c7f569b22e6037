"""Compares two runs side by side. Pure."""

from collections.abc import Iterator

from assistant.trace.latency import STAGES
from bench.serving.cells import NONE, OF_TURNS, TITLES, pair, percent, table, triple
from bench.serving.figures import (
    band_ends_at,
    bargein_figures,
    false_starts_per_minute,
    first_and_later,
    own_spread,
    per_minute,
    spread,
    stage_spreads,
    sweep_points,
    turn_figures,
)
from bench.serving.rows import Run, Scenario, measured


def comparison(before: Run, now: Run) -> str:
    """Returns every figure that at least one run has; — if the other has none."""
    old, new = dict(_figures(before)), dict(_figures(now))
    names = dict.fromkeys([*old, *new])
    rows = [(name, old.get(name, NONE), new.get(name, NONE)) for name in names]
    return table(("figure", "before", "now"), [row for row in rows if row[1:] != (NONE, NONE)])


def _figures(run: Run) -> Iterator[tuple[str, str]]:
    for scenario in OF_TURNS:
        yield from _of_turns(run, scenario, "")
    for variant in run.variants:
        yield from _of_turns(run, "turns", variant)
        yield from _of_turns(run, "paused", variant)
    bargein = bargein_figures(run.of("bargein"))
    yield "barge-in: duck p50 / p95 ms", pair(bargein.duck)
    yield "barge-in: stop p50 / p95 ms", pair(bargein.stop)
    yield "barge-in: missed, of", f"{bargein.missed}, {bargein.tried}" if bargein.tried else NONE
    holds = measured(run.of("hold"))
    yield "replies not stopped by a noise, of", f"{sum(row.held is True for row in holds)}, {len(holds)}"
    starts = false_starts_per_minute(run.of("noise"))
    yield "noise alone: false starts per minute", NONE if starts is None else f"{starts:.1f}"
    first, later = first_and_later(run.of("warmup"))
    yield "first turn after a start, p50 / p95 ms", pair(spread(first))
    yield "later turns, p50 / p95 ms", pair(spread(later))
    for by_rate, name in ((False, "ms to the first token"), (True, "tokens/s")):
        ends = band_ends_at(sweep_points(run.of("sweep"), by_rate=by_rate))
        yield f"500 ms are exceeded at, {name}", NONE if ends is None else f"{ends:.0f}"
    for cost in run.costs:
        name = f"{cost.scenario} {cost.variant}".rstrip()
        yield (
            f"{name}: CPU s per minute, without / with recognizer and voice",
            "{:.2f} / {:.2f}".format(*per_minute(cost)),
        )
    for point in run.curve:
        if point.source == "profile":
            yield (
                f"computed: {point.setting}, wait p50 / p95 ms, cut into",
                f"{point.median_ms:.0f} / {point.p95_ms:.0f}, {percent(point.cut_share)}",
            )
    yield "taken by other programs", NONE if run.others is None else percent(run.others)


def _of_turns(run: Run, scenario: Scenario, variant: str) -> Iterator[tuple[str, str]]:
    rows, title = run.of(scenario, variant), f"{variant} {TITLES[scenario]}".lstrip()
    turn_values = turn_figures(rows)
    yield f"{title}: latency p50 / p95 / max ms", triple(turn_values.latency)
    counts = (
        f"{turn_values.talked_over}, {turn_values.unanswered}, {turn_values.premature}, {turn_values.turns}"
        if turn_values.turns
        else NONE
    )
    yield f"{title}: talked over, unanswered, premature, of", counts
    stages = stage_spreads(rows)
    for name in STAGES:
        yield f"{title}: `{name}` p50 / p95 ms", pair(stages.get(name))
    yield f"{title}: our own p50 / p95 ms", pair(own_spread(rows))
