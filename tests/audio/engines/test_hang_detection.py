"""Hung engines and late ones, in virtual time."""

from collections.abc import Callable

import pytest

from audio.hang_detection import BLOCKED_S, SPIN_FACTOR, SPIN_S, STEP_S, UNKNOWN_S, EngineSample, HangDetector

NEED_S = 2.0
LONG_S = 3600


def found_after_s(
    processor: Callable[[float], float | None],
    *,
    starved: Callable[[float], bool] = lambda _at_s: False,
    progress: Callable[[float], int] = lambda _at_s: 0,
    step_s: float = STEP_S,
) -> float | None:
    """Returns when the engine is found to hang, in seconds; None: within an hour it is not."""
    detector, at_s = HangDetector(NEED_S), 0.0
    while at_s < LONG_S:
        if detector.observe(EngineSample(at_s, progress(at_s), processor(at_s), starved(at_s))):
            return at_s
        at_s += step_s
    return None


def test_blocked_engine_is_found() -> None:
    assert found_after_s(lambda _: 7.0) == BLOCKED_S


def test_engine_that_computes_without_progress_is_found_by_its_processor_time() -> None:
    assert found_after_s(lambda at_s: at_s) == SPIN_S + SPIN_FACTOR * NEED_S


def test_spinning_engine_on_busy_machine_is_found_later() -> None:
    assert found_after_s(lambda at_s: at_s / 10) == pytest.approx(10 * (SPIN_S + SPIN_FACTOR * NEED_S), abs=20)


def test_step_that_takes_ten_times_as_long_is_late() -> None:
    assert found_after_s(lambda at_s: at_s / 10, progress=lambda at_s: int(at_s // (10 * NEED_S))) is None


def test_starving_engine_is_late() -> None:
    assert found_after_s(lambda _: 7.0, starved=lambda _: True) is None


def test_engine_that_gets_a_processor_now_and_then_is_late() -> None:
    assert found_after_s(lambda at_s: 0.2 * (at_s // 10), progress=lambda at_s: int(at_s // 600)) is None


def test_polling_helper_thread_does_not_hide_blocked_engine() -> None:
    assert found_after_s(lambda at_s: 0.001 * at_s) == pytest.approx(BLOCKED_S, rel=0.2)


def test_engine_is_found_after_starvation_ends() -> None:
    assert found_after_s(lambda _: 7.0, starved=lambda at_s: at_s < 100) == pytest.approx(100 + BLOCKED_S, abs=1)


def test_unknown_processor_time_allows_a_longer_wait() -> None:
    assert found_after_s(lambda _: None) == UNKNOWN_S
    assert found_after_s(lambda _: None, progress=lambda at_s: int(at_s // 100)) is None


def test_stopped_program_is_no_hang() -> None:
    detector = HangDetector()
    assert not detector.observe(EngineSample(0, 0, 7.0))
    assert not detector.observe(EngineSample(LONG_S, 0, 7.0))
    assert not detector.observe(EngineSample(LONG_S + STEP_S, 0, 7.0))


def test_frequent_samples_change_nothing() -> None:
    assert found_after_s(lambda _: 7.0, step_s=STEP_S / 8) == BLOCKED_S
