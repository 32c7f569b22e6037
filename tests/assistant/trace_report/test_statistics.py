"""Tests percentiles and their intervals."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.trace.waterfall import nearest_rank
from assistant.trace_report.statistics import (
    LEVEL,
    PERCENTS,
    REPLICATES,
    Values,
    difference,
    estimate,
    min_turns,
    ordered,
    percentile,
    replicates,
    share,
    spread,
)

latencies = st.lists(st.floats(0, 1e5, width=32), min_size=1, max_size=400)
percents = st.sampled_from(PERCENTS)


@given(latencies, percents)
def test_percentile_equals_that_of_the_screen(values: list[float], percent: int) -> None:
    assert percentile(ordered(values), percent) == nearest_rank(values, percent)


@given(latencies, percents)
def test_interval_contains_its_value_and_stays_within_data(values: list[float], percent: int) -> None:
    found = estimate(ordered(values), percent)
    assert min(values) - 0.01 <= found.low <= found.value <= found.high <= max(values) + 0.01


@given(latencies)
def test_percentiles_of_spread_increase(values: list[float]) -> None:
    found = spread(ordered(values))
    assert found is not None
    rising = [found.percentiles[percent].value for percent in PERCENTS]
    assert [*rising, found.most] == sorted([*rising, found.most])
    assert found.count == len(values)


@given(latencies, latencies, percents)
def test_difference_is_antisymmetric(before: list[float], after: list[float], percent: int) -> None:
    there = difference(ordered(before), ordered(after), percent)
    back = difference(ordered(after), ordered(before), percent)
    assert there.value == -back.value
    assert there.low <= there.high


@given(latencies, percents)
def test_difference_to_itself_is_zero(values: list[float], percent: int) -> None:
    found = difference(ordered(values), ordered(values), percent)
    assert found.low <= 0 == found.value <= found.high


def resampled(values: Values, percent: int) -> Values:
    """The bootstrap by actual resampling."""
    drawn = np.random.default_rng(7).choice(values, (REPLICATES, values.size))
    return np.array([percentile(np.sort(row), percent) for row in drawn], np.float32)


@pytest.mark.parametrize("percent", PERCENTS, ids="p{}".format)
@pytest.mark.parametrize("count", [1, 7, 120], ids="{} turns".format)
def test_replicates_match_actual_resampling(count: int, percent: int) -> None:
    values = ordered(np.random.default_rng(3).exponential(100, count).tolist())
    short, long = replicates(values, percent, 1), resampled(values, percent)
    for value in values:
        # Both have the same distribution: about the same share lies below every value.
        assert (short <= value).mean() == pytest.approx((long <= value).mean(), abs=0.05)


@pytest.mark.parametrize("percent", [50, 90], ids="p{}".format)
def test_intervals_have_stated_coverage(percent: int) -> None:
    random = np.random.default_rng(5)
    truth = -100 * np.log(1 - percent / 100)
    found = [estimate(ordered(random.exponential(100, 150).tolist()), percent) for _ in range(400)]
    assert np.mean([each.low <= truth <= each.high for each in found]) == pytest.approx(LEVEL, abs=0.035)


@pytest.mark.parametrize(
    ("percent", "turns"), [(50, 5), (90, 29), (95, 59), (99, 299)], ids=["p50", "p90", "p95", "p99"]
)
def test_least_turns_for_percentiles(percent: int, turns: int) -> None:
    assert min_turns(percent) == turns
    below = percent / 100
    assert 1 - below**turns >= LEVEL > 1 - below ** (turns - 1)
    values = ordered(range(turns))
    assert estimate(values, percent).enough
    assert not estimate(values[1:], percent).enough
    assert not difference(values, values[1:], percent).enough


@given(st.integers(1, 10_000), st.data())
def test_share_lies_in_its_interval(of: int, data: st.DataObject) -> None:
    count = data.draw(st.integers(0, of))
    found = share(count, of)
    assert found is not None
    assert 0 <= found.low <= found.value <= found.high <= 1
    assert (found.high - found.low) <= 4 / of**0.5


def test_no_figures_without_values() -> None:
    assert spread(ordered([])) is None
    assert share(0, 0) is None
    with pytest.raises(ValueError, match="no values"):
        percentile(ordered([]), 50)


def test_figures_are_reproducible() -> None:
    values = ordered(np.random.default_rng(1).exponential(100, 50).tolist())
    assert spread(values) == spread(values)
