"""Formats a turn's latency as one line of text. No I/O."""

from dataclasses import dataclass

from assistant.trace.latency import STAGES, Stage
from assistant.trace.record import TurnRecord

BAND_MS = (200.0, 500.0)
"""Target range of the response latency. An earlier reply seems like an interruption, a later one like a wait."""

NOT_COUNTED = "failed, not counted"
"""Replaces the verdict on the latency of a turn that failed."""

REFUSAL = "a refusal"
"""Names an answer that only says that no skill can do what was asked. Its latency counts."""

CELL_MS = 12.5
"""Milliseconds per cell of the bar. The upper end of the target range is 40 cells."""

SHORT_NAMES: dict[Stage, str] = {
    "endpoint_wait": "wait",
    "stt": "stt",
    "queue": "queue",
    "llm_network": "network",
    "llm_first_token": "model",
    "first_sentence": "sentence",
    "tts": "voice",
    "transport": "transport",
    "playout": "playout",
}
"""Names of the stages wherever people read them: demo, talk, page, reports, advice and guides.

The fields of traces, metrics, JSON and CSV keep the names of `Stage`. web/static/timing/stages.js has the same names.
"""

_SHOWN = {str(stage): name for stage, name in SHORT_NAMES.items()}


def shown(name: str) -> str:
    """Returns a stage or span as people read it: "model 2" for "llm_first_token 2". Other names stay."""
    first, space, rest = name.partition(" ")
    return f"{_SHOWN.get(first, first)}{space}{rest}"


@dataclass(frozen=True, slots=True)
class Segment:
    """One stage in the bar: its name, its milliseconds, and its cells (0 if it is too short to be visible)."""

    stage: Stage
    ms: float
    cells: int


def segments(record: TurnRecord, max_cells: int) -> list[Segment]:
    """Returns the stages that took time. Their cells sum to those of the latency, at most `max_cells`."""
    shares = [(stage, record.stages[stage].ms) for stage in STAGES if record.stages and record.stages[stage].ms > 0]
    total_ms = sum(ms for _, ms in shares)
    cell_ms = max(CELL_MS, total_ms / max_cells)
    bar: list[Segment] = []
    passed_ms, passed_cells = 0.0, 0
    for stage, ms in shares:
        passed_ms += ms
        cells = round(passed_ms / cell_ms) - passed_cells  # sums are rounded, not parts, so that errors do not add up
        passed_cells += cells
        bar.append(Segment(stage, ms, cells))
    return bar


def verdict(latency_ms: float) -> str:
    """Returns how a latency compares with the target range."""
    low, high = BAND_MS
    if latency_ms < low:
        return "faster than 200 ms"
    return "within 200–500 ms" if latency_ms <= high else "slower than 500 ms"


def verdict_on(record: TurnRecord) -> str:
    """Returns how the latency of a turn compares with the target range, or that the turn failed; names a refusal."""
    if record.failed:
        return NOT_COUNTED
    return f"{verdict(record.response_latency_ms or 0.0)}{f', {REFUSAL}' if record.refused else ''}"


def nearest_rank(values: list[float], percent: float) -> float:
    """Returns the smallest value that at least `percent` of the values do not exceed. Raises ValueError if empty."""
    if not values:
        raise ValueError("no values, no percentile")
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * percent // 100).__int__() - 1)]
