"""Counts the turns of many files in one pass, with several processes if there are many files."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from heapq import heappush, heappushpop
from multiprocessing import get_context
from pathlib import Path

from assistant.trace_report.facts import facts_of
from assistant.trace_report.figures import Tally
from assistant.trace_report.reading import Record, convert_record, read_error, read_records

PORTION_BYTES = 64_000_000
"""Number of bytes per process and task: about half a second of work, so that starting a process pays off."""

MAX_PROCESSES = 8


@dataclass(slots=True)
class Slowest:
    """Keeps the records with the largest latencies, up to `most` of them."""

    most: int
    _heap: list[tuple[float, int, Record]] = field(default_factory=list)
    _seen: int = 0

    def add_record(self, record: Record, latency_ms: float) -> None:
        """Adds a record. Among equal latencies the first record wins."""
        self._seen += 1
        if len(self._heap) < self.most:
            heappush(self._heap, (latency_ms, -self._seen, record))
        elif self._heap and latency_ms > self._heap[0][0]:
            heappushpop(self._heap, (latency_ms, -self._seen, record))

    def merge(self, later: "Slowest") -> None:
        """Adds the records of later turns."""
        for latency_ms, _, record in sorted(later._heap, key=lambda entry: -entry[1]):
            self.add_record(record, latency_ms)

    def records(self) -> list[Record]:
        """Returns the records, slowest first."""
        return [record for _, _, record in sorted(self._heap, key=lambda entry: (-entry[0], -entry[1]))]


@dataclass(slots=True)
class _PartialCount:
    """Result for one part of the files."""

    tally: Tally
    slowest: Slowest
    warnings: list[str] = field(default_factory=list)


def count_turns(files: Sequence[Path], slowest: int, warn: Callable[[str], None]) -> tuple[Tally, list[Record]]:
    """Counts all turns of the files. Returns the tally and the `slowest` slowest records, slowest first.

    Raises:
        TraceError: A file cannot be read or is no trace.
    """
    counted = _PartialCount(Tally(), Slowest(slowest))
    parts = split_files(files, [_size(path) for path in files], PORTION_BYTES)
    if len(parts) == 1:
        _count(counted, files, warn)
    else:
        # Spawned processes do not inherit open files.
        with ProcessPoolExecutor(min(len(parts), _processors()), get_context("spawn")) as pool:
            for part in pool.map(_count_part, parts, [slowest] * len(parts)):
                counted.tally.merge(part.tally)
                counted.slowest.merge(part.slowest)
                for warning in part.warnings:
                    warn(warning)
    return counted.tally, counted.slowest.records()


def split_files(files: Sequence[Path], sizes: Sequence[int], max_bytes: int) -> list[list[Path]]:
    """Splits the files, in order, into runs of at most `max_bytes` each. A larger file is a separate run."""
    runs: list[list[Path]] = [[]]
    filled = 0
    for path, size in zip(files, sizes, strict=True):
        if runs[-1] and filled + size > max_bytes:
            runs.append([])
            filled = 0
        runs[-1].append(path)
        filled += size
    return runs


def _count_part(files: Sequence[Path], slowest: int) -> _PartialCount:
    counted = _PartialCount(Tally(), Slowest(slowest))
    _count(counted, files, counted.warnings.append)
    return counted


def _count(counted: _PartialCount, files: Sequence[Path], warn: Callable[[str], None]) -> None:
    def add_record(record: Record) -> None:
        facts = facts_of(record)
        counted.tally.add_turn(record["conversation"], facts)
        if facts.latency_ms is not None:
            counted.slowest.add_record(record, facts.latency_ms)

    for record in read_records(files, warn):
        convert_record(add_record, record)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError as error:
        raise read_error(path, error) from error


def _processors() -> int:
    return min(os.cpu_count() or 1, MAX_PROCESSES)
