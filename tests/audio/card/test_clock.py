"""Valid and invalid timestamps of a card."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audio.card.clock import MAX_LAG_S, CardClock

anything = st.floats(-1e10, 1e10)


def test_capture_time_comes_from_card() -> None:
    clock = CardClock(0.04)
    for block in range(100):
        now_s = 1000 + block * 0.02
        card_s = now_s + 5e8  # another origin: the system's real time
        captured_s = clock.captured_s(now_s, card_s, card_s - 0.035, 0.02)
    assert captured_s == pytest.approx(now_s - 0.015, abs=1e-5)
    assert clock.lag_s == pytest.approx(0.015, abs=1e-5)
    assert (clock.believed, clock.doubted) == (100, 0)


def test_single_outlier_does_not_change_capture_time() -> None:
    clock = CardClock(0.04)
    for age_s in (0.03, 0.03, 0.9, 0.03, 0.03):
        captured_s = clock.captured_s(50.0, 10.0, 10.0 - age_s, 0.02)
    assert captured_s == pytest.approx(49.99)


@pytest.mark.parametrize(
    "first_s", [0.0, 10.0, 10.5, 1.0, -3.0], ids=["zero", "arrival", "future", "long ago", "negative"]
)
def test_block_with_invalid_time_is_dated_by_arrival(first_s: float) -> None:
    clock = CardClock(0.04)
    assert clock.captured_s(50.0, 10.0, first_s, 0.04) == 50.0
    assert clock.doubted == 1


def test_playback_time_comes_from_card_or_its_latency() -> None:
    clock = CardClock(0.04)
    assert clock.leaves_s(50.0, 0.0, 0.0) == pytest.approx(50.04)
    assert clock.leaves_s(50.0, 10.0, 10.3) == pytest.approx(50.3)
    assert clock.latency_s == pytest.approx(0.3)
    assert clock.leaves_s(60.0, 10.0, 4.0) == pytest.approx(60.3)  # the last valid latency
    assert (clock.believed, clock.doubted) == (1, 2)


@given(st.lists(st.tuples(anything, anything)), st.floats(0.001, 0.1))
def test_capture_is_never_after_now_and_playback_never_before(
    readings: list[tuple[float, float]], length_s: float
) -> None:
    captured, leaving = CardClock(0.02), CardClock(0.02)
    for card_s, first_s in readings:
        assert 1000 - MAX_LAG_S <= captured.captured_s(1000.0, card_s, first_s, length_s) <= 1000
        assert 1000 <= leaving.leaves_s(1000.0, card_s, first_s) <= 1000 + MAX_LAG_S
