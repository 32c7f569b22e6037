"""Tests the numbers that are fitted on natural pauses, on moments with known ones."""

from dataclasses import replace

import numpy as np
import pytest

from bench.end_of_turn.clips import Turn
from bench.end_of_turn.moments import Moment
from bench.end_of_turn.shifts import excess_ms, silence_shift

AT_MS = (200, 300, 400, 600, 800, 1200)
EXCESS_MS = 400.0


def silence(turn: int, number: int, label: str, lasts_ms: float) -> list[Moment]:
    """Returns the moments of a silence from 200 ms on."""
    one = Moment(turn, f"s{turn % 40}", "", "command", label, False, number, 0, 0.0, lasts_ms, {}, None, "", False)
    return [replace(one, at_ms=at_ms, known_ms=float(at_ms)) for at_ms in AT_MS if at_ms < lasts_ms]


def test_excess_is_mean_over_200_ms() -> None:
    turn = Turn(
        "a", "s", "", "", np.zeros(0, np.int16), 0.0, 9000.0, ((0, 300), (1000, 1150), (2000, 2500)), (), 9000.0
    )
    assert excess_ms([turn]) == pytest.approx(200)
    given = replace(turn, given=((2000, 2500),))
    assert excess_ms([given]) == pytest.approx((100 + 0.25 * 300) / 1.25)


def test_steady_end_of_pauses_is_found() -> None:
    lengths = 200 + np.random.default_rng(1).exponential(EXCESS_MS, 400)
    moments = [
        m for turn, ms in enumerate(lengths) for m in (*silence(turn, 0, "pause", ms), *silence(turn, 1, "end", 2000))
    ]
    found = silence_shift(moments, np.random.default_rng(2).normal(0, 0.1, len(moments)))
    assert found.low < 1000 / EXCESS_MS < found.high
    assert found.value == pytest.approx(1000 / EXCESS_MS, rel=0.25)
