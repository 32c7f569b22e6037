"""Computes the figures of a run from its rows. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

import numpy as np

from assistant.trace.latency import STAGES
from assistant.trace.waterfall import BAND_MS
from assistant.trace_report.waterfall import paid_intervals
from bench.serving.rows import Cost, Row, Trace, measured

PREMATURE_MS = 80.0
"""Shortest possible latency of an answer to the last words, in milliseconds. Sooner replies answer earlier words."""

_OURS = frozenset(["queue", "llm_network", "commit", "transport"])
"""Spans that are neither an engine's, nor the network's, nor an intended wait."""


@dataclass(frozen=True, slots=True)
class Spread:
    """Distribution of values: the median, and the 95th percentile, interpolated as in the peers' results."""

    count: int
    p50: float
    p95: float
    maximum: float


def spread(values: Iterable[float]) -> Spread | None:
    """Returns the distribution of the values; None if there are none."""
    numbers = list(values)
    return Spread(len(numbers), median(numbers), float(np.percentile(numbers, 95)), max(numbers)) if numbers else None


@dataclass(frozen=True, slots=True)
class TurnFigures:
    """Figures of turns that were spoken and answered.

    Attributes:
        turns: Number of turns.
        lost: Turns that could not be measured because the connection broke.
        latency: Latency of the turns without a cut-in.
        talked_over: Turns with a cut-in.
        overlap: Audible reply in ms while the user spoke, over the turns with a cut-in.
        unanswered: Turns without an answer.
        premature: Turns answered before the last words can have been known; includes turns with a cut-in.
        several: Turns with more than one reply that was not cancelled.
        wrong_replies: Turns whose reply is not the LLM's.
        other_words: Turns for which the LLM was not asked the words that were recognized.
        word_errors: Word error rate; None without a transcript.
    """

    turns: int
    lost: int
    latency: Spread | None
    talked_over: int
    overlap: Spread | None
    unanswered: int
    premature: int
    several: int
    wrong_replies: int
    other_words: int
    word_errors: float | None

    @property
    def talked_over_share(self) -> float:
        """Returns the share of turns with a cut-in, 0..1."""
        return self.talked_over / self.turns if self.turns else 0.0


def turn_figures(rows: Sequence[Row]) -> TurnFigures:
    """Computes the figures of a scenario of turns."""
    good = measured(rows)
    words = sum(row.words for row in good)
    return TurnFigures(
        turns=len(good),
        lost=len(rows) - len(good),
        latency=spread(row.latency_ms for row in good if row.latency_ms is not None and not row.cut_in),
        talked_over=sum(row.cut_in for row in good),
        overlap=spread(row.overlap_ms for row in good if row.cut_in),
        unanswered=sum(row.latency_ms is None for row in good),
        premature=sum(row.latency_ms is not None and row.latency_ms < PREMATURE_MS for row in good),
        several=sum(row.replies > 1 for row in good),
        wrong_replies=sum(row.wrong_reply for row in good),
        other_words=sum(row.other_words for row in good),
        word_errors=sum(row.errors for row in good) / words if words else None,
    )


@dataclass(frozen=True, slots=True)
class BargeinFigures:
    """Figures of interruptions.

    Attributes:
        tried: Interruptions for which there could be a reply.
        void: Interruptions whose reply ended before, or whose connection broke.
        stop: Time from speech onset to `speech_started`.
        duck: Time from speech onset to `repartee.duck`.
        missed: Interruptions without a stop: none was detected, it came before the speech, or there was no reply.
        answer: Time from the end of the interruption to the answer to it.
    """

    tried: int
    void: int
    stop: Spread | None
    duck: Spread | None
    missed: int
    answer: Spread | None


def bargein_figures(rows: Sequence[Row]) -> BargeinFigures:
    """Computes the figures of a scenario of interruptions."""
    good = measured(rows)
    return BargeinFigures(
        tried=len(good),
        void=len(rows) - len(good),
        stop=spread(row.stop_ms for row in good if row.stop_ms is not None),
        duck=spread(row.duck_ms for row in good if row.duck_ms is not None),
        missed=sum(row.stop_ms is None for row in good),
        answer=spread(row.latency_ms for row in good if row.latency_ms is not None),
    )


def false_starts_per_minute(rows: Sequence[Row]) -> float | None:
    """Returns the false speech starts per minute of noise; None without noise."""
    minutes = sum(row.seconds for row in measured(rows)) / 60
    return sum(row.starts for row in measured(rows)) / minutes if minutes else None


OUTSIDE = "outside"
"""Key in `stage_spreads` for the client's latency minus the trace's."""


