"""Percentiles of recent samples."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from web.observation.load_estimate import MAX_SAMPLES, RollingEstimate


def test_estimate_without_samples_is_unknown() -> None:
    estimate = RollingEstimate(60.0, 20.0)
    assert (estimate.quantile(0.95, 0.0), estimate.count(0.0)) == (None, 0)


def test_samples_outside_the_window_are_ignored() -> None:
    estimate = RollingEstimate(60.0, 20.0)
    for _ in range(3):
        estimate.add_sample(9.0, 0.0)
    estimate.add_sample(1.0, 30.0)
    assert (estimate.quantile(0.95, 59.0), estimate.count(59.0)) == (9.0, 4)
    assert (estimate.quantile(0.95, 61.0), estimate.count(61.0)) == (1.0, 1)
    estimate.clear()
    assert estimate.count(61.0) == 0
    assert estimate.quantile(0.95, 61.0) is None


def test_newer_samples_count_more() -> None:
    estimate = RollingEstimate(60.0, 20.0)
    for _ in range(5):
        estimate.add_sample(9.0, 0.0)
    estimate.add_sample(1.0, 40.0)
    estimate.add_sample(1.0, 40.0)
    assert estimate.quantile(0.5, 40.0) == 1.0
    assert estimate.quantile(0.8, 40.0) == 9.0


@pytest.mark.parametrize("samples", [3, 8, 20, 200])
def test_two_slow_samples_are_no_percentile(samples: int) -> None:
    estimate = RollingEstimate(60.0, 20.0)
    for number in range(samples - 2):
        estimate.add_sample(0.1, number / 1000)
    estimate.add_sample(9.0, 50.0)
    estimate.add_sample(9.0, 50.0)
    assert estimate.quantile(0.95, 50.0) == 0.1
    estimate.add_sample(9.0, 50.0)
    if samples <= 20:
        assert estimate.quantile(0.95, 50.0) == 9.0


def test_number_of_samples_is_bounded() -> None:
    estimate = RollingEstimate(60.0, 20.0)
    for number in range(3 * MAX_SAMPLES):
        estimate.add_sample(float(number), 1.0)
    assert estimate.count(1.0) == MAX_SAMPLES
    assert estimate.quantile(0.0, 1.0) == 2.0 * MAX_SAMPLES
    estimate.clear()
    estimate.add_sample(5.0, 2.0)
    assert (estimate.quantile(0.5, 2.0), estimate.count(2.0)) == (5.0, 1)


@given(st.lists(st.tuples(st.floats(0, 60), st.floats(0, 9)), min_size=1, max_size=50), st.floats(0, 1))
def test_quantile_is_one_of_the_samples_and_reading_changes_nothing(
    samples: list[tuple[float, float]], share: float
) -> None:
    estimate = RollingEstimate(60.0, 20.0)
    for at_s, value in sorted(samples):
        estimate.add_sample(value, at_s)
    first = estimate.quantile(share, 60.0)
    assert first in [value for _, value in samples]
    assert estimate.quantile(share, 60.0) == first
