"""Statistics of how long an engine's last jobs waited before it began them. No I/O, no clock."""

import math
from typing import Protocol, runtime_checkable

LAST_JOBS = 64
"""Number of jobs that count. Sixteen conversations make so many in about a minute."""


class QueueWait:
    """The waits of the last jobs that somebody waited for. May be recorded in another thread than it is read in."""

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
        waits_s, count = tuple(self._waits_s), self._count
        new = max(0, min(count - jobs, len(waits_s)))
        return tuple(waits_s[number % LAST_JOBS] for number in range(count - new, count))

    def p95_s(self) -> float:
        """Returns the 95th percentile of the last `LAST_JOBS` waits in seconds (nearest rank); 0 without jobs."""
        waits_s = sorted(self._waits_s)
        return waits_s[math.ceil(0.95 * len(waits_s)) - 1] if waits_s else 0.0


@runtime_checkable
class QueuedEngine(Protocol):
    """An engine with a queue that all conversations share."""

    @property
    def queue_wait(self) -> QueueWait:
        """The waits of its last jobs."""
        ...
