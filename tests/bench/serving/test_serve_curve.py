"""Tests the points of the curve, computed from moments of silences."""

from itertools import groupby

import pytest

from bench.end_of_turn.moments import AT_MS, Moment
from bench.end_of_turn.table import names_of
from bench.serving.curve import points_of


def moments(turn: int, number: int, label: str, lasts_ms: float, smart: float) -> list[Moment]:
    """Returns the moments of one silence at each length that it reaches."""
    prosody = dict.fromkeys(names_of("sound"), 0.0)
    return [
        Moment(
            turn, f"speaker {turn}", "", "command", label, made=False, number=number, at_ms=at_ms, known_ms=at_ms,
            lasts_ms=lasts_ms, prosody=prosody, smart=smart, text="turn on the lamp", low_confidence=False,
        )
        for at_ms in AT_MS
        if at_ms < lasts_ms
    ]  # fmt: skip


HEARD = [
    *moments(0, 0, "pause", 500, smart=0.05),
    *moments(0, 1, "end", 2000, smart=0.95),
    *moments(1, 0, "end", 2000, smart=0.95),
]


def test_each_source_has_point_for_each_setting() -> None:
    points = points_of(HEARD, ["smart", "sound+smart"])
    counts = {source: len(list(some)) for source, some in groupby(points, lambda point: point.source)}
    assert list(counts) == ["fixed", "smart", "sound+smart", "profile"]
    assert counts["smart"] == counts["sound+smart"] > 10
    assert counts["profile"] == 3


def test_fixed_silence_cuts_into_longer_pauses() -> None:
    fixed = {point.setting: point for point in points_of(HEARD, ["smart"]) if point.source == "fixed"}
    assert (fixed["400 ms"].cut_share, fixed["600 ms"].cut_share) == (1.0, 0.0)
    assert fixed["400 ms"].median_ms == pytest.approx(400)
    assert fixed["600 ms"].cut_plain_share == 0.0


def test_longer_wait_costs_time_and_saves_cut_ins() -> None:
    smart = [point for point in points_of(HEARD, ["smart"]) if point.source == "smart"]
    assert smart[0].median_ms <= smart[-1].median_ms
    assert smart[0].cut_share >= smart[-1].cut_share


def test_cut_share_is_missing_without_pauses() -> None:
    assert points_of(moments(0, 0, "end", 2000, smart=0.9), ["smart"]) == ()
