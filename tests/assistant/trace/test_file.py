"""Tests of trace files, which never delay a turn."""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import cast

import pytest

from assistant.trace import file as trace_file
from assistant.trace.file import TraceFile
from assistant.trace.record import TurnRecord


class _Record:
    """A minimal record with one line."""

    def __init__(self, number: int) -> None:
        self._number = number

    def to_json(self) -> str:
        return json.dumps({"turn": self._number})


def record(number: int) -> TurnRecord:
    return cast("TurnRecord", _Record(number))


def turns(path: Path) -> list[int]:
    return [json.loads(line)["turn"] for line in path.read_text().splitlines()] if path.exists() else []


async def wait_for_turns(path: Path, count: int) -> None:
    async with asyncio.timeout(5):
        while len(turns(path)) < count:  # noqa: ASYNC110 - a file has no event to wait for
            await asyncio.sleep(0.01)


def test_turn_is_on_disk_within_a_second(tmp_path: Path) -> None:
    async def main() -> None:
        trace = TraceFile(tmp_path / "new" / "folder", "c", pytest.fail)
        async with asyncio.TaskGroup() as tasks:
            writer = tasks.create_task(trace.run())
            trace.queue_record(record(1))
            async with asyncio.timeout(1.0):
                await wait_for_turns(trace.path, 1)
            writer.cancel()
        assert turns(trace.path) == [1]

    asyncio.run(main())


def test_remaining_records_are_written_when_the_writer_stops(tmp_path: Path) -> None:
    async def main() -> Path:
        trace = TraceFile(tmp_path, "c", pytest.fail)
        async with asyncio.TaskGroup() as tasks:
            writer = tasks.create_task(trace.run())
            await asyncio.sleep(0)
            trace.queue_record(record(1))
            trace.queue_record(record(2))
            writer.cancel()
        return trace.path

    assert turns(asyncio.run(main())) == [1, 2]


def test_failing_disk_is_reported_once_and_retried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    complaints: list[str] = []
    append = trace_file._append
    refusals = 1

    def refusing(path: Path, lines: list[str]) -> None:
        nonlocal refusals
        if refusals:
            refusals -= 1
            raise OSError(28, os.strerror(28))
        append(path, lines)

    monkeypatch.setattr(trace_file, "_append", refusing)

    async def main() -> Path:
        trace = TraceFile(tmp_path, "c", complaints.append)
        async with asyncio.TaskGroup() as tasks:
            writer = tasks.create_task(trace.run())
            trace.queue_record(record(1))
            await wait_for_turns(trace.path, 1)
            writer.cancel()
        return trace.path

    path = asyncio.run(main())
    assert turns(path) == [1]
    assert len(complaints) == 1
    assert "No space left on device" in complaints[0]
    assert "trace.dir" in complaints[0]


@pytest.mark.skipif(sys.platform == "win32", reason="no file's size can be limited there")
def test_full_disk_gets_no_partial_line(tmp_path: Path) -> None:
    import resource  # noqa: PLC0415 - not on Windows

    path = tmp_path / "c.jsonl"
    lines = [record(number).to_json() + " " * 5000 for number in (1, 2)]
    trace_file._append(path, lines[:1])
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 3000, hard))
    try:
        with pytest.raises(OSError, match="File too large"):
            trace_file._append(path, lines[1:])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert turns(path) == [1]
    trace_file._append(path, lines[1:])
    assert turns(path) == [1, 2]


def test_records_lost_on_a_full_disk_are_reported_at_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    complaints: list[str] = []

    def full(_path: Path, _lines: list[str]) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(trace_file, "_append", full)

    async def main() -> None:
        trace = TraceFile(tmp_path, "c", complaints.append)
        async with asyncio.TaskGroup() as tasks:
            writer = tasks.create_task(trace.run())
            trace.queue_record(record(1))
            async with asyncio.timeout(5):
                while not complaints:  # noqa: ASYNC110 - a list has no event
                    await asyncio.sleep(0.01)
            trace.queue_record(record(2))
            writer.cancel()

    asyncio.run(main())
    assert complaints[1:] == [f"{tmp_path / 'c.jsonl'}: No space left on device; 2 turns are not in the trace."]
