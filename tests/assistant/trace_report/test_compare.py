"""Percentiles and their intervals, and comparisons of two sets of turns: better, worse, and cannot tell."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.conversations.trace_samples import demo_records, printed, slower

from assistant.trace.waterfall import nearest_rank
from assistant.trace_report.compare import Comparison, compare, comparison_table, is_worse, notes
from assistant.trace_report.facts import facts_of
from assistant.trace_report.figures import Tally
from assistant.trace_report.reading import Record
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


def varied_turns(turns: int, seed: int, later_ms: float = 0.0, stage: str = "llm_first_token") -> dict[str, Values]:
    """Returns the demo's turns with random delays, and all `later_ms` slower in one stage."""
    chance, recorded = random.Random(seed), demo_records()
    counted = Tally()
    for number in range(turns):
        record: Record = slower([recorded[number % 5]], stage, later_ms + chance.expovariate(1 / 20))[0]
        counted.add_turn(record["conversation"], facts_of(record))
    return counted.ordered()


def verdicts(found: list[Comparison], stage: str) -> list[str]:
    return [each.verdict for each in found if each.stage == stage]


def test_slower_stage_and_latency_are_worse_and_gate_fails() -> None:
    found = compare(varied_turns(200, 1), varied_turns(200, 2, later_ms=40))
    assert verdicts(found, "llm_first_token") == ["worse", "worse"]
    assert verdicts(found, "response_latency") == ["worse", "worse"]
    assert verdicts(found, "playout") == ["cannot tell", "cannot tell"]
    assert is_worse(found)


def test_faster_stage_is_better_and_gate_passes() -> None:
    found = compare(varied_turns(200, 2, later_ms=40), varied_turns(200, 1))
    assert verdicts(found, "response_latency") == ["better", "better"]
    assert not is_worse(found)


@pytest.mark.parametrize("seed", range(2), ids="seed {}".format)
def test_random_difference_cannot_be_told(seed: int) -> None:
    assert not is_worse(compare(varied_turns(200, seed), varied_turns(200, seed + 100)))


@pytest.mark.parametrize(
    ("percent", "turns"),
    [(50, 5), (50, 60), (95, 59), (95, 200)],
    ids=["p50 of 5 turns", "p50 of 60 turns", "p95 of 59 turns", "p95 of 200 turns"],
)
def test_false_verdicts_are_as_rare_as_the_interval_states(percent: int, turns: int) -> None:
    """One end of a 95 % interval is 2.5 %. In 600 draws: 1.2 to 4 %, allowing for the p95's coarse steps."""
    chance = np.random.default_rng(1)
    draws = [[ordered((230 + chance.exponential(40, turns)).tolist()) for _ in range(2)] for _ in range(600)]
    assert np.mean([difference(before, after, percent).low > 0 for before, after in draws]) <= 0.04


def test_tiny_difference_cannot_be_told() -> None:
    found = compare(varied_turns(3000, 1, stage="tts"), varied_turns(3000, 1, later_ms=0.5, stage="tts"))
    assert verdicts(found, "tts") == ["cannot tell", "cannot tell"]


def test_few_turns_give_no_verdict_on_p95() -> None:
    found = compare(varied_turns(40, 1), varied_turns(40, 2, later_ms=400))
    assert verdicts(found, "response_latency") == ["worse", "cannot tell"]
    assert notes(found)[1] == "p95 needs 59 turns or more in each set"
    assert is_worse(found)


def test_stages_without_time_are_left_out() -> None:
    assert not any(each.stage == "queue" for each in compare(varied_turns(10, 1), varied_turns(10, 2)))


def test_table_shows_each_verdict() -> None:
    found = compare(varied_turns(200, 1), varied_turns(200, 2, later_ms=40))
    text = printed(lambda console: console.print(comparison_table(found, "old", "new")))
    (line,) = [line for line in text.splitlines() if line.startswith("response latency")]
    assert line.split()[-1] == "worse"
    assert "+" in line
