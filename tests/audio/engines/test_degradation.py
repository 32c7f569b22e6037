"""Levels of degradation when the engines are late."""

import pytest

from audio.degradation import CALM_S, RISES_AT, Degradation, DegradationPolicy


@pytest.mark.parametrize(
    ("lateness", "level"),
    [(0.9, Degradation.NONE), *zip(RISES_AT, list(Degradation)[1:], strict=True)],
    ids=lambda value: value.name if isinstance(value, Degradation) else "",
)
def test_level_follows_lateness_in_order(lateness: float, level: Degradation) -> None:
    policy = DegradationPolicy()
    assert policy.record(lateness, 0.0) is (level > Degradation.NONE)
    assert policy.level == level


def test_long_wait_and_slow_job_raise_level() -> None:
    waited, slow = DegradationPolicy(), DegradationPolicy()
    waited.record_wait(1.0, 0.0)
    slow.record_job(took_s=3.0, sound_s=2.0, now_s=0.0)
    assert waited.level == slow.level == Degradation.FEWER_RETRIES


def test_slow_decodes_leave_out_only_decodes() -> None:
    policy, levels = DegradationPolicy(), []
    for took_s in (2.0, 3.0, 60.0):  # the first one is usual with a large model
        policy.record_decode(took_s, 1.0, 0.0)
        levels.append(policy.level)
    assert levels == [Degradation.NONE, Degradation.NO_INTERIMS, Degradation.FEWER_RETRIES]


def test_level_falls_one_step_after_calm_time() -> None:
    policy = DegradationPolicy()
    policy.record(3.0, 0.0)
    assert [policy.record(0.1, at_s) for at_s in (1.0, CALM_S, CALM_S + 1.0)] == [False, False, True]
    assert policy.level == Degradation.FEWER_RETRIES


def test_lateness_near_threshold_does_not_end_level() -> None:
    policy = DegradationPolicy()
    policy.record(1.0, 0.0)
    for at_s in range(100):
        policy.record(0.9 if at_s % 5 == 0 else 0.1, at_s)
    assert policy.level == Degradation.NO_INTERIMS


def test_level_that_comes_back_soon_lasts_longer() -> None:
    policy = DegradationPolicy()
    policy.record(1.0, 0.0)
    policy.record(0.1, 0.0)
    assert policy.record(0.1, CALM_S)
    policy.record(1.0, CALM_S + 1)
    policy.record(0.1, CALM_S + 1)
    assert not policy.record(0.1, 2 * CALM_S + 1)
    assert policy.record(0.1, 3 * CALM_S + 1)
