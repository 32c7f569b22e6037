"""Tests the cost of a way of waiting."""

from dataclasses import replace

import pytest

from bench.end_of_turn.curve import cost, ended_at, with_real_lengths
from bench.end_of_turn.moments import Moment

AT_MS = (100, 200, 400, 800)


def silence(turn: int, number: int, label: str, lasts_ms: float) -> list[Moment]:
    """Returns the moments of a silence at the four lengths that it may reach."""
    common = Moment(turn, "s", "", "command", label, False, number, 0, 0.0, lasts_ms, {}, None, "", False)
    return [replace(common, at_ms=at, known_ms=float(at)) for at in AT_MS if at < lasts_ms]


PAUSED = [*silence(0, 0, "pause", 600), *silence(0, 1, "end", 2000)]
PLAIN = silence(1, 0, "end", 2000)
PLOSIVE = [*silence(2, 0, "gap", 150), *silence(2, 1, "end", 2000)]
ALL = [*PAUSED, *PLAIN, *PLOSIVE]


def test_fixed_wait_ends_after_its_length() -> None:
    assert ended_at(PLAIN, lambda _: 300.0) == 300
    assert ended_at(PLAIN, lambda _: 50.0) == 100  # not before it is known
    assert ended_at(PLAIN, lambda _: 5000.0) == 5000


def test_latest_estimate_counts() -> None:
    waits = {100: 500.0, 200: 250.0, 400: 100.0, 800: 100.0}
    assert ended_at(PLAIN, lambda moment: waits[moment.at_ms]) == 250
    assert ended_at(PLAIN, lambda moment: 1000.0 if moment.at_ms < 400 else 0.0) == 400


def test_cut_ins_are_counted_per_pause_and_per_turn() -> None:
    eager, patient = cost(ALL, lambda _: 300.0), cost(ALL, lambda _: 700.0)
    assert (eager.cut_pauses, eager.cut_turns, eager.cut_plain) == (1.0, 1.0, 0.0)
    assert (patient.cut_pauses, patient.cut_turns, patient.median_ms) == (0.0, 0.0, 700.0)
    assert cost(ALL, lambda _: 120.0).cut_plain == pytest.approx(0.5)


def test_added_pauses_get_lengths_of_real_pauses() -> None:
    made = silence(3, 0, "made", 1500)
    found = [moment for moment in with_real_lengths([*PAUSED, *made]) if moment.turn == 3]
    assert {moment.lasts_ms for moment in found} == {600}
    assert [moment.at_ms for moment in found] == [100, 200, 400]
