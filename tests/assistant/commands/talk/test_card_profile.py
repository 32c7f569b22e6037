"""The silence timeout is adapted to the latency of the sound card."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.commands.talk.card_profile import MIN_CEILING_MS, adapt_to_card
from assistant.end_of_turn.estimator import BALANCED, EAGER, PATIENT


@pytest.mark.parametrize(
    ("card_ms", "ceiling_ms"),
    [(0, 440), (20, 440), (40, 440), (70, 410), (100, 380), (300, 380)],
    ids=["no latency", "20 ms", "40 ms", "70 ms", "100 ms", "300 ms"],
)
def test_card_latency_is_subtracted_from_the_ceiling(card_ms: float, ceiling_ms: float) -> None:
    assert adapt_to_card(BALANCED, card_ms) == replace(BALANCED, ceiling_ms=ceiling_ms)


def test_profile_without_promise_is_unchanged() -> None:
    assert adapt_to_card(PATIENT, 300) == PATIENT


def test_sufficient_ceiling_is_unchanged() -> None:
    assert adapt_to_card(EAGER, 70) == EAGER
    low = replace(EAGER, ceiling_ms=300, unfinished_ms=300)
    assert adapt_to_card(low, 1000) == low


@given(card_ms=st.floats(0, 5000), ceiling_ms=st.floats(220, 500))
def test_ceiling_only_decreases_and_keeps_its_minimum(card_ms: float, ceiling_ms: float) -> None:
    before = replace(BALANCED, ceiling_ms=ceiling_ms)
    after = adapt_to_card(before, card_ms)
    assert min(ceiling_ms, MIN_CEILING_MS) <= after.ceiling_ms <= ceiling_ms
    assert after == replace(before, ceiling_ms=after.ceiling_ms)
