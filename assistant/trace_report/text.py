"""Renders a report as text: tables for screens and pipes, JSON, and CSV. Pure."""

import csv
import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from assistant.trace.waterfall import shown
from assistant.trace_report.engines import AskedFigures, EngineFigures
from assistant.trace_report.figures import Figures
from assistant.trace_report.reading import Record
from assistant.trace_report.sheet import Sheet
from assistant.trace_report.statistics import LEVEL, PERCENTS, IntervalEstimate, Proportion, Spread, min_turns

NONE = "–"


def headline(figures: Figures) -> list[str]:
    """Returns lines that summarize the turns."""
    outcomes = ", ".join(f"{count:,} {name}" for name, count in figures.outcomes.items())
    turns = f"{number_of(figures.turns, 'turn')} of {number_of(figures.conversations, 'conversation')}: {outcomes}"
    if figures.failures is not None and figures.failures.count:
        turns += f"; {figures.failures.count:,} of them failed and are not counted below"
    if figures.latency is None or figures.within is None or figures.later is None or figures.sooner is None:
        return [turns, "none of them has a response latency (typed turns have none: it counts from the end of speech)"]
    within = f"{spelled_share(figures.within)} within 200–500 ms"
    return [turns, f"{within}, {figures.later.count:,} slower, {figures.sooner.count:,} faster"]


def sheets(figures: Figures) -> list[Sheet]:
    """Returns the tables: latency with its stages, then the engines and endpoints."""
    tables = [_latency_sheet(figures)] if figures.latency is not None else []
    for title, work, engines in (
        ("answered by", "first token", figures.endpoints),
        ("recognizers", "final transcript", figures.recognizers),
        ("voices", "first audio", figures.voices),
    ):
        if engines:
            tables.append(_engine_sheet(title, work, engines))
    return [*tables, _asked_sheet(figures.asked)] if figures.asked else tables


def slowest_of(records: Sequence[Record]) -> list[str]:
    """Returns lines that name the slowest turn; empty if no turn has a latency."""
    return [
        f"slowest turn      {record['turn']} of {record['conversation']}, {record['response_latency_ms']:.0f} ms"
        for record in records[:1]
    ]


def sentences(figures: Figures) -> list[str]:
    """Returns sentences about the tail, cut-ins and speculation, and last, which figures have too few turns."""
    return [*_tail(figures), *_people(figures), *_speculation(figures), *_tokens(figures), *_warnings(figures)]


def as_json(figures: Figures) -> str:
    """Returns all figures as JSON."""
    return json.dumps(asdict(figures), indent=2, ensure_ascii=False) + "\n"


def as_csv(figures: Figures) -> str:
    """Returns CSV with one row for the response latency and each stage: count, percentiles with bounds, and maximum."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    bounds = [name for percent in PERCENTS for name in (f"p{percent}_ms", f"p{percent}_low_ms", f"p{percent}_high_ms")]
    writer.writerow(["stage", "turns", *bounds, "max_ms"])
    for name, spread in spreads(figures):
        numbers = [
            value
            for percentile in spread.percentiles.values()
            for value in (percentile.value, percentile.low, percentile.high)
        ]
        writer.writerow([name, spread.count, *numbers, spread.most])
    return text.getvalue()


def spreads(figures: Figures) -> Iterator[tuple[str, Spread]]:
    """Yields the distributions of the response latency and every stage, by name; nothing if no turn has a latency."""
    if figures.latency is not None:
        yield "response latency", figures.latency
    yield from figures.stages.items()


def spelled_share(share: Proportion) -> str:
    """Formats a share, for example "2 of 5 (40 %, 12–77 %)"."""
    return f"{share.count:,} of {share.of:,} ({share.value:.1%}, {share.low:.1%}–{share.high:.1%})"


def number_of(count: int, what: str) -> str:
    """Formats a count with its noun, for example "1 turn" or "1,000 turns"."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"


# ---- tables ----


def _latency_sheet(figures: Figures) -> Sheet:
    rows = [
        (shown(name), f"{spread.count:,}", *map(_spelled, spread.percentiles.values()), f"{spread.most:.0f}")
        for name, spread in spreads(figures)
        if spread.most > 0
    ]
    headings = ("turns", *(f"p{percent}" for percent in PERCENTS), "max")
    order = [f"p{percent}" for percent in (90, 99, 50)]
    return Sheet("ms", headings, rows, tuple(map(headings.index, order)), bold="response latency")


def _spelled(estimate: IntervalEstimate) -> str:
    """Formats an estimate, for example "245 (231–260)". A question mark means too few turns for an upper bound."""
    return f"{estimate.value:.0f} ({estimate.low:.0f}–{estimate.high:.0f}{'' if estimate.enough else '?'})"


def _engine_sheet(title: str, work: str, engines: dict[str, EngineFigures]) -> Sheet:
    rates = any(engine.per_speech is not None for engine in engines.values())
    factors = any(engine.real_time is not None for engine in engines.values())
    more = [*(["per s of speech"] if rates else []), *(["real-time factor"] if factors else [])]
    headings = ("turns", "failed", f"{work} p50", "p95", "latency p50", "p95", *more)
    rows = []
    for name, engine in engines.items():
        cells = [f"{engine.turns:,}", f"{engine.failed:,}", *_two(engine.work), *_two(engine.latency)]
        if rates:
            cells.append(NONE if engine.per_speech is None else f"{engine.per_speech:.3f} s")
        if factors:
            cells.append(NONE if engine.real_time is None else f"{engine.real_time:.3f}")
        rows.append((name, *cells))
    return Sheet(title, headings, rows, (*range(6, len(headings)), 5, 4, 3))


