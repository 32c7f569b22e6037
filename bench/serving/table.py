"""Renders a run's figures as Markdown. Pure."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from assistant.trace.waterfall import shown
from bench.serving.cells import (
    NONE,
    OF_TURNS,
    TITLES,
    each,
    numbers,
    pair,
    paused_cell,
    percent,
    plain_cell,
    table,
    triple,
)
from bench.serving.figures import (
    OUTSIDE,
    BargeinFigures,
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
from bench.serving.rows import Row, Run, Scenario, measured
from bench.serving.trade import curve_table, engines_table, profiles_table

PEERS = (
    ("Pipecat 1.14, default", "629–655 / 1885–3375, 0–4 %", "53–56 %, 670 / 2195–3418", "252 / 406"),
    ("LiveKit Agents 1.8, default", "809–817 / 919–1578, 0 %", "68–82 %", "528 / 597"),
    ("Pipecat 1.14, tuned", "549–557 / 2214–3248, 0 %", "41–52 %, 562–567 / 3270–3388", "149 / 246"),
    ("LiveKit Agents 1.8, tuned", "674–684 / 774–783, 22–23 %", "96–100 %", ""),
)
"""Results of other projects, measured earlier with similar recordings and the same LLM (100 ms, 50 tokens/s) on two
cores.
"""

LATE_MS = 10.0
"""Delay of the client's sound in milliseconds above which the machine was too slow for a fair measurement."""

BUSY = 0.1
"""Share of the processors used by others above which a machine counts as busy."""


def report(run: Run) -> str:
    """Returns the complete report."""
    return "\n\n".join(part for part in (conditions(run), main_table(run), *_details(run)) if part)


def conditions(run: Run) -> str:
    """Returns the conditions of the measurement, and whether they were fair."""
    late_ms = max((row.late_ms for row in run.rows), default=0.0)
    if run.others is None:
        busy = "what else ran on the machine is not known"
    else:
        word = "busy" if run.others >= BUSY else "quiet"
        busy = f"the machine was {word}: other programs took {100 * run.others:.0f} % of its processors"
    lines = [
        f"`{run.command}`, {run.at[:16].replace('T', ' ')} UTC, {run.cores} cores; {busy}.",
        f"The client's sound left at most {late_ms:.1f} ms late (99th percentile of the worst connection)"
        + ("; this is over 10 ms, so the load of the machine is part of the figures." if late_ms > LATE_MS else "."),
        f"Ready {run.ready_s:.1f} s after its start. " + "; ".join(_without_local_paths(line) for line in run.engines),
    ]
    lines += [f"Not measured: {count} of {name}: {why}." for (name, why), count in _failure_counts(run).items()]
    return "\n".join(lines)


def main_table(run: Run) -> str:
    """Returns the table for comparison with others."""
    rows = [
        "| on labelled recordings | plain turns: latency p50 / p95 ms, talked over "
        "| turns with a pause ≥ 300 ms: talked over, then p50 / p95 ms | on barge-in: ducks; stops, p50 / p95 ms |",
        "|---|---|---|---|",
    ]
    plain, paused, bargein = (run.of(scenario) for scenario in ("turns", "paused", "bargein"))
    cells = [
        plain_cell(turn_figures(plain)) if plain else "—",
        paused_cell(turn_figures(paused)) if paused else "—",
        _bargein_cell(bargein_figures(bargein)) if bargein else "—",
    ]
    rows.append("| **Repartee, this run** | " + " | ".join(cells) + " |")
    rows += ["| " + " | ".join(peer) + " |" for peer in PEERS]
    note = (
        "The other projects were measured earlier, on other recordings of the same kind, with the same language model, "
        "on two cores. Default: Pipecat with Silero 0.2 s and Smart Turn v3; LiveKit with its own turn model and "
        "preemptive generation. Tuned: Pipecat with Silero 0.1 s, Smart Turn and chunks of 10 ms; LiveKit with Silero "
        "0.1 s. Only Repartee ducks: it lowers the volume at once, and stops the reply when words show that the "
        "user interrupts."
    )
    return "\n".join([*rows, "", note])


def _bargein_cell(figures: BargeinFigures) -> str:
    return f"{pair(figures.duck)}; {pair(figures.stop)}"


def _details(run: Run) -> Iterator[str]:
    yield turns_table(run)
    for scenario in (*OF_TURNS, "bargein"):
        yield stages_table(run, scenario)
    yield "\n".join((*interruptions(run), *first_and_later_turns(run), *sweep(run)))
    yield profiles_table(run)
    yield engines_table(run)
    yield curve_table(run)
    yield cost_table(run)


def turns_table(run: Run) -> str:
    """Returns a table of everything that can go well or wrong with a turn."""
    heads = (
        "turns", "", "latency p50 / p95 / max ms", "talked over", "reply meanwhile p50 / p95 / max ms",
        "unanswered", "premature", "several replies",
        "wrong reply", "asked other words", "words heard wrong",
    )  # fmt: skip
    rows = []
    for scenario in OF_TURNS:
        if scenario_rows := run.of(scenario):
            figures = turn_figures(scenario_rows)
            counts = (
                figures.unanswered,
                figures.premature,
                figures.several,
                figures.wrong_replies,
                figures.other_words,
            )
            turns = f"{figures.turns}" + (f", {figures.lost} lost" if figures.lost else "")
            errors = NONE if figures.word_errors is None else percent(figures.word_errors)
            talked_over = (str(figures.talked_over), triple(figures.overlap))
            rows.append((TITLES[scenario], turns, triple(figures.latency), *talked_over, *map(str, counts), errors))
    return table(heads, rows)


