"""Tests the speaker pause statistics at a moment of a recording."""

from dataclasses import replace

import numpy as np
import pytest

from assistant.end_of_turn.boosted_trees import BoostedTrees
from assistant.end_of_turn.estimator import (
    BALANCED,
    EndOfTurnEvidence,
    FusedEstimator,
    pausing_of,
    silence_timeout_ms,
)
from assistant.end_of_turn.priors import SpeakerPauseStats
from bench.end_of_turn.habits import Known, estimate_of, key_of, keyed, waits, within_turns
from bench.end_of_turn.moments import Moment

MOMENT = Moment(0, "s", "", "command", "pause", False, 0, 200, 200.0, 500.0, {}, None, "", False)
FIRST, SHORT, LAST = (
    MOMENT,
    replace(MOMENT, number=1, label="gap", lasts_ms=150.0),
    replace(MOMENT, number=2, label="end"),
)
OTHER = replace(MOMENT, turn=1, label="end")
ALL = [FIRST, SHORT, LAST, OTHER]


def test_pauses_count_for_later_silences_of_the_same_turn() -> None:
    known = within_turns(ALL, keyed(ALL, np.array([0.5, 1.0, 1.5, 2.0])))
    assert known[key_of(FIRST)] == Known(0.5, SpeakerPauseStats())
    assert known[key_of(SHORT)].habits == known[key_of(LAST)].habits == SpeakerPauseStats().with_pause(500.0)
    assert known[key_of(OTHER)] == Known(2.0, SpeakerPauseStats()), "each turn is a speaker's first"


def test_estimate_equals_that_of_the_program() -> None:
    habits = SpeakerPauseStats().with_pause(500.0).with_turn().with_return(900.0)
    estimator = FusedEstimator({"text+closure": BoostedTrees((), (), (), 0.7)}, 200.0)
    evidence = EndOfTurnEvidence(200.0, text="a small coffee", pause_stats=habits)
    assert estimate_of(MOMENT, Known(0.7, habits)) == replace(estimator.estimate(evidence), sources="")
    assert estimate_of(MOMENT, Known(99.0)).logit == pytest.approx(8.0)


def test_wait_equals_that_of_the_program() -> None:
    habits = SpeakerPauseStats().with_pause(500.0)
    known = {key_of(LAST): Known(0.7, habits)}
    estimate = estimate_of(LAST, known[key_of(LAST)])
    assert estimate.evidence_logit == pytest.approx(0.7 + habits.shift)
    assert estimate.pausing == pausing_of(habits)
    assert waits(known, BALANCED)(LAST) == silence_timeout_ms(estimate, BALANCED)
    assert waits({}, BALANCED)(LAST) == silence_timeout_ms(estimate_of(LAST, Known()), BALANCED)
