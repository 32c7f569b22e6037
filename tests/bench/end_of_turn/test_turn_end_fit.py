"""Tests the arithmetic of the fit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.end_of_turn.boosted_trees import trees_of
from bench.end_of_turn.fit import area, boosted, fitted, folds, held_out, interval

RNG = np.random.default_rng(5)
TRUTH = np.array([2.0, -1.0, 0.0])
FEATURES = RNG.normal(3, 2, (4000, 3))
ENDS = RNG.random(4000) < 1 / (1 + np.exp(-((FEATURES - 3) / 2 @ TRUTH + 0.5)))
ALIKE = np.ones(4000)


def test_fit_recovers_weights() -> None:
    model = fitted(FEATURES, ENDS, ALIKE, ridge=0.1)
    assert model.weights == pytest.approx(TRUTH, abs=0.2)
    assert model.bias == pytest.approx(0.5, abs=0.15)


def test_large_ridge_shrinks_weights_to_zero() -> None:
    assert np.abs(fitted(FEATURES, ENDS, ALIKE, ridge=1e6).weights).max() < 0.01


def test_importance_is_equivalent_to_copies() -> None:
    twice = np.concatenate([FEATURES[:400], FEATURES[:100]])
    counted = np.where(np.arange(400) < 100, 2.0, 1.0)
    copied = fitted(twice, np.concatenate([ENDS[:400], ENDS[:100]]), np.ones(500), ridge=0.0)
    weighed = fitted(FEATURES[:400], ENDS[:400], counted, ridge=0.0)
    assert weighed.weights == pytest.approx(copied.weights, abs=1e-3)


def test_feature_moves_logit_only_in_direction_of_its_sign() -> None:
    against = boosted(FEATURES, ENDS, ALIKE, np.array([-1.0, 1.0, 0.0]))
    free = boosted(FEATURES, ENDS, ALIKE, np.array([1.0, 0.0, 0.0]))
    low, high = np.array([[0.0, 3.0, 3.0]]), np.array([[6.0, 3.0, 3.0]])
    assert against.logit(high) <= against.logit(low)
    assert free.logit(high) > free.logit(low) + 2


def test_written_trees_give_logit_of_fit() -> None:
    model = boosted(FEATURES, ENDS, ALIKE, np.array([0.0, 0.0, 0.0]))
    names, table = ("a", "b", "c"), {"typical": model.typical.tolist(), "bias": 0.25, "trees": model.trees(0.5)}
    written = trees_of({"names": list(names), **table})
    for row, logit in zip(FEATURES[:50], model.logit(FEATURES[:50]), strict=True):
        assert written.logit(dict(zip(names, row.tolist(), strict=True))) == pytest.approx(logit / 2 + 0.25, abs=0.01)


def test_area_is_probability_of_correct_order() -> None:
    ends = np.array([True, True, False, False])
    assert area(np.array([3.0, 2.0, 1.0, 0.0]), ends) == 1.0
    assert area(np.array([0.0, 1.0, 2.0, 3.0]), ends) == 0.0
    assert area(np.array([1.0, 1.0, 1.0, 1.0]), ends) == 0.5
    assert area(np.array([2.0, 0.0, 1.0, 1.0]), ends) == 0.5
    assert np.isnan(area(np.array([1.0]), np.array([True])))


def test_interval_contains_area_and_is_reproducible() -> None:
    speakers = [f"s{number % 40}" for number in range(400)]
    scores, ends = FEATURES[:400, 0], ENDS[:400]
    low, high = interval(scores, ends, speakers, draws=100)
    assert low < area(scores, ends) < high
    assert (low, high) == interval(scores, ends, speakers, draws=100)


@given(st.lists(st.sampled_from([f"s{number}" for number in range(12)]), min_size=1, max_size=60), st.integers(2, 5))
def test_each_speaker_is_in_one_fold(speakers: list[str], count: int) -> None:
    fold = folds(speakers, count, seed=1)
    assert len(fold) == len(speakers)
    assert all(len({f for f, s in zip(fold, speakers, strict=True) if s == name}) == 1 for name in set(speakers))
    assert ((fold >= 0) & (fold < count)).all()


def test_speakers_are_scored_by_fits_without_them() -> None:
    fold = np.array([0, 0, 1, 1, 2])
    logits = held_out(lambda train: lambda test: np.full(test.sum(), float(train[test].any())), fold)
    assert not logits.any()