def stages_table(run: Run, scenario: Scenario) -> str:
    """Returns a table of where the time of a scenario's turns went."""
    stages = stage_spreads(run.of(scenario))
    if not stages:
        return ""
    own = own_spread(run.of(scenario))
    rows = [(shown(name), numbers(stage)) for name, stage in stages.items() if name != OUTSIDE]
    rows += [("our own share of it", numbers(own))] if own is not None else []
    rows += [("measured outside, less the trace", numbers(stages[OUTSIDE]))] if OUTSIDE in stages else []
    lines = [f"| {name} | {cells} |" for name, cells in rows]
    return "\n".join([f"| {TITLES[scenario]}: stage, ms | p50 | p95 | max |", "|---|---|---|---|", *lines])


def interruptions(run: Run) -> Iterator[str]:
    """Yields a line each for barge-in, hold and noise."""
    bargein, hold, noise = run.of("bargein"), run.of("hold"), run.of("noise")
    if bargein:
        figures = bargein_figures(bargein)
        yield (
            f"- Barge-in, {figures.tried} ({figures.void} void): `repartee.duck` after {pair(figures.duck)} ms, "
            f"`speech_started` after {pair(figures.stop)} ms, missed {figures.missed}{_reasons(bargein)}; "
            f"the interruption answered after {pair(figures.answer)} ms."
        )
    if hold:
        good = measured(hold)
        held = sum(row.held is True for row in good)
        void = len(hold) - len(good)
        yield f"- Hold: {held} of {len(good)} replies were not stopped by a noise{_reasons(hold)}; {void} void."
    starts = false_starts_per_minute(noise)
    if starts is not None:
        good = measured(noise)
        seconds, replies = sum(row.seconds for row in good), sum(row.replies for row in good)
        yield f"- Noise alone, {seconds:.0f} s: {starts:.1f} false starts per minute, {replies} replies."


def first_and_later_turns(run: Run) -> Iterator[str]:
    """Yields first turns apart from later ones, for simultaneous users and after a start."""
    first, later = first_and_later(run.of("sessions"))
    if first and later:
        yield (
            f"- Several at once: first turns of a connection p50 / p95 {pair(spread(first))} ms, "
            f"later ones {pair(spread(later))} ms."
        )
    first, later = first_and_later(run.of("warmup"))
    if first and later:
        yield f"- Warm-up: first turns after a start {each(first)} ms; those after them {each(later)} ms."


def sweep(run: Run) -> Iterator[str]:
    """Yields the crossing of the latency limit: a line for the time to the first token and one for the rate."""
    for by_rate, unit, what in ((False, "ms", "to the first token"), (True, "tokens/s", "")):
        points = sweep_points(run.of("sweep"), by_rate=by_rate)
        if points:
            ends = band_ends_at(points)
            shown = ", ".join(f"{point.value:g}: {point.median_ms:.0f}" for point in points)
            where = f"500 ms are exceeded at {ends:.0f} {unit}" if ends is not None else "500 ms are not exceeded"
            yield f"- Sweep, {unit} {what}".rstrip() + f": median ms at {shown}; {where}."


def cost_table(run: Run) -> str:
    """Returns a table of processor time by scenario and variant."""
    heads = (
        "CPU s per minute of conversation", "conversation minutes", "event loop", "other threads",
        "recognizer and voice", "without / with recognizer and voice",
    )  # fmt: skip
    rows = []
    for cost in run.costs:
        if cost.minutes:
            parts = [f"{part / cost.minutes:.2f}" for part in (cost.loop_s, cost.threads_s, cost.engines_s)]
            name = f"{cost.scenario}, {cost.variant}" if cost.variant else cost.scenario
            rows.append((name, f"{cost.minutes:.1f}", *parts, "{:.2f} / {:.2f}".format(*per_minute(cost))))
    return table(heads, rows)


def _without_local_paths(line: str) -> str:
    """Removes ports and temporary folders from an engine's line: they differ in each run."""
    return re.sub(r"(?<= )/\S+/", "", re.sub(r" at https?://[^\s;,]+", "", line))


def _failure_counts(run: Run) -> Counter[tuple[str, str]]:
    """Counts failed measurements by scenario and reason."""
    return Counter((f"{row.scenario} {row.variant}".rstrip(), row.lost.rstrip(".")) for row in run.rows if row.lost)


def _reasons(rows: Sequence[Row]) -> str:
    """Formats why rows failed at once, as " (1 no reply to interrupt)"."""
    reasons = Counter(row.why for row in measured(rows) if row.why)
    return f" ({', '.join(f'{count} {why}' for why, count in reasons.items())})" if reasons else ""
