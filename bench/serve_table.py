"""A run's figures as markdown. Pure."""

from collections.abc import Iterator, Sequence

from bench.serve_figures import (
    OUTSIDE,
    Spread,
    TurnFigures,
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
from bench.serve_rows import Run, Scenario, measured

PEERS = (
    ("Pipecat 1.14, default", "629–655 / 1885–3375, 0–4 %", "53–56 %, 670 / 2195–3418", "252 / 406"),
    ("LiveKit Agents 1.8, default", "809–817 / 919–1578, 0 %", "68–82 %", "528 / 597"),
    ("Pipecat 1.14, tuned", "549–557 / 2214–3248, 0 %", "41–52 %, 562–567 / 3270–3388", "149 / 246"),
    ("LiveKit Agents 1.8, tuned", "674–684 / 774–783, 22–23 %", "96–100 %", ""),
)
"""Measured before, on other recordings, with the same model (100 ms, 50 tokens/s) on two cores."""

LATE_MS = 10.0
"""Sound that left the client later than that says more of the machine than of the server."""

BUSY = 0.1
"""Share of the processors taken by others from which a machine is called busy."""

_TITLES: dict[Scenario, str] = {
    "turns": "plain turns",
    "paused": "with a pause",
    "sessions": "several at once",
    "warmup": "after a start",
    "bargein": "into a reply",
}
_OF_TURNS: tuple[Scenario, ...] = ("turns", "paused", "sessions", "warmup")


def report(run: Run) -> str:
    """Everything."""
    return "\n\n".join(part for part in (conditions(run), main_table(run), *_details(run)) if part)


def conditions(run: Run) -> str:
    """What was measured on, and whether that was a fair place to measure."""
    late_ms = max((row.late_ms for row in run.rows), default=0.0)
    if run.others is None:
        busy = "what else ran on the machine is not known"
    else:
        word = "busy" if run.others >= BUSY else "quiet"
        busy = f"the machine was {word}: other programs took {100 * run.others:.0f} % of its processors"
    lines = [
        f"`{run.command}`, {run.at[:16].replace('T', ' ')} UTC, {run.cores} cores; {busy}.",
        f"The client's sound left at most {late_ms:.1f} ms late (99th percentile of the worst connection)"
        + ("; over 10 ms, so that the machine is part of what was measured." if late_ms > LATE_MS else "."),
        f"Ready {run.ready_s:.1f} s after its start. " + "; ".join(run.engines),
    ]
    return "\n".join(lines)


def main_table(run: Run) -> str:
    """The table to compare with others."""
    rows = [
        "| on labelled recordings | plain turns: latency p50 / p95 ms, talked over "
        "| turns with a pause ≥ 300 ms: talked over, then p50 / p95 ms | stops on barge-in p50 / p95 ms |",
        "|---|---|---|---|",
    ]
    plain, paused, bargein = (run.of(scenario) for scenario in ("turns", "paused", "bargein"))
    cells = [
        _plain_cell(turn_figures(plain)) if plain else "—",
        _paused_cell(turn_figures(paused)) if paused else "—",
        _pair(bargein_figures(bargein).stop) if bargein else "—",
    ]
    rows.append("| **Repartee, this run** | " + " | ".join(cells) + " |")
    rows += ["| " + " | ".join(peer) + " |" for peer in PEERS]
    note = "The peers: measured before, on other recordings of the same kind, the same model, two cores."
    return "\n".join([*rows, "", note])


def _details(run: Run) -> Iterator[str]:
    yield _turns_table(run)
    for scenario in (*_OF_TURNS, "bargein"):
        yield _stages_table(run, scenario)
    yield "\n".join(_lines(run))
    yield _cost_table(run)


def _turns_table(run: Run) -> str:
    lines = [
        "| turns | | latency p50 / p95 / max ms | talked over | unanswered | premature | several replies "
        "| wrong reply | asked other words | words heard wrong |",
        "|" + "---|" * 10,
    ]
    for scenario in _OF_TURNS:
        rows = run.of(scenario)
        if rows:
            one = turn_figures(rows)
            lost = f", {one.lost} lost" if one.lost else ""
            errors = "—" if one.word_errors is None else f"{100 * one.word_errors:.0f} %"
            lines.append(
                f"| {_TITLES[scenario]} | {one.turns}{lost} | {_triple(one.latency)} | {one.talked_over} "
                f"| {one.unanswered} | {one.premature} | {one.several} | {one.wrong_replies} | {one.other_words} "
                f"| {errors} |"
            )
    return "\n".join(lines) if len(lines) > 2 else ""


def _stages_table(run: Run, scenario: Scenario) -> str:
    stages = stage_spreads(run.of(scenario))
    own = own_spread(run.of(scenario))
    if not stages:
        return ""
    lines = [f"| {_TITLES[scenario]}: stage, ms | p50 | p95 | max |", "|---|---|---|---|"]
    lines += [f"| `{name}` | {_numbers(one)} |" for name, one in stages.items() if name != OUTSIDE]
    lines += [f"| our own share of it | {_numbers(own)} |"] if own is not None else []
    lines += [f"| measured outside, less the trace | {_numbers(stages[OUTSIDE])} |"] if OUTSIDE in stages else []
    return "\n".join(lines)


def _lines(run: Run) -> Iterator[str]:
    bargein, hold, noise = run.of("bargein"), run.of("hold"), run.of("noise")
    if bargein:
        one = bargein_figures(bargein)
        yield (
            f"- Barge-in, {one.tried} ({one.void} void): `repartee.duck` after {_pair(one.duck)} ms, `speech_started` "
            f"after {_pair(one.stop)} ms, missed {one.missed}; the interruption answered after {_pair(one.answer)} ms."
        )
    if hold:
        good = measured(hold)
        held = sum(row.held is True for row in good)
        yield f"- Hold: {held} of {len(good)} replies came whole through a noise; {len(hold) - len(good)} void."
    starts = false_starts_per_minute(noise)
    if starts is not None:
        seconds, replies = sum(row.seconds for row in noise), sum(row.replies for row in noise)
        yield f"- Noise alone, {seconds:.0f} s: {starts:.1f} false starts per minute, {replies} replies."
    first, later = first_and_later(run.of("sessions"))
    if first and later:
        yield (
            f"- Several at once: first turns of a connection p50 / p95 {_pair(spread(first))} ms, "
            f"later ones {_pair(spread(later))} ms."
        )
    first, later = first_and_later(run.of("warmup"))
    if first and later:
        yield f"- Warm-up: first turns after a start {_each(first)} ms; those after them {_each(later)} ms."
    for by_rate, unit, what in ((False, "ms", "to the first token"), (True, "tokens/s", "")):
        points = sweep_points(run.of("sweep"), by_rate=by_rate)
        if points:
            ends = band_ends_at(points)
            shown = ", ".join(f"{point.at:g}: {point.median_ms:.0f}" for point in points)
            where = f"500 ms are crossed at {ends:.0f} {unit}" if ends is not None else "500 ms are not crossed"
            yield f"- Sweep, {unit} {what}".rstrip() + f": median ms at {shown}; {where}."


def _cost_table(run: Run) -> str:
    if not run.costs:
        return ""
    lines = [
        "| CPU s per minute of conversation | conversation minutes | event loop | other threads | engine processes "
        "| without / with engine processes |",
        "|" + "---|" * 6,
    ]
    for cost in run.costs:
        if cost.minutes:
            parts = (cost.loop_s, cost.threads_s, cost.engines_s)
            cells = " | ".join(f"{part / cost.minutes:.2f}" for part in parts)
            own, whole = per_minute(cost)
            lines.append(f"| {cost.scenario} | {cost.minutes:.1f} | {cells} | {own:.2f} / {whole:.2f} |")
    return "\n".join(lines) if len(lines) > 2 else ""


def comparison(before: Run, now: Run) -> str:
    """Two runs side by side."""
    lines = ["| figure | before | now |", "|---|---|---|"]
    for (name, old), (_, new) in zip(_figures(before), _figures(now), strict=True):
        if old != "—" or new != "—":
            lines.append(f"| {name} | {old} | {new} |")
    return "\n".join(lines)


def _figures(run: Run) -> Iterator[tuple[str, str]]:
    for scenario in _OF_TURNS:
        rows, title = run.of(scenario), _TITLES[scenario]
        one = turn_figures(rows)
        yield f"{title}: latency p50 / p95 / max ms", _triple(one.latency)
        yield (
            f"{title}: talked over, unanswered, of",
            (f"{one.talked_over}, {one.unanswered}, {one.turns}" if one.turns else "—"),
        )
        stages = stage_spreads(rows)
        for name in ("endpoint_wait", "stt", "llm_first_token", "first_sentence", "tts", "playout"):
            yield f"{title}: `{name}` p50 / p95 ms", _pair(stages.get(name))
        yield f"{title}: our own p50 / p95 ms", _pair(own_spread(rows))
    bargein = bargein_figures(run.of("bargein"))
    yield "barge-in: duck p50 / p95 ms", _pair(bargein.duck)
    yield "barge-in: stop p50 / p95 ms", _pair(bargein.stop)
    first, later = first_and_later(run.of("warmup"))
    yield "first turn after a start, p50 / p95 ms", _pair(spread(first))
    yield "later turns, p50 / p95 ms", _pair(spread(later))
    costs = {cost.scenario: cost for cost in run.costs}
    for scenario in ("turns", "sessions"):
        cost = costs.get(scenario)
        yield (
            f"{scenario}: CPU s per minute, without / with engine processes",
            ("—" if cost is None else "{:.2f} / {:.2f}".format(*per_minute(cost))),
        )
    yield "taken by other programs", "—" if run.others is None else f"{100 * run.others:.0f} %"


def _plain_cell(figures: TurnFigures) -> str:
    return f"{_pair(figures.latency)}, {100 * figures.talked_over_share:.0f} %"


def _paused_cell(figures: TurnFigures) -> str:
    share = f"{100 * figures.talked_over_share:.0f} %"
    return f"{share}, {_pair(figures.latency)}" if figures.latency else share


def _pair(one: Spread | None) -> str:
    return "—" if one is None else f"{one.p50:.0f} / {one.p95:.0f}"


def _triple(one: Spread | None) -> str:
    return "—" if one is None else f"{one.p50:.0f} / {one.p95:.0f} / {one.most:.0f}"


def _numbers(one: Spread) -> str:
    return " | ".join(f"{value:.1f}" for value in (one.p50, one.p95, one.most))


def _each(values: Sequence[float]) -> str:
    return ", ".join(f"{value:.0f}" for value in values)
