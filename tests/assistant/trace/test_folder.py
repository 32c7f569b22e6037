"""Tests of the removal of old traces."""

import asyncio
import os
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.config.settings import TraceSection
from assistant.trace.file import TraceFile
from assistant.trace.folder import KEEP_ALL, MIN_AGE_S, RetentionLimits, StoredTrace, expired, remove_expired
from assistant.trace.record import TurnRecord

NOW_S = 1_800_000_000.0
DAY_S = 86400.0

ages = st.lists(st.tuples(st.floats(0, 100), st.integers(0, 5_000_000)), max_size=30)


def stored(drawn: list[tuple[float, int]]) -> list[StoredTrace]:
    return [
        StoredTrace(Path(str(number)), size, NOW_S - days * DAY_S) for number, (days, size) in enumerate(drawn)
    ]  # fmt: skip


@given(ages, st.integers(0, 20), st.integers(0, 50))
def test_kept_traces_are_within_the_limits_or_recent(
    drawn: list[tuple[float, int]], max_mb: int, max_days: int
) -> None:
    traces = stored(drawn)
    gone = expired(RetentionLimits(max_mb, max_days), traces, NOW_S)
    kept = [trace for trace in traces if trace not in gone]
    closed = [trace for trace in kept if NOW_S - trace.written_s > MIN_AGE_S]
    if max_days:
        assert all(NOW_S - trace.written_s <= max_days * DAY_S for trace in closed)
    if max_mb and closed:
        assert sum(trace.size_bytes for trace in kept) <= max_mb * 1_000_000
    assert all(NOW_S - trace.written_s > MIN_AGE_S for trace in gone)


@given(ages, st.integers(1, 20))
def test_only_the_oldest_excess_traces_are_removed(drawn: list[tuple[float, int]], max_mb: int) -> None:
    traces = stored(drawn)
    gone = expired(RetentionLimits(max_mb=max_mb), traces, NOW_S)
    kept = [trace for trace in traces if trace not in gone]
    if gone:
        assert sum(trace.size_bytes for trace in kept) + gone[-1].size_bytes > max_mb * 1_000_000
        assert all(trace.written_s >= gone[-1].written_s for trace in kept)


@given(ages)
def test_no_trace_is_removed_without_limits(drawn: list[tuple[float, int]]) -> None:
    assert expired(KEEP_ALL, stored(drawn), NOW_S) == []
    assert RetentionLimits.of(TraceSection()) == KEEP_ALL


def make(path: Path, days: float, size: int = 10) -> Path:
    path.write_bytes(b"x" * size)
    os.utime(path, (NOW_S - days * DAY_S, NOW_S - days * DAY_S))
    return path


def test_only_trace_files_are_removed(tmp_path: Path) -> None:
    own = make(tmp_path / "20270115-080000-00000000.jsonl", 40)
    old = make(tmp_path / "20261201-080000-0123abcd.jsonl", 40)
    new = make(tmp_path / "20270114-080000-0123abcd.jsonl", 1)
    others = [make(tmp_path / name, 40) for name in ("kept.jsonl", "20261201-080000-0123abcd.jsonl.bak", "notes.txt")]
    remove_expired(own, RetentionLimits(max_days=30), NOW_S)
    assert sorted(tmp_path.iterdir()) == sorted([own, new, *others])
    assert not old.exists()


class _Record:
    def to_json(self) -> str:
        return "{}"


@pytest.mark.parametrize(
    ("limits", "kept"), [(RetentionLimits(max_days=30), False), (KEEP_ALL, True)], ids=["limit of 30 days", "no limit"]
)
def test_first_record_removes_expired_traces(limits: RetentionLimits, kept: bool, tmp_path: Path) -> None:
    old = make(tmp_path / "20161201-080000-0123abcd.jsonl", 3650)

    async def main() -> None:
        trace = TraceFile(tmp_path, "20270115-080000-00000000", pytest.fail, limits)
        async with asyncio.TaskGroup() as tasks:
            writer = tasks.create_task(trace.run())
            await asyncio.sleep(0)
            trace.queue_record(cast("TurnRecord", _Record()))
            writer.cancel()
        assert trace.path.is_file()

    asyncio.run(main())
    assert old.exists() is kept
