"""Decides from the measured load whether one more conversation fits. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass

from audio.machine_load import MachineLoad
from web.observation.load_estimate import LoadFigures

SILENT_AFTER_S = 1.0
"""Time after which a conversation without sound, as of a satellite that sleeps, is known to be no load. It then does
not count as beginning."""


@dataclass(frozen=True, slots=True)
class AdmissionSettings:
    """Limits of the load. Above one of them no further conversation is admitted.

    Attributes:
        response_latency_s: Response latency, p95, up to which neither engines nor their queues refuse anybody: part of
            their time passes within the silence timeout, so their figures alone say little.
        engine_latency_s: Part of the response latency for recognition, synthesis and waiting for them, p95. A silence
            timeout of 300 ms and a first token after 100 ms leave 400 of `response_latency_s`.
        loop_lag_s: Lag of the event loop, p99. A client's jitter buffer covers 60 ms.
        queue_wait_s: Time that jobs wait for an engine, p95: three quarters of `engine_latency_s`.
        min_turns: Turns from which latencies decide, and jobs from which their waits do. One or two slow ones do not
            decide (web/observation/load_estimate.py).
        min_lags: Measurements of the lag from which it decides: 10 s of them.
        always_admitted: Conversations that are admitted whatever is measured: so few are not the cause of the load.
        settling_s: Time after its beginning in which a conversation's load is not yet in the figures: about two turns.
        settling_sessions: Conversations that may begin within `settling_s`.
        settling_share: Share of the running conversations that may begin within `settling_s`, if that is more.
        release: Share of its limit below which a figure must fall before conversations are admitted again.
        retry_after_s: Time after which a refused client may try again: half of the half-life of the figures.
    """

    response_latency_s: float = 0.800
    engine_latency_s: float = 0.400
    loop_lag_s: float = 0.050
    queue_wait_s: float = 0.300
    min_turns: int = 8
    min_lags: int = 100
    always_admitted: int = 2
    settling_s: float = 10.0
    settling_sessions: int = 8
    settling_share: float = 0.5
    release: float = 0.85
    retry_after_s: float = 10.0


@dataclass(frozen=True, slots=True)
class _Excess:
    """A figure that is above its limit.

    Attributes:
        name: Which figure.
        sentence: The figure and its limit, for the refused client.
    """

    name: str
    sentence: str


class AdmissionPolicy:
    """Decides whether the load permits another conversation. Only `update` changes it."""

    def __init__(self, settings: AdmissionSettings) -> None:
        """Begins with no figure above its limit."""
        self.settings = settings
        self._above: dict[str, _Excess] = {}

    @property
    def reason(self) -> str | None:
        """The first figure above its limit and the limit; None: all are below."""
        return next((excess.sentence for excess in self._above.values()), None)

    def update(self, figures: LoadFigures, machine: MachineLoad | None = None) -> None:
        """Compares the figures with their limits. A figure above its limit stays above until it falls clearly below.

        Where other programs keep the machine busy, and this one uses less than half of it, the figures are not those of
        the conversations. Further ones are then served late and not refused.
        """
        by_others = machine is not None and machine.busy and machine.own < machine.processors / 2
        self._above = {} if by_others else {excess.name: excess for excess in self._excesses(figures)}

    def _excesses(self, figures: LoadFigures) -> Iterator[_Excess]:
        limits = self.settings
        in_band = self._latency_is_in_band(figures)
        engines_s, latency_s = figures.engine_latency_s, figures.response_latency_s
        if engines_s is not None and latency_s is not None and figures.turns >= limits.min_turns and not in_band:
            limit_s = limits.engine_latency_s
            if self._exceeds("engine latency", engines_s, limit_s):
                sentence = (
                    f"response latency p95 is {_ms(latency_s)} ms, of which recognition and synthesis take "
                    f"{_ms(engines_s)} ms, limit {_ms(limit_s)} ms"
                )
                yield _Excess("engine latency", sentence)
        lag_s = figures.loop_lag_s
        if (
            lag_s is not None
            and figures.lags >= limits.min_lags
            and self._exceeds("loop lag", lag_s, limits.loop_lag_s)
        ):
            yield _Excess("loop lag", f"event loop lag p99 is {_ms(lag_s)} ms, limit {_ms(limits.loop_lag_s)} ms")
        for stage, queue in () if in_band else sorted(figures.queues.items()):
            wait_s, limit_s = queue.wait_s, limits.queue_wait_s
            if queue.jobs >= limits.min_turns and self._exceeds(f"queue of {stage}", wait_s, limit_s):
                sentence = f"the wait for {stage} is {_ms(wait_s)} ms at p95, limit {_ms(limit_s)} ms"
                yield _Excess(f"queue of {stage}", sentence)

    def _latency_is_in_band(self, figures: LoadFigures) -> bool:
        latency_s, limits = figures.response_latency_s, self.settings
        if latency_s is None or figures.turns < limits.min_turns:
            return False
        engines_are_above = any(name != "loop lag" for name in self._above)
        return latency_s <= limits.response_latency_s * (limits.release if engines_are_above else 1.0)

    def _exceeds(self, name: str, value_s: float, limit_s: float) -> bool:
        return value_s > limit_s * (self.settings.release if name in self._above else 1.0)


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:.0f}"
