"""A slow or failing disk delays nothing, and lost entries are counted and reported."""

import asyncio
import errno
import os
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.support import background_writer
from assistant.support.background_writer import MAX_WAITING, BackgroundWriter
from assistant.support.disk_threads import TRACE_THREADS

FILE = Path("notes.txt")


def full() -> OSError:
    return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


class Disk:
    """Accepts entries, unless configured otherwise.

    Attributes:
        written: The entries of each call.
        free: The disk hangs while this is not set.
    """

    def __init__(self, refuses: Sequence[bool] = ()) -> None:
        self.written: list[tuple[int, ...]] = []
        self.free = threading.Event()
        self.free.set()
        self._refuses = list(refuses)

    def write(self, entries: Sequence[int]) -> None:
        assert self.free.wait(10)
        if self._refuses and self._refuses.pop(0):
            raise full()
        self.written.append(tuple(entries))

    @property
    def all(self) -> list[int]:
        return [entry for entries in self.written for entry in entries]


def writer_for(disk: Disk, report_problem: Callable[[str], None] = pytest.fail) -> BackgroundWriter[int]:
    return BackgroundWriter(
        FILE,
        disk.write,
        report_problem,
        threads=TRACE_THREADS,
        waits="numbers wait.",
        lost=lambda count: f"{count} of the numbers are lost.",
    )


@asynccontextmanager
async def running_writer(lines: BackgroundWriter[int]) -> AsyncIterator[None]:
    """Runs the writer inside the context and stops it at the end."""
    async with asyncio.TaskGroup() as tasks:
        writer = tasks.create_task(lines.run(), name="writer")
        yield
        writer.cancel()


async def wait_until_written(lines: BackgroundWriter[int]) -> None:
    async with asyncio.timeout(10):
        await lines.settle()


async def test_entries_are_written_in_order_and_flushed_at_the_end() -> None:
    disk = Disk()
    lines = writer_for(disk)
    await wait_until_written(lines)  # nothing must be written yet
    async with running_writer(lines):
        lines.queue_entries([1, 2])
        await wait_until_written(lines)
        assert disk.written == [(1, 2)]
        lines.queue_entries([])
        lines.queue_entries([3])
        lines.queue_entries([4])
    assert disk.all == [1, 2, 3, 4]


async def test_slow_disk_delays_nothing_and_loses_nothing() -> None:
    disk = Disk()
    disk.free.clear()
    loop = asyncio.get_running_loop()
    lines = writer_for(disk)
    async with running_writer(lines):
        lines.queue_entries([0])
        await asyncio.sleep(0.05)
        began_s = loop.time()
        for number in range(1, 50):
            lines.queue_entries([number])
        assert loop.time() - began_s < 0.05
        disk.free.set()
        await wait_until_written(lines)
    assert disk.all == list(range(50))


@given(st.lists(st.booleans(), max_size=5), st.lists(st.integers(0, 3), min_size=1, max_size=4))
def test_outage_is_reported_once_and_loses_nothing(refuses: list[bool], parts: list[int]) -> None:
    disk, complaints = Disk(refuses), list[str]()

    async def scene() -> None:
        lines = writer_for(disk, complaints.append)
        async with running_writer(lines):
            for part in parts:
                lines.queue_entries(range(part))
                await wait_until_written(lines)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(background_writer, "RETRY_S", 0.001)
        asyncio.run(scene())
    assert disk.all == [number for part in parts for number in range(part)]
    tried = refuses[: len(refuses) - len(disk._refuses)]
    outages = sum(refused and not before for before, refused in zip([False, *tried], tried, strict=False))
    assert complaints == [f"{FILE} cannot be written ({os.strerror(errno.ENOSPC)}); numbers wait."] * outages


async def test_oldest_entries_are_dropped_counted_and_reported() -> None:
    disk, complaints = Disk(), list[str]()
    lines = writer_for(disk, complaints.append)
    lines.queue_entries(range(MAX_WAITING))
    lines.queue_entries([MAX_WAITING])
    assert lines.dropped == 1
    async with running_writer(lines):
        await wait_until_written(lines)
        lines.queue_entries([7])
        await wait_until_written(lines)
    assert disk.all == [*range(1, MAX_WAITING + 1), 7]
    assert complaints == [f"{FILE}: the disk was full or too slow; a line is lost."]


