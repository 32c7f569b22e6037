"""Compares two sets of turns: better, worse, and cannot tell."""

import random

import numpy as np
import pytest
from support.conversations.trace_samples import demo_records, printed, slower

from assistant.trace_report.compare import Comparison, compare, comparison_table, is_worse, notes
from assistant.trace_report.facts import facts_of
from assistant.trace_report.figures import Tally
from assistant.trace_report.reading import Record
from assistant.trace_report.statistics import Values, difference, ordered


def varied_turns(turns: int, seed: int, later_ms: float = 0.0, stage: str = "llm_first_token") -> dict[str, Values]:
    """Returns the demo's turns with random delays, and all `later_ms` slower in one stage."""
    chance, recorded = random.Random(seed), demo_records()
    counted = Tally()
    for number in range(turns):
        record: Record = slower([recorded[number % 5]], stage, later_ms + chance.expovariate(1 / 20))[0]
        counted.add(record["conversation"], facts_of(record))
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


@pytest.mark.parametrize("seed", range(5), ids="seed {}".format)
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
