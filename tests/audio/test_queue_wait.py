"""Waiting times of the last jobs of an engine."""

import pytest

from audio.queue_wait import LAST_JOBS, QueueWait


def test_without_jobs_the_wait_is_zero() -> None:
    assert QueueWait().p95_s() == 0


def test_percentile_is_the_nearest_rank() -> None:
    waits = QueueWait()
    for wait_ms in range(1, 21):
        waits.record(wait_ms / 1000)
    assert waits.p95_s() == pytest.approx(0.019)


def test_old_jobs_are_forgotten() -> None:
    waits = QueueWait()
    for _ in range(LAST_JOBS):
        waits.record(5.0)
    for _ in range(LAST_JOBS):
        waits.record(0.1)
    assert waits.p95_s() == pytest.approx(0.1)
    assert waits.jobs == 2 * LAST_JOBS


def test_negative_wait_counts_as_zero() -> None:
    waits = QueueWait()
    waits.record(-1.0)
    assert waits.p95_s() == 0


def test_new_waits_are_those_after_the_jobs_already_read() -> None:
    waits = QueueWait()
    assert waits.after(0) == ()
    for wait_s in (0.1, 0.2, 0.3):
        waits.record(wait_s)
    assert waits.after(1) == (0.2, 0.3)
    assert waits.after(3) == ()
    for number in range(2 * LAST_JOBS):
        waits.record(float(number))
    assert waits.after(3) == tuple(float(number) for number in range(LAST_JOBS, 2 * LAST_JOBS))
    assert waits.after(waits.jobs - 2) == (2.0 * LAST_JOBS - 2, 2.0 * LAST_JOBS - 1)
