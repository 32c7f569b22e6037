"""Percentiles of response latencies. Failed turns are never among them; they are counted on their own."""

from collections.abc import Iterable
from dataclasses import dataclass

from assistant.trace.record import TurnRecord
from assistant.trace.waterfall import BAND_MS, nearest_rank


@dataclass(frozen=True, slots=True)
class Latencies:
    """Response latencies: number of turns, number within the band, and percentiles."""

    turns: int
    within: int
    p50_ms: float
    p95_ms: float


@dataclass(frozen=True, slots=True)
class LatencySummary:
    """The latencies of a conversation.

    Attributes:
        answered: Turns that count; None before the first.
        failed: Number of failed turns.
        apologies: Failed turns, until their apology was heard; None if there was none.
    """

    answered: Latencies | None = None
    failed: int = 0
    apologies: Latencies | None = None


@dataclass(frozen=True, slots=True)
class TurnLatency:
    """The part of a turn that a summary needs: whether it failed, and its latency; None: no reply was heard."""

    failed: bool
    ms: float | None

    @staticmethod
    def of(record: TurnRecord) -> "TurnLatency":
        """Returns the latency of a turn."""
        return TurnLatency(record.failed, record.response_latency_ms)


def latency_summary(turns: Iterable[TurnLatency]) -> LatencySummary:
    """Returns the percentiles of the turns that count, and those of failed turns."""
    turns = list(turns)
    return LatencySummary(
        _latencies([turn.ms for turn in turns if not turn.failed and turn.ms is not None]),
        sum(turn.failed for turn in turns),
        _latencies([turn.ms for turn in turns if turn.failed and turn.ms is not None]),
    )


def _latencies(values_ms: list[float]) -> Latencies | None:
    if not values_ms:
        return None
    within = sum(BAND_MS[0] <= value <= BAND_MS[1] for value in values_ms)
    return Latencies(len(values_ms), within, nearest_rank(values_ms, 50), nearest_rank(values_ms, 95))
