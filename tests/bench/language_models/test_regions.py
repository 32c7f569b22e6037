"""Tests the comparison of locations, in virtual time: the cost of distance on warm and cold connections."""

import pytest
from support.clocks.virtual_time import run_virtual

from bench.language_models.regions import PLACES, SETUP_ROUND_TRIPS, compare, table

pytestmark = pytest.mark.slow


def test_warm_turn_costs_one_round_trip_and_cold_turn_three() -> None:
    asked = run_virtual(compare(3), sockets=True)
    assert [each.figures.endpoint.name for each in asked] == ["edge", "near", "far"]
    for place, each in zip(PLACES, asked, strict=True):
        assert each.figures.problem == ""
        first_ms = each.figures.first_token_ms(50)
        assert first_ms is not None
        assert first_ms >= place.behaviour.ttft_ms + place.round_trip_ms - 1
        assert each.cold_ms >= first_ms + (SETUP_ROUND_TRIPS - 0.5) * place.round_trip_ms - 20
    edge, _, far = (each.figures.first_token_ms(50) or 0.0 for each in asked)
    assert far - edge > 100
    assert table(asked).count("\n") == 5
