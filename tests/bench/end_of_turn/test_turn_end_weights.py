"""Tests the mean of two fits."""

import json
from pathlib import Path

import numpy as np
import pytest

from assistant.end_of_turn.estimator import turn_end_of
from bench.end_of_turn.evaluation import average_weights, averaged
from bench.end_of_turn.table import names_of

FIRST = {
    "reference_ms": 200, "about": "", "fitted_on": ["b", "a"],
    "models": {"smart": {"names": ["smart_logit"], "mean": [0.5], "deviation": [2.0], "weights": [1.0], "bias": 0.1}},
}  # fmt: skip
SECOND = {
    "reference_ms": 200, "about": "", "fitted_on": ["c", "a"],
    "models": {"smart": {"names": ["smart_logit"], "mean": [1.5], "deviation": [1.0], "weights": [0.8], "bias": -0.4}},
}  # fmt: skip


def test_logit_is_mean_of_two_fits(tmp_path: Path) -> None:
    first, second, third = (tmp_path / name for name in ("first", "second", "third"))
    first.write_text(json.dumps(FIRST))
    second.write_text(json.dumps(SECOND))
    average_weights(first, second, third)
    found = json.loads(third.read_text())
    assert found["fitted_on"] == ["a", "b", "c"]
    models = [turn_end_of(one).models["smart"] for one in (FIRST, SECOND, found)]
    for value in (-1.0, 0.0, 1.0, 2.5):
        one, other, mean = (model.logit({"smart_logit": value}) for model in models)
        assert mean == pytest.approx((one + other) / 2, abs=1e-3)


def test_feature_of_one_fit_has_half_its_weight() -> None:
    one = {"names": ["level_end_db"], "mean": [-3.0], "deviation": [2.0], "weights": [-0.4], "bias": 0.0}
    other = {"names": ["peak_db"], "mean": [1.0], "deviation": [1.0], "weights": [-0.2], "bias": 0.2}
    found = averaged({"sound": one}, {"sound": other})["sound"]
    assert found["names"] == [name for name in names_of("sound") if name in ("level_end_db", "peak_db")]
    assert np.asarray(found["weights"]) == pytest.approx([-0.2, -0.1])
    assert found["bias"] == pytest.approx(0.1)


def test_fits_for_other_silences_are_not_averaged(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.write_text(json.dumps(FIRST))
    second.write_text(json.dumps({**SECOND, "reference_ms": 300}))
    with pytest.raises(SystemExit, match="silences of different lengths"):
        average_weights(first, second, tmp_path / "third")
