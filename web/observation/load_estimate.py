"""Estimates the server's load from what it measures anyway: turn records, the event loop's lag, waits for engines."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from assistant.trace.latency import Stage
from assistant.trace.record import TurnRecord
from web.observation.rolling_estimate import RollingEstimate

WINDOW_S = 60.0
"""Age at which a measurement no longer counts: about ten turns of a conversation."""
HALF_LIFE_S = 20.0
"""Age at which a measurement counts half."""

ENGINE_STAGES: tuple[Stage, ...] = ("stt", "queue", "tts")
"""Stages of the response latency that grow with the load of this machine. The others depend on pauses of the user, on
the language model's service and on the client."""


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
        self._latency.add(latency_ms / 1000, now_s)
        self._engine_latency.add(sum(share.ms for share in shares if share is not None) / 1000, now_s)

    def loop_lag(self, lag_s: float) -> None:
        """Counts a measurement of the event loop's lag."""
        self._lag.add(lag_s, self._clock())

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
                estimate.add(wait_s, now_s)

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
