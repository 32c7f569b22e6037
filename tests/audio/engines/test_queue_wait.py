"""Waiting times of the last jobs of an engine."""

from collections.abc import Iterator

import pytest

from audio.queue_wait import LAST_JOBS, QueueWait


def test_only_the_last_jobs_are_kept() -> None:
    waits = QueueWait()
    for number in range(2 * LAST_JOBS):
        waits.record(float(number))
    assert waits.jobs == 2 * LAST_JOBS
    assert waits.after(0) == tuple(float(number) for number in range(LAST_JOBS, 2 * LAST_JOBS))


def test_negative_wait_counts_as_zero() -> None:
    waits = QueueWait()
    waits.record(-1.0)
    assert waits.after(0) == (0.0,)


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


class RecordingWhileRead(list[float]):
    """Waits of which the engine's thread records another one before or after they are copied for the first time."""

    def __init__(self, waits: QueueWait, *, before_copy: bool) -> None:
        super().__init__()
        self._queue_wait = waits
        self._before_copy = before_copy
        self._was_read = False

    def __iter__(self) -> Iterator[float]:
        is_first, self._was_read = not self._was_read, True
        if is_first and self._before_copy:
            self._queue_wait.record(9.0)
        yield from list(super().__iter__())
        if is_first and not self._before_copy:
            self._queue_wait.record(9.0)


@pytest.mark.parametrize("before_copy", [True, False])
@pytest.mark.parametrize("jobs", [0, 5, LAST_JOBS])
def test_job_recorded_while_waits_are_read_is_returned_by_the_next_call(jobs: int, before_copy: bool) -> None:
    waits = QueueWait()
    waits._waits_s = RecordingWhileRead(waits, before_copy=before_copy)
    for _ in range(jobs):
        waits.record(1.0)
    read = max(0, jobs - 3)
    assert waits.after(read) == (1.0,) * (jobs - read)
    assert waits.after(jobs) == (9.0,)
