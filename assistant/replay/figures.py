"""Aggregates replayed turns: latencies before and after, cut-ins, and assumptions. Pure."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assistant.replay.turns import Outcome, Replayed
from assistant.trace_report.statistics import (
    LEVEL,
    SEED,
    IntervalEstimate,
    Proportion,
    Values,
    min_turns,
    ordered,
    percentile,
    share,
)

COMPARED = (50, 95)

_REPLICATES = 1000
_AT_A_TIME = 2_000_000  # number of values resampled at once; limits memory


@dataclass(frozen=True, slots=True)
class Pair:
    """A quantity of the same turns, as recorded and as replayed. In milliseconds.

    Attributes:
        turns: Turns that have the quantity both times.
        was: Recorded value by percent.
        now: Replayed value by percent.
        change: `now` minus `was` by percent, with the interval of the resampled turns.
    """

    turns: int
    was: dict[int, float]
    now: dict[int, float]
    change: dict[int, IntervalEstimate]


@dataclass(frozen=True, slots=True)
class People:
    """Figures that users would notice, and their cost.

    Attributes:
        cut_ins: Answers that began before the user had finished, of all committed answers.
        interruptions: Interrupted answers, of all committed answers.
        in_vain: Answers that were started and not used.
        asked: Number of transcript requests.
    """

    cut_ins: Proportion | None
    interruptions: Proportion | None
    in_vain: int
    asked: int


@dataclass(frozen=True, slots=True)
class ReplayFigures:
    """Figures of many turns that were decided otherwise.

    Attributes:
        changed: Turns in which any decision differs.
        yielded: How long users spoke into an answer until it stopped.
        joined: Turns that were answered and now are not: the user would have continued first, and been answered later.
        assumed: Number of turns by kind of assumption.
    """

    turns: int
    changed: int
    latency: Pair | None
    wait: Pair | None
    yielded: Pair | None
    was: People
    now: People
    joined: int
    assumed: dict[str, int]


def figures(replayed: Sequence[Replayed]) -> ReplayFigures:
    """Returns the figures of all turns."""
    return ReplayFigures(
        turns=len(replayed),
        changed=sum(not turn.same for turn in replayed),
        latency=_pair([(turn.was.latency_ms, turn.now.latency_ms) for turn in replayed]),
        wait=_pair([(turn.was.wait_ms, turn.now.wait_ms) for turn in replayed]),
        yielded=_pair([(turn.was.yielded_ms, turn.now.yielded_ms) for turn in replayed]),
        was=_people([turn.was for turn in replayed]),
        now=_people([turn.now for turn in replayed]),
        joined=sum(turn.was.answered and not turn.now.answered for turn in replayed),
        assumed=dict(Counter(what for turn in replayed for what in sorted(turn.assumed)).most_common()),
    )


def paired(was: Values, now: Values, percent: int) -> IntervalEstimate:
    """Returns the difference `now` - `was` at a percentile. The values of a turn are resampled as a pair.

    Raises ValueError for no values.
    """
    value = percentile(ordered(now), percent) - percentile(ordered(was), percent)
    rank = max(1, -(-was.size * percent // 100)) - 1
    generator = np.random.default_rng(SEED)
    drawn: list[NDArray[np.float32]] = []
    chunk = max(1, _AT_A_TIME // was.size)
    for begun in range(0, _REPLICATES, chunk):
        turns = generator.integers(was.size, size=(min(chunk, _REPLICATES - begun), was.size))
        after, before = (np.partition(values[turns], rank, axis=1)[:, rank] for values in (now, was))
        drawn.append(after - before)
    bounds = np.sort(np.concatenate(drawn))
    outside = int(_REPLICATES * (1 - LEVEL) / 2)
    low, high = float(bounds[outside]), float(bounds[-outside - 1])
    return IntervalEstimate(round(value, 3), round(low, 3), round(high, 3), was.size >= min_turns(percent))


def _pair(values: Sequence[tuple[float | None, float | None]]) -> Pair | None:
    both = [(was, now) for was, now in values if was is not None and now is not None]
    if not both:
        return None
    was, now = np.array(both, np.float32).T
    return Pair(
        len(both),
        {percent: round(percentile(ordered(was), percent), 3) for percent in COMPARED},
        {percent: round(percentile(ordered(now), percent), 3) for percent in COMPARED},
        {percent: paired(was, now, percent) for percent in COMPARED},
    )


def _people(turns: Sequence[Outcome]) -> People:
    given = sum(turn.given for turn in turns)
    return People(
        share(sum(turn.cut_ins for turn in turns), given),
        share(sum(turn.interruptions for turn in turns), given),
        sum(turn.in_vain for turn in turns),
        sum(turn.attempts for turn in turns),
    )
