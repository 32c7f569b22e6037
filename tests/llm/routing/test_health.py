"""Recent times to the first token."""

import pytest

from llm.routing.health import MAX_AGE_S, TYPICAL_OF, WINDOW, Health


def of(*times_s: float) -> Health:
    health = Health()
    for number, took_s in enumerate(times_s):
        health.first_token(1000.0 + number, took_s)
    return health


def test_unmeasured_endpoint_has_no_times() -> None:
    health = Health()
    assert health.typical_s is None
    assert health.quantile_s(0.9) is None
    assert health.unmeasured_for_s(5.0) == float("inf")


def test_typical_time_is_median_of_last_few() -> None:
    assert of(*[9.0] * 20, 0.1, 0.2, 0.3, 0.4, 5.0).typical_s == 0.3
    assert of(0.1, 0.1, 0.9, 0.9).typical_s == 0.1
    assert of(0.1, 0.1, 0.9, 0.9, 0.9).typical_s == 0.9


def test_percentiles_cover_the_window() -> None:
    health = of(*[99.0] * 10, *(number / 100 for number in range(1, WINDOW + 1)))
    assert health.samples == WINDOW
    assert health.quantile_s(0.9) == pytest.approx(0.45)
    assert health.quantile_s(0.5) == pytest.approx(0.25)
    assert health.quantile_s(1.0) == pytest.approx(0.5)


def test_old_times_are_dropped_except_newest() -> None:
    health = of(*[0.5] * 20)
    health.first_token(1000.0 + 2 * MAX_AGE_S, 0.1)
    assert health.samples == TYPICAL_OF


def test_overtaken_endpoint_never_looks_faster() -> None:
    health = of(0.8, 0.8, 0.8)
    health.overtaken(2000.0, 0.15)
    assert health.typical_s == 0.8
    for _ in range(TYPICAL_OF):
        health.overtaken(2000.0, 0.15)
    assert health.typical_s == 0.8
    health = of(0.1)
    for _ in range(TYPICAL_OF):
        health.overtaken(2000.0, 0.3)
    assert health.typical_s == 0.3


def test_overtaken_times_do_not_lengthen_wait() -> None:
    health = of(0.1, 0.12, 0.1)
    for _ in range(WINDOW):
        health.overtaken(2000.0, 9.0)
    assert health.usual_s == 0.1
    assert health.quantile_s(1.0) == 0.12


def test_recovery_discards_earlier_times() -> None:
    health = of(*[2.0] * 9)
    health.restart(3000.0, 0.1)
    assert (health.typical_s, health.samples, health.unmeasured_for_s(3001.0)) == (0.1, 1, 1.0)
