"""How long the last jobs of an engine waited."""

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
