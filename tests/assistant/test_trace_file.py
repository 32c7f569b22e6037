"""Traces on disk: soon, whole, and never in the way of a turn."""

import asyncio
import json
import os
import sys
import threading
from pathlib import Path
from typing import cast

import pytest

from assistant import trace_file
from assistant.record import TurnRecord
from assistant.trace_file import MOST_WAITING, TraceFile


class _Record:
    """Something with a line."""

    def __init__(self, number: int) -> None:
        self._number = number

    def to_json(self) -> str:
        return json.dumps({"turn": self._number})


def record(number: int) -> TurnRecord:
    return cast("TurnRecord", _Record(number))


def turns(path: Path) -> list[int]:
    return [json.loads(line)["turn"] for line in path.read_text().splitlines()] if path.exists() else []


async def written(path: Path, count: int) -> None:
    async with asyncio.timeout(5):
        while len(turns(path)) < count:  # noqa: ASYNC110 - a file tells nobody
            await asyncio.sleep(0.01)


def test_a_turn_is_on_disk_within_a_second(tmp_path: Path) -> None:
    async def scene() -> None:
        trace = TraceFile(tmp_path / "new" / "folder", "c", pytest.fail)
        async with asyncio.TaskGroup() as tasks:
            writer = tasks.create_task(trace.run())
            trace.put(record(1))
            async with asyncio.timeout(1.0):
                await written(trace.path, 1)
            writer.cancel()
        assert turns(trace.path) == [1]

    asyncio.run(scene())


def test_what_is_left_is_written_when_the_writer_is_stopped(tmp_path: Path) -> None:
    async def scene() -> Path:
        trace = TraceFile(tmp_path, "c", pytest.fail)
        async with asyncio.TaskGroup() as tasks:
            writer = tasks.create_task(trace.run())
            await asyncio.sleep(0)
            trace.put(record(1))
            trace.put(record(2))
            writer.cancel()
        return trace.path

    assert turns(asyncio.run(scene())) == [1, 2]


def test_a_slow_disk_delays_nobody_and_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = threading.Event()
    append = trace_file._append

    def slow(path: Path, lines: list[str]) -> None:
        gate.wait(5)
        append(path, lines)

    monkeypatch.setattr(trace_file, "_append", slow)

    async def scene() -> Path:
        loop = asyncio.get_running_loop()
        trace = TraceFile(tmp_path, "c", pytest.fail)
        async with asyncio.TaskGroup() as tasks:
            writer = tasks.create_task(trace.run())
            trace.put(record(1))
            await asyncio.sleep(0.05)
            began_s = loop.time()
            for number in range(2, 50):
                trace.put(record(number))
            assert loop.time() - began_s < 0.05
            gate.set()
            await written(trace.path, 49)
            writer.cancel()
        return trace.path

    assert turns(asyncio.run(scene())) == list(range(1, 50))


def test_a_disk_that_refuses_is_said_once_and_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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

    async def scene() -> Path:
        trace = TraceFile(tmp_path, "c", complaints.append)
        async with asyncio.TaskGroup() as tasks:
            writer = tasks.create_task(trace.run())
            trace.put(record(1))
            await written(trace.path, 1)
            writer.cancel()
        return trace.path

    path = asyncio.run(scene())
    assert turns(path) == [1]
    assert len(complaints) == 1
    assert "No space left on device" in complaints[0]
    assert "trace.dir" in complaints[0]


def test_what_does_not_fit_is_dropped_oldest_first_and_counted(tmp_path: Path) -> None:
    async def scene() -> TraceFile:
        trace = TraceFile(tmp_path, "c", pytest.fail)
        for number in range(MOST_WAITING + 3):
            trace.put(record(number))
        async with asyncio.TaskGroup() as tasks:
            writer = tasks.create_task(trace.run())
            await asyncio.sleep(0)
            writer.cancel()
        return trace

    trace = asyncio.run(scene())
    assert trace.dropped == 3
    assert turns(trace.path) == list(range(3, MOST_WAITING + 3))


@pytest.mark.skipif(sys.platform == "win32", reason="no file's size can be limited there")
def test_a_full_disk_takes_no_half_line(tmp_path: Path) -> None:
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


@pytest.mark.real_time
@pytest.mark.parametrize("under_way", [0, 2])
def test_what_a_disk_that_hangs_has_not_taken_at_the_end_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, under_way: int
) -> None:
    gate = threading.Event()
    complaints: list[str] = []
    monkeypatch.setattr(trace_file, "_append", lambda _path, _lines: gate.wait(10) and None)
    monkeypatch.setattr(trace_file, "LAST_WRITE_TIMEOUT_S", 0.5)

    async def scene() -> float:
        loop = asyncio.get_running_loop()
        trace = TraceFile(tmp_path, "c", complaints.append)
        try:
            async with asyncio.TaskGroup() as tasks:
                writer = tasks.create_task(trace.run())
                for number in range(under_way):
                    trace.put(record(number))
                await asyncio.sleep(0.05)
                trace.put(record(7))
                began_s = loop.time()
                writer.cancel()
            return loop.time() - began_s
        finally:
            gate.set()

    took_s = asyncio.run(scene())
    turns_are = "3 turns are" if under_way else "a turn is"
    assert complaints == [f"{tmp_path / 'c.jsonl'}: the disk did not answer; {turns_are} not in the trace."]
    assert took_s < 0.9, "one deadline for what is under way and what waits"


def test_what_a_disk_that_stays_full_has_not_taken_at_the_end_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    complaints: list[str] = []

    def full(_path: Path, _lines: list[str]) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(trace_file, "_append", full)

    async def scene() -> None:
        trace = TraceFile(tmp_path, "c", complaints.append)
        async with asyncio.TaskGroup() as tasks:
            writer = tasks.create_task(trace.run())
            trace.put(record(1))
            async with asyncio.timeout(5):
                while not complaints:  # noqa: ASYNC110 - a list tells nobody
                    await asyncio.sleep(0.01)
            trace.put(record(2))
            writer.cancel()

    asyncio.run(scene())
    assert complaints[1:] == [f"{tmp_path / 'c.jsonl'}: No space left on device; 2 turns are not in the trace."]


def test_a_write_that_fails_while_the_writer_is_stopped_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = threading.Event()
    append = trace_file._append

    def refusing(path: Path, lines: list[str]) -> None:
        if not gate.is_set():
            gate.wait(10)
            raise OSError(28, os.strerror(28))
        append(path, lines)

    monkeypatch.setattr(trace_file, "_append", refusing)

    async def scene() -> Path:
        trace = TraceFile(tmp_path, "c", pytest.fail)
        async with asyncio.TaskGroup() as tasks:
            writer = tasks.create_task(trace.run())
            trace.put(record(1))
            await asyncio.sleep(0.05)
            trace.put(record(2))
            writer.cancel()
            gate.set()
        return trace.path

    assert turns(asyncio.run(scene())) == [1, 2]
