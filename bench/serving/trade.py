"""Renders trade-offs between settings as tables: profiles, recognizers, and the computed curve. Pure."""

from itertools import pairwise

from bench.serving.cells import NONE, numbers, paused_cell, plain_cell, table
from bench.serving.figures import per_minute, stage_spreads, turn_figures
from bench.serving.rows import CurvePoint, Row, Run, Scenario
from bench.serving.variants import ENGINES, PROFILES

SHOWN_EVERY = 2
"""The table shows every n-th point of a source; the plot shows all."""


def profiles_table(run: Run) -> str:
    """Returns latency against cut-ins, by profile; "" without measurements."""
    variants = [variant for variant in run.variants if variant in PROFILES]
    heads = ("profile, from outside", "plain turns", "p50 / p95 ms, talked over", "turns with a pause ≥ 300 ms",
             "talked over, then p50 / p95 ms")  # fmt: skip
    rows = []
    for name in ("", *variants) if variants else ():
        plain, paused = (_like(run, scenario, name, variants) for scenario in _SCENARIOS)
        rows.append((
            name or _own(run, "turn.profile", "auto"),
            str(len(plain)), plain_cell(turn_figures(plain)) if plain else NONE,
            str(len(paused)), paused_cell(turn_figures(paused)) if paused else NONE,
        ))  # fmt: skip
    return table(heads, [row for row in rows if row[1] != "0" or row[3] != "0"])


def engines_table(run: Run) -> str:
    """Returns latency and processor time by recognizer; "" without measurements."""
    variants = [variant for variant in run.variants if variant in ENGINES]
    heads = ("recognizer", "plain turns", "p50 / p95 ms, talked over", "`stt` p50", "p95", "max",
             "unanswered", "CPU s per minute")  # fmt: skip
    costs = {(cost.scenario, cost.variant): cost for cost in run.costs}
    rows = []
    for name in ("", *variants) if variants else ():
        if scenario_rows := _like(run, "turns", name, variants):
            figures, stt = turn_figures(scenario_rows), stage_spreads(scenario_rows).get("stt")
            cost = costs.get(("turns", name))
            rows.append((
                name or "this run's", str(figures.turns), plain_cell(figures),
                "0.0 | 0.0 | 0.0" if stt is None else numbers(stt), str(figures.unanswered),
                NONE if cost is None else f"{per_minute(cost)[1]:.1f}",
            ))  # fmt: skip
    return table(heads, rows)


def curve_table(run: Run) -> str:
    """Returns a line for every second setting of each source that adds information; "" without a computed curve."""
    heads = ("source, setting", "wait p50 / p95 ms", "turns with a pause ≥ 300 ms cut into", "others cut into")
    rows = []
    for source in dict.fromkeys(point.source for point in run.curve):
        points = [point for point in run.curve if point.source == source]
        shown = [_curve_row(point) for point in (points if source == "profile" else points[::SHOWN_EVERY])]
        rows += [row for before, row in pairwise([("",) * len(heads), *shown]) if row[1:] != before[1:]]
    return table(heads, rows)


_SCENARIOS: tuple[Scenario, Scenario] = ("turns", "paused")


def _curve_row(point: CurvePoint) -> tuple[str, str, str, str]:
    return (
        f"{point.source}, {point.setting}",
        f"{point.median_ms:.0f} / {point.p95_ms:.0f}",
        f"{100 * point.cut_share:.0f} %",
        f"{100 * point.cut_plain_share:.0f} %",
    )


def _like(run: Run, scenario: Scenario, name: str, variants: list[str]) -> list[Row]:
    """Returns rows of a variant. For the run itself, only clips that the variants had, so that they compare."""
    if name:
        return run.of(scenario, name)
    clips = {row.clip for variant in variants for row in run.of(scenario, variant)}
    return [row for row in run.of(scenario) if row.clip in clips]


def _own(run: Run, key: str, default: str) -> str:
    """Returns the run's own value of a setting."""
    named = [setting.partition("=")[2].strip() for setting in run.settings if setting.partition("=")[0].strip() == key]
    return f"{named[-1] if named else default} (this run's)"
