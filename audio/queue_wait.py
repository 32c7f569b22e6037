"""Records how long an engine's last jobs waited before it began them. No I/O, no clock."""

from typing import Protocol, runtime_checkable

LAST_JOBS = 64
"""Number of jobs that are kept. The waits are read ten times a second, and no engine begins so many jobs meanwhile."""


class QueueWait:
    """The waits of the last jobs that somebody waited for. One thread records them, another one may read them."""

    def __init__(self) -> None:
        """Starts without jobs."""
        self._waits_s: list[float] = []
        self._count = 0

    @property
    def jobs(self) -> int:
        """The number of jobs so far."""
        return self._count

    def record(self, wait_s: float) -> None:
        """Adds a job that waited this long, in seconds. Negative values count as 0."""
        wait_s = max(0.0, wait_s)
        if self._count < LAST_JOBS:
            self._waits_s.append(wait_s)
        else:
            self._waits_s[self._count % LAST_JOBS] = wait_s
        self._count += 1

    def after(self, jobs: int) -> tuple[float, ...]:
        """Returns the waits of the jobs after the first `jobs`, in seconds, oldest first; at most `LAST_JOBS`."""
        count = self._count  # read first: a job that is recorded meanwhile is returned by the next call
        waits_s = tuple(self._waits_s)
        new = max(0, min(count - jobs, count, LAST_JOBS))
        return tuple(waits_s[number % LAST_JOBS] for number in range(count - new, count))


@runtime_checkable
class QueuedEngine(Protocol):
    """An engine with a queue that all conversations share."""

    @property
    def queue_wait(self) -> QueueWait:
        """The waits of its last jobs."""
        ...
