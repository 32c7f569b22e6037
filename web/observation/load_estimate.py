"""Estimates the server's load from what it measures anyway: turn records, the event loop's lag, waits for engines."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt

from assistant.trace.latency import Stage
from assistant.trace.record import TurnRecord

WINDOW_S = 60.0
"""Age at which a measurement no longer counts: about ten turns of a conversation."""
HALF_LIFE_S = 20.0
"""Age at which a measurement counts half."""

ENGINE_STAGES: tuple[Stage, ...] = ("stt", "queue", "tts")
"""Stages of the response latency that grow with the load of this machine. The others depend on pauses of the user, on
the language model's service and on the client."""


MAX_SAMPLES = 1000
"""Samples kept. The event loop's lag is measured 600 times in a window of 60 s; beyond that the oldest are dropped."""
MIN_AT_LEAST = 3
"""Samples that a percentile does not exceed, so that one or two slow ones do not decide it. Newer samples count so much
more that even among twenty a single one may be the 95th percentile by weight."""


class RollingEstimate:
    """Samples of a time window. The weight of a sample halves with every half-life."""

    def __init__(self, window_s: float, half_life_s: float) -> None:
        """`window_s`: age at which a sample is dropped; `half_life_s`: age at which it counts half."""
        self._window_s = window_s
        self._half_life_s = half_life_s
        self._at_s = np.full(MAX_SAMPLES, -np.inf)
        self._values = np.zeros(MAX_SAMPLES)
        self._next = 0

    def add_sample(self, value: float, now_s: float) -> None:
        """Adds a sample that was measured at `now_s`."""
        self._at_s[self._next], self._values[self._next] = now_s, value
        self._next = (self._next + 1) % MAX_SAMPLES

    def clear(self) -> None:
        """Drops all samples."""
        self._at_s.fill(-np.inf)

    def count(self, now_s: float) -> int:
        """Returns the number of samples in the window."""
        return int(np.count_nonzero(self._recent(now_s)))

    def quantile(self, share: float, now_s: float) -> float | None:
        """Returns the smallest value that at least `share` (0..1) of the weight does not exceed; None: no samples.

        It is lower if fewer than `MIN_AT_LEAST` samples have at least this value.
        """
        recent = self._recent(now_s)
        values, at_s = self._values[recent], self._at_s[recent]
        if not len(values):
            return None
        order = np.argsort(values)
        total = np.cumsum(0.5 ** ((now_s - at_s[order]) / self._half_life_s))
        place = int(np.searchsorted(total, share * total[-1]))
        return float(values[order[min(place, max(0, len(values) - MIN_AT_LEAST))]])

    def _recent(self, now_s: float) -> npt.NDArray[np.bool_]:
        recent: npt.NDArray[np.bool_] = now_s - self._at_s <= self._window_s
        return recent


class RecordedWaits(Protocol):
    """Waits of the jobs of one engine (audio/queue_wait.py)."""

    @property
    def jobs(self) -> int:
        """The number of jobs so far."""
        ...

    def after(self, jobs: int) -> Sequence[float]:
        """Returns the waits in seconds of the jobs after the first `jobs`, as far as they are kept."""
        ...


@dataclass(frozen=True, slots=True)
class QueueFigures:
    """The waits for one engine within the window.

    Attributes:
        jobs: Number of jobs.
        wait_s: Their wait, p95.
    """

    jobs: int
    wait_s: float


@dataclass(frozen=True, slots=True)
class LoadFigures:
    """The load at one moment. None: nothing was measured within the window.

    Attributes:
        turns: Turns with a latency in the window.
        response_latency_s: Response latency, p95 of these turns.
        engine_latency_s: Part of it in the stages `ENGINE_STAGES`, p95 of these turns.
        lags: Measurements of the event loop's lag in the window.
        loop_lag_s: Lag of the event loop, p99.
        queues: Waits for engines whose jobs somebody waits for, by the stage of the engine.
    """

    turns: int = 0
    response_latency_s: float | None = None
    engine_latency_s: float | None = None
    lags: int = 0
    loop_lag_s: float | None = None
    queues: Mapping[str, QueueFigures] = field(default_factory=dict)


def no_queues() -> Mapping[str, RecordedWaits]:
    """Default for servers whose engines have no queues."""
    return {}


class LoadEstimate:
    """Rolling estimate of the load. Reading it changes nothing.

    Attributes:
        queue_waits: Returns the waits of each engine's jobs, by its stage.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock`: returns the time in seconds."""
        self.queue_waits: Callable[[], Mapping[str, RecordedWaits]] = no_queues
        self._clock = clock
        self._latency = RollingEstimate(WINDOW_S, HALF_LIFE_S)
        self._engine_latency = RollingEstimate(WINDOW_S, HALF_LIFE_S)
        self._lag = RollingEstimate(WINDOW_S, HALF_LIFE_S)
        self._queues: dict[str, RollingEstimate] = {}
        self._counted: dict[str, tuple[RecordedWaits, int]] = {}  # the waits that were read, and their number of jobs

    def turn(self, record: TurnRecord) -> None:
        """Counts a finished turn, unless it failed or has no latency."""
        latency_ms = record.counted_latency_ms
        if latency_ms is None:
            return
        now_s = self._clock()
        shares = (record.stages.get(stage) for stage in ENGINE_STAGES)
        self._latency.add_sample(latency_ms / 1000, now_s)
        self._engine_latency.add_sample(sum(share.ms for share in shares if share is not None) / 1000, now_s)

    def loop_lag(self, lag_s: float) -> None:
        """Counts a measurement of the event loop's lag."""
        self._lag.add_sample(lag_s, self._clock())

    def read_queues(self) -> None:
        """Counts the jobs since the last call."""
        now_s = self._clock()
        for stage, waits in self.queue_waits().items():
            known, counted = self._counted.get(stage, (waits, 0))
            if known is not waits:  # the engine was loaded again
                counted = 0
            jobs = waits.jobs
            self._counted[stage] = waits, jobs
            estimate = self._queues.setdefault(stage, RollingEstimate(WINDOW_S, HALF_LIFE_S))
            for wait_s in waits.after(counted)[: jobs - counted]:  # the engine's thread may record another one now
                estimate.add_sample(wait_s, now_s)

    def clear(self) -> None:
        """Forgets all measurements, because they belong to a load that is over, such as the start of the server."""
        for estimate in (self._latency, self._engine_latency, self._lag, *self._queues.values()):
            estimate.clear()

    def figures(self) -> LoadFigures:
        """Returns the load now."""
        now_s = self._clock()
        return LoadFigures(
            turns=self._latency.count(now_s),
            response_latency_s=self._latency.quantile(0.95, now_s),
            engine_latency_s=self._engine_latency.quantile(0.95, now_s),
            lags=self._lag.count(now_s),
            loop_lag_s=self._lag.quantile(0.99, now_s),
            queues={
                stage: QueueFigures(estimate.count(now_s), wait_s)
                for stage, estimate in self._queues.items()
                if (wait_s := estimate.quantile(0.95, now_s)) is not None
            },
        )