@pytest.mark.real_time
@pytest.mark.parametrize("under_way", [0, 2], ids=["nothing being written", "two being written"])
def test_entries_lost_to_a_hanging_disk_are_reported(monkeypatch: pytest.MonkeyPatch, under_way: int) -> None:
    disk, complaints = Disk(), list[str]()
    disk.free.clear()
    monkeypatch.setattr(background_writer, "LAST_WRITE_TIMEOUT_S", 0.5)

    async def scene() -> float:
        loop = asyncio.get_running_loop()
        lines = writer_for(disk, complaints.append)
        try:
            async with running_writer(lines):
                lines.queue_entries(range(under_way))
                await asyncio.sleep(0.05)
                lines.queue_entries([7])
                began_s = loop.time()
            return loop.time() - began_s
        finally:
            disk.free.set()

    took_s = asyncio.run(scene())
    assert complaints == [f"{FILE}: the disk did not answer; {under_way + 1} of the numbers are lost."]
    assert took_s < 0.9, "one deadline for what is under way and what waits"


async def test_entries_lost_to_a_full_disk_are_reported() -> None:
    disk, complaints = Disk([True, True]), list[str]()
    lines = writer_for(disk, complaints.append)
    async with running_writer(lines):
        lines.queue_entries([1])
        async with asyncio.timeout(5):
            while not complaints:  # noqa: ASYNC110 - a list has no event
                await asyncio.sleep(0.01)
        lines.queue_entries([2])
    assert complaints[1:] == [f"{FILE}: {os.strerror(errno.ENOSPC)}; 2 of the numbers are lost."]


async def test_failed_write_during_stop_is_retried() -> None:
    disk = Disk([True])
    disk.free.clear()
    lines = writer_for(disk)
    async with running_writer(lines):
        lines.queue_entries([1])
        await asyncio.sleep(0.05)
        lines.queue_entries([2])
        asyncio.get_running_loop().call_later(0.05, disk.free.set)
    assert disk.written == [(1, 2)]


class Losses:
    """Reports and counts of dropped entries."""

    def __init__(self) -> None:
        self.count = 0
        self.why: list[str] = []
        self.said: list[str] = []

    def lost(self, count: int, why: str) -> None:
        self.count += count
        self.why.append(why)


def counted(disk: Disk, losses: Losses) -> BackgroundWriter[int]:
    return BackgroundWriter(
        FILE,
        disk.write,
        lambda _: None,
        threads=TRACE_THREADS,
        waits="",
        lost=lambda count: f"{count} lost",
        count_lost=losses.lost,
        report_lost=losses.said.append,
    )


@pytest.mark.parametrize(
    "entries",
    [1, 12, MAX_WAITING, MAX_WAITING + 5],
    ids=["1 entry", "12 entries", "full queue", "more than the queue holds"],
)
def test_every_entry_is_written_or_counted_as_lost(entries: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background_writer, "RETRY_S", 0.001)
    disk, losses = Disk([False, *[True] * 10_000]), Losses()

    async def scene() -> BackgroundWriter[int]:
        lines = counted(disk, losses)
        async with running_writer(lines):
            lines.queue_entries([0])
            await wait_until_written(lines)
            for entry in range(1, entries):
                lines.queue_entries([entry])
            await asyncio.sleep(0.02)
        return lines

    dropped = asyncio.run(scene()).dropped
    assert losses.count == dropped == entries - len(disk.all) == entries - 1
    assert losses.said == ([f"{FILE}: {full().strerror}; {losses.count} lost"] if losses.count else [])
    assert set(losses.why) <= {full().strerror, "the disk is too slow"}


async def test_entries_without_time_left_are_counted_as_lost() -> None:
    disk, losses = Disk(), Losses()
    disk.free.clear()
    lines = counted(disk, losses)
    writing = asyncio.ensure_future(lines.run())
    lines.queue_entries([1, 2])
    await asyncio.sleep(0.05)
    lines.queue_entries([3])
    try:
        for _ in range(2):  # the second cancellation comes while it waits for the disk
            writing.cancel()
            await asyncio.sleep(0.05)
        with pytest.raises(asyncio.CancelledError):
            await writing
        assert losses.count == 3
    finally:
        disk.free.set()
    assert losses.said == [f"{FILE}: the disk did not answer; 3 lost"]
