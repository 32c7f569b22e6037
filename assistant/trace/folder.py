"""Removes traces that are too old or too many. `expired` decides without I/O; `remove_expired` removes."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from assistant.config.settings import TraceSection

TRACE_NAME = re.compile(r"\d{8}-\d{6}-[0-9a-f]{8}\.jsonl")
"""File name of a trace. No other file in the folder is ever removed."""

MIN_AGE_S = 3600.0
"""A file changed more recently than this may belong to a conversation that is still going on."""


@dataclass(frozen=True, slots=True)
class RetentionLimits:
    """Maximum number of stored traces; 0: no limit."""

    max_mb: int = 0
    max_days: int = 0

    @classmethod
    def of(cls, section: TraceSection) -> "RetentionLimits":
        """Returns the limits in the settings."""
        return cls(section.max_mb, section.max_days)


KEEP_ALL = RetentionLimits()
"""No limits."""


@dataclass(frozen=True, slots=True)
class StoredTrace:
    """A trace on disk: its size, and the wall clock of its last record."""

    path: Path
    size_bytes: int
    written_s: float


def expired(limits: RetentionLimits, traces: Iterable[StoredTrace], now_s: float) -> list[StoredTrace]:
    """Returns the traces to remove, oldest first: older than max_days, then as many as exceed max_mb.

    Traces written within the last `MIN_AGE_S` seconds always stay.
    """
    removed: list[StoredTrace] = []
    by_age = sorted(traces, key=lambda trace: (trace.written_s, trace.path.name))
    total_bytes = sum(trace.size_bytes for trace in by_age)
    for trace in by_age:
        age_s = now_s - trace.written_s
        too_old = limits.max_days > 0 and age_s > limits.max_days * 86400
        too_much = limits.max_mb > 0 and total_bytes > limits.max_mb * 1_000_000
        if (too_old or too_much) and age_s > MIN_AGE_S:
            removed.append(trace)
            total_bytes -= trace.size_bytes
    return removed


def remove_expired(own: Path, limits: RetentionLimits, now_s: float) -> None:
    """Removes the traces beyond the limits from the folder of `own`, which stays. Blocks.

    Raises:
        OSError: The folder cannot be read, or a file cannot be removed.
    """
    traces = []
    for path in own.parent.iterdir():
        if path == own or not TRACE_NAME.fullmatch(path.name):
            continue
        try:
            status = path.stat()
        except FileNotFoundError:  # another conversation is removing traces too
            continue
        traces.append(StoredTrace(path, status.st_size, status.st_mtime))
    for trace in expired(limits, traces, now_s):
        trace.path.unlink(missing_ok=True)
