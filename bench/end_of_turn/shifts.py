"""Fits the numbers of assistant/end_of_turn/priors.py that recordings with natural pauses can tell.

The mean excess of a pause over 200 ms, and the shift of the logit for each second of silence, beside the
cross-validated logit of the fused estimate.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assistant.end_of_turn.priors import PAUSE_FROM_MS
from bench.end_of_turn.clips import Turn
from bench.end_of_turn.fit import Bools, Floats, fitted
from bench.end_of_turn.moments import Moment
from bench.end_of_turn.table import GIVEN_WEIGHT, collection

REFERENCE_MS = 200
UP_TO_MS = 1200
DRAWS = 200
_RIDGE = 1e-3


@dataclass(frozen=True, slots=True)
class Shift:
    """A fitted number with its 95 % interval over speakers, and the moments it is from."""

    value: float
    low: float
    high: float
    moments: int


def excess_ms(turns: Sequence[Turn]) -> float:
    """Returns the mean time in ms by which the labelled pauses exceed 200 ms, weighted as in a fit."""
    total, weight = 0.0, 0.0
    for turn in turns:
        for begin, end in turn.pauses:
            if end - begin >= PAUSE_FROM_MS:
                stretch_weight = GIVEN_WEIGHT if (begin, end) in turn.given else 1.0
                total, weight = total + stretch_weight * (end - begin - PAUSE_FROM_MS), weight + stretch_weight
    return total / weight if weight else float("nan")


def silence_shift(moments: Sequence[Moment], logits: Floats, name: str = "") -> Shift:
    """Returns the shift of the logit for each second of silence.

    Args:
        moments: All moments.
        logits: Logit of each, by models that were not fitted on its speaker.
        name: A collection; "" for all but read speech.
    """
    lengths = np.array([moment.known_ms for moment in moments])
    chosen = _rows(moments, name) & (lengths >= REFERENCE_MS) & (lengths <= UP_TO_MS)
    return _slope(moments, chosen, logits, (lengths - REFERENCE_MS) / 1000)


def _rows(moments: Sequence[Moment], name: str) -> Bools:
    def belongs(moment: Moment) -> bool:
        if moment.label == "gap" or moment.made:
            return False
        return collection(moment) == name if name else moment.kind != "read"

    return np.array([belongs(moment) for moment in moments])


def _slope(moments: Sequence[Moment], chosen: Bools, logits: Floats, feature: Floats) -> Shift:
    rows = np.flatnonzero(chosen).tolist()
    speakers, index = np.unique([moments[row].speaker for row in rows], return_inverse=True)
    ends = np.array([moments[row].label == "end" for row in rows])
    weights = np.array([GIVEN_WEIGHT if moments[row].given else 1.0 for row in rows])
    features = np.column_stack([logits[rows], feature[rows]])

    def fit(counts: Floats) -> float:
        importance = weights * counts
        if len(np.unique(ends[importance > 0])) < 2:
            return float("nan")
        model = fitted(features, ends, importance, _RIDGE)
        return float(model.weights[1] / model.deviation[1])

    rng = np.random.default_rng(1)
    drawn = []
    for _ in range(DRAWS):
        counts = np.bincount(rng.integers(0, len(speakers), len(speakers)), minlength=len(speakers))
        drawn.append(fit(counts[index].astype(np.float64)))
    low, high = np.nanpercentile(drawn, [2.5, 97.5])
    return Shift(fit(np.ones(len(rows))), float(low), float(high), len(rows))