def _asked_sheet(asked: dict[str, AskedFigures]) -> Sheet:
    headings = ("asked", "answered", "first token p50", "p95", "overtaken", "failed", "given up", "hedges", "wasted")
    rows = []
    for name, endpoint in asked.items():
        outcomes = [f"{endpoint.outcomes.get(outcome, 0):,}" for outcome in ("overtaken", "failed", "given up")]
        answered, hedges = endpoint.outcomes.get("answered", 0), endpoint.reasons.get("hedge", 0)
        tokens = f"{endpoint.tokens_in_vain:,} tokens"
        cells = (f"{endpoint.asked:,}", f"{answered:,}", *_two(endpoint.first_token), *outcomes, f"{hedges:,}", tokens)
        rows.append((name, *cells))
    order = ("hedges", "given up", "overtaken", "p95", "wasted")
    return Sheet("endpoints asked", headings, rows, tuple(map(headings.index, order)))


def _two(spread: Spread | None) -> tuple[str, str]:
    if spread is None:
        return NONE, NONE
    return _spelled(spread.percentiles[50]), _spelled(spread.percentiles[95])


# ---- sentences ----


def _tail(figures: Figures) -> Iterator[str]:
    tail = figures.tail
    if tail is None:
        yield "slow tail         too few turns to find one"
        return
    others = ", ".join(f"{shown(stage)} {ms:+.0f}" for stage, ms in tail.excesses_ms.items() if abs(ms) >= 1)
    slowest = "turn" if tail.turns == 1 else f"{tail.turns:,} turns"
    yield f"slow tail         the slowest {slowest}, from {tail.from_ms:.0f} ms: {shown(tail.stage)} dominates"
    yield f"                  (it exceeds its own median by the most in {tail.leads:,} of {tail.turns:,})"
    yield f"                  above their medians, on average, ms: {others or 'nothing'}"


def _people(figures: Figures) -> Iterator[str]:
    for title, share in (
        ("cut-ins", figures.cut_ins),
        ("interruptions", figures.interruptions),
        ("with an error", figures.failures),
    ):
        if share is not None:
            yield f"{title:<16}  {spelled_share(share)}{_other_stops(figures) if title == 'interruptions' else ''}"
            if title == "cut-ins" and figures.overlaps is not None:
                heard = ", ".join(
                    f"p{percent} {_spelled(figures.overlaps.percentiles[percent])}" for percent in (50, 95)
                )
                turns = number_of(figures.overlaps.count, "turn")
                yield f"talked over       {turns}: a reply was heard beside the user's speech for {heard} ms"
    if figures.apologies is not None:
        after = ", ".join(f"p{percent} {_spelled(figures.apologies.percentiles[percent])}" for percent in (50, 95))
        count = number_of(figures.apologies.count, "turn")
        yield f"failed turns      {count} with a sound in place of an answer, after {after} ms; counted nowhere else"
    if figures.refusals is not None and figures.refusals.count:
        yield f"refusals          {spelled_share(figures.refusals)}: no skill and no language model could do it"
    if figures.busy is not None and figures.busy_others is not None:
        yield f"busy machine      {spelled_share(figures.busy)}: other programs used {figures.busy_others:.0%} of it"


def _other_stops(figures: Figures) -> str:
    """Says which interruptions are counted, if other turns have the outcome "interrupted"."""
    by_voice = figures.interruptions.count if figures.interruptions is not None else 0
    others = figures.outcomes.get("interrupted", 0) - by_voice
    return f" by voice; {others:,} more by a key, a client or the end of the conversation" if others > 0 else ""


def _speculation(figures: Figures) -> Iterator[str]:
    counts = figures.speculation
    if counts.hits is not None:
        yield f"speculation won   {spelled_share(counts.hits)} answers begun before the end of turn"
    if counts.ahead is not None and counts.hidden is not None:
        ahead, hidden = counts.ahead.percentiles[50].value, counts.hidden.percentiles[50].value
        yield f"                  by {ahead:.0f} ms, {hidden:.0f} ms of work hidden behind other waits (medians)"
    yield (
        f"speculation lost  {counts.dropped:,} of {counts.attempts:,} attempts dropped, "
        f"{counts.confirmed:,} confirmed; {number_of(counts.wasted_answers, 'answer')} wasted, "
        f"{counts.wasted_model_ms:,.0f} ms of work"
    )


def _tokens(figures: Figures) -> Iterator[str]:
    tokens = figures.tokens
    if tokens is None:
        return
    rate = "" if tokens.per_minute is None else f", {tokens.per_minute:,.0f} a minute"
    yield f"tokens            {tokens.prompt:,} in prompts, {tokens.completion:,} in answers{rate}"
    if tokens.cached_share is not None:
        yield f"                  {tokens.cached_share:.1%} of the prompts were cached by their service"
    wasted = f"{tokens.wasted:,} ({tokens.wasted_share:.1%}) for attempts that were dropped"
    missing = f"; {number_of(tokens.uncounted, 'answer')} not counted by their service" if tokens.uncounted else ""
    yield f"                  {wasted}{missing}"


def _warnings(figures: Figures) -> Iterator[str]:
    if figures.latency is None:
        return
    few = [percent for percent, estimate in figures.latency.percentiles.items() if not estimate.enough]
    if few:
        needs = ", ".join(f"p{percent} needs {min_turns(percent)}" for percent in few)
        turns = number_of(figures.latency.count, "turn")
        yield f"too few turns     {turns}, but {needs}: a bound marked ? is only the largest value seen"
    yield f"                  in brackets: {LEVEL:.0%} intervals"
