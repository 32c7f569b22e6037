"""Computes the cost of a waiting policy: the wait after the last word, and the share of pauses mistaken for the end."""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bench.end_of_turn.moments import Moment

PAUSE_MS = 300.0
"""Minimum length of a pause in milliseconds. Shorter silences are closures and breaths, not pauses."""

Wait = Callable[[Moment], float]
"""Maps a moment to the silence timeout, in ms, that follows from what is known at that moment."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Cost of one way of waiting on one set of turns.

    Attributes:
        median_ms, p95_ms: Time from the end of speech to the EOT decision, over turns without a pause and without a
        cut-in.
        paused_median_ms, paused_p95_ms: The same over turns with a pause; NaN if all were cut into.
        cut_pauses: Share of the pauses of 300 ms or more in which the turn was ended.
        cut_turns: Share of the turns with such a pause that were cut into.
        cut_plain: Share of the turns without such a pause that were cut into.
    """

    median_ms: float
    p95_ms: float
    paused_median_ms: float
    paused_p95_ms: float
    cut_pauses: float
    cut_turns: float
    cut_plain: float


def with_real_lengths(moments: Sequence[Moment], seed: int = 3) -> list[Moment]:
    """Returns the moments with added pauses shortened to lengths drawn from the real pauses of 300 ms or more."""
    lengths = {(m.turn, m.number): m.lasts_ms for m in moments if m.label == "pause" and m.lasts_ms >= PAUSE_MS}
    real = sorted(lengths.values())
    rng = np.random.default_rng(seed)
    drawn: dict[tuple[int, int], float] = {}
    lengthened = []
    for moment in moments:
        if moment.label == "made":
            key = (moment.turn, moment.number)
            if key not in drawn:
                drawn[key] = min(moment.lasts_ms, float(rng.choice(real)))
            if moment.known_ms >= drawn[key]:
                continue
            lengthened.append(replace(moment, lasts_ms=drawn[key]))
        else:
            lengthened.append(moment)
    return lengthened


def ended_at(silence: Sequence[Moment], wait: Wait) -> float:
    """Returns when the turn ends if the silence continues without end, in ms from the start of the silence.

    Args:
        silence: Its moments, in order.
        wait: Called at each moment; the latest result counts.
    """
    for moment, following in itertools.pairwise(silence):
        due = max(wait(moment), moment.known_ms)
        if due < following.known_ms:
            return due
    return max(wait(silence[-1]), silence[-1].known_ms)


def cost(moments: Sequence[Moment], wait: Wait) -> Cost:
    """Plays all turns."""
    silences: dict[tuple[int, int], list[Moment]] = {}
    for moment in moments:
        silences.setdefault((moment.turn, moment.number), []).append(moment)
    pauses: list[bool] = []
    paused: dict[int, bool] = {}
    cut: dict[int, bool] = {}
    ends_ms: dict[int, float] = {}
    for (turn, _), silence in silences.items():
        first, due = silence[0], ended_at(silence, wait)
        if first.label == "end":
            ends_ms[turn] = due
            continue
        into = due < first.lasts_ms
        cut[turn] = cut.get(turn, False) or into
        if first.lasts_ms >= PAUSE_MS and first.label in ("pause", "made"):
            pauses.append(into)
            paused[turn] = True
    with_pause = [cut.get(turn, False) for turn in ends_ms if paused.get(turn, False)]
    plain = [cut.get(turn, False) for turn in ends_ms if not paused.get(turn, False)]
    p50, p95 = _percentiles([ms for turn, ms in ends_ms.items() if not (cut.get(turn) or paused.get(turn))])
    late50, late95 = _percentiles([ms for turn, ms in ends_ms.items() if paused.get(turn) and not cut.get(turn)])
    return Cost(p50, p95, late50, late95, _share(pauses), _share(with_pause), _share(plain))


def _percentiles(values_ms: Sequence[float]) -> tuple[float, float]:
    if not values_ms:
        return float("nan"), float("nan")
    p50, p95 = np.percentile(values_ms, [50, 95])
    return float(p50), float(p95)


def _share(values: Sequence[bool]) -> float:
    return float(np.mean(values)) if values else float("nan")