def stage_spreads(rows: Sequence[Row]) -> dict[str, Spread]:
    """Returns distributions by stage over measured turns, and of the client's latency minus the trace's."""
    traces = [(row, row.trace) for row in measured(rows)]
    paired = [(row, trace) for row, trace in traces if trace is not None]
    spreads: dict[str, Spread | None] = {
        stage: spread(trace["stages"][stage]["ms"] for _, trace in paired) for stage in STAGES
    }
    spreads = {
        stage: stage_spread
        for stage, stage_spread in spreads.items()
        if stage_spread is not None and stage_spread.maximum >= 0.05
    }
    spreads[OUTSIDE] = spread(
        row.latency_ms - trace["response_latency_ms"] for row, trace in paired if row.latency_ms is not None
    )
    return {stage: stage_spread for stage, stage_spread in spreads.items() if stage_spread is not None}


def own_spread(rows: Sequence[Row]) -> Spread | None:
    """Returns the distribution of the server's own share of the latencies."""
    shares = [
        own_ms(row.trace, ttft_ms=row.ttft_ms, leading_ms=row.leading_ms)
        for row in measured(rows)
        if row.trace is not None
    ]
    return spread(share for share in shares if share is not None)


def first_and_later(rows: Sequence[Row]) -> tuple[list[float], list[float]]:
    """Returns the latencies of the first turns of a connection, and those of later turns."""
    good = [row for row in measured(rows) if not row.cut_in]
    with_latency = [(row.number, row.latency_ms) for row in good if row.latency_ms is not None]
    return [ms for number, ms in with_latency if number == 1], [ms for number, ms in with_latency if number > 1]


def per_minute(cost: Cost) -> tuple[float, float]:
    """Returns processor seconds per minute of conversation: without and with recognizer and TTS engine."""
    own_s = cost.loop_s + cost.threads_s
    return (own_s / cost.minutes, (own_s + cost.engines_s) / cost.minutes) if cost.minutes else (0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Point:
    """One setting of a sweep: the median, lowest and highest latency."""

    value: float
    median_ms: float
    least_ms: float
    most_ms: float


def sweep_points(rows: Sequence[Row], *, by_rate: bool) -> list[Point]:
    """Returns one half of the sweep, in order: by time to the first token, or by token rate.

    The most common rate is that of the first half; the most common time to the first token is that of the second half.
    Each half holds the settings that differ from this crossing in one value only.
    """
    good = [row for row in measured(rows) if row.latency_ms is not None and not row.cut_in]
    if not good:
        return []
    settings = sorted({(row.ttft_ms, row.tokens_per_s) for row in good})
    rates, waits = [rate for _, rate in settings], [wait for wait, _ in settings]
    shared_rate, shared_wait = max(rates, key=rates.count), max(waits, key=waits.count)
    points = []
    for wait, rate in settings:
        if (by_rate and wait == shared_wait) or (not by_rate and rate == shared_rate):
            latencies_ms = [row.latency_ms or 0.0 for row in good if (row.ttft_ms, row.tokens_per_s) == (wait, rate)]
            points.append(Point(rate if by_rate else wait, median(latencies_ms), min(latencies_ms), max(latencies_ms)))
    return sorted(points, key=lambda point: point.value)


def band_ends_at(points: Sequence[Point], limit_ms: float = BAND_MS[1]) -> float | None:
    """Returns where the median crosses the limit, interpolated linearly; None if it does not."""
    for before, after in pairwise(points):
        if (before.median_ms <= limit_ms) != (after.median_ms <= limit_ms):
            share = (limit_ms - before.median_ms) / (after.median_ms - before.median_ms)
            return before.value + share * (after.value - before.value)
    return None


def own_ms(trace: Trace, *, ttft_ms: float, leading_ms: float) -> float | None:
    """Returns the server's own share of the latency of one turn; None if the trace has no latency.

    assistant/trace/latency.py walks back from the first audible sample. At each step, the time between the end of what
    was waited for and the start of the work is own time. Own time also includes waiting for a connection, the request's
    way to an LLM on this machine, the excess of the first token over the LLM's own time, and the excess of the first
    sound at the client over the voice's leading silence.

    Args:
        trace: Record of the turn.
        ttft_ms: The LLM's own time to the first token.
        leading_ms: Silence at the beginning of the reply, as heard by the client.
    """
    if trace["speech_end_ms"] is None:
        return None
    began_ms = {span["name"]: span["start_ms"] for span in trace["spans"] if not span["dropped"]}
    theirs_ms = {"llm_first_token": ttft_ms, "playout": leading_ms}
    paid = paid_intervals(trace)
    ours_ms = 0.0
    for name, (since_ms, until_ms) in paid.items():
        work_ms = until_ms - min(max(began_ms[name], since_ms), until_ms)
        ours_ms += until_ms - since_ms - work_ms
        if name in _OURS or name in theirs_ms:
            ours_ms += max(0.0, work_ms - theirs_ms.get(name, 0.0))
    return ours_ms if paid else None
