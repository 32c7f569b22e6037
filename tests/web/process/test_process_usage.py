"""Processor time, memory and tasks of the process."""

import asyncio
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from audio.thread_name import thread_named
from web.process.process_usage import ENGINE_THREADS, ProcessorTime, ProcessorTimes, ProcessUsage, resident_bytes

ROOT = Path(__file__).parents[3]

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")


LOOP, OTHER, RECOGNIZER, VOICE = 100, 101, 102, 103
"""Ids of threads."""


class Process:
    """A process's folder below /proc."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._hz = os.sysconf("SC_CLK_TCK")
        self.uses(0.0)

    def uses(self, seconds: float) -> None:
        """Sets the processor time of the whole process."""
        self._write(self.folder, "python (main) 1", seconds)

    def thread(self, number: int, name: str, seconds: float) -> None:
        """Sets the processor time of a thread."""
        self._write(self.folder / "task" / str(number), name, seconds)

    def ends(self, number: int) -> None:
        """Ends a thread."""
        shutil.rmtree(self.folder / "task" / str(number))

    def _write(self, folder: Path, name: str, seconds: float) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        ticks = round(seconds * self._hz)
        (folder / "comm").write_text(f"{name}\n")
        (folder / "stat").write_text(f"{folder.name} ({name}) S {'0 ' * 10}{ticks // 3} {ticks - ticks // 3} 0 0 20")


@linux
def test_processor_time_is_counted_by_kind_of_thread(tmp_path: Path) -> None:
    process = Process(tmp_path)
    process.uses(10.0)
    for number, name, seconds in (
        (LOOP, "repartee", 4.0), (OTHER, "stall watchdog", 0.5), (RECOGNIZER, "faster-whisper", 3.0),
        (VOICE, "Piper", 1.5),
    ):  # fmt: skip
        process.thread(number, name, seconds)
    assert ProcessorTimes(LOOP, tmp_path).read() == ProcessorTime(4.0, 4.5, 1.5)


@linux
def test_time_of_engines_that_were_loaded_again_remains(tmp_path: Path) -> None:
    process, times = Process(tmp_path), ProcessorTimes(LOOP, tmp_path)
    process.uses(10.0)
    process.thread(LOOP, "repartee", 4.0)
    process.thread(VOICE, "espeak-ng", 5.0)
    assert times.read() == ProcessorTime(4.0, 5.0, 1.0)
    process.ends(VOICE)
    assert times.read() == ProcessorTime(4.0, 5.0, 1.0)
    process.uses(12.0)
    process.thread(VOICE + 1, "espeak-ng", 2.0)
    assert times.read() == ProcessorTime(4.0, 7.0, 1.0)
    process.uses(13.0)
    process.thread(VOICE + 1, "espeak-ng", 1.0)  # another thread with the id of one that has ended
    assert times.read() == ProcessorTime(4.0, 8.0, 1.0)


@linux
@pytest.mark.parametrize("name", sorted(ENGINE_THREADS))
def test_threads_of_engines_are_found_by_their_names(name: str) -> None:
    times, counted = ProcessorTimes(threading.get_native_id()), threading.Event()
    named = threading.Event()
    found: list[int] = []

    def engine() -> None:
        with thread_named(name):
            found.append(threading.get_native_id())
            named.set()
            counted.wait(60)

    thread = threading.Thread(target=engine)
    thread.start()
    assert named.wait(60)
    assert times.read() is not None
    counted.set()
    thread.join()
    assert str(found[0]) in times._thread_ticks


@pytest.mark.parametrize("stat", [None, "", "1 (a) S", "1 (a) S 0 0 0 0 0 0 0 0 0 0 x y"])
def test_usage_is_unknown_without_proc(tmp_path: Path, stat: str | None) -> None:
    if stat is not None:
        (tmp_path / "stat").write_text(stat)
        (tmp_path / "statm").write_text("x y")
    assert ProcessorTimes(1, tmp_path).read() is None
    assert resident_bytes(tmp_path) is None


MEMORY = """
from prometheus_client import CollectorRegistry
from web.process.process_usage import ProcessUsage

sessions = 0
registry = CollectorRegistry()
usage = ProcessUsage(lambda: sessions)
registry.register(usage)
each = "repartee_conversation_memory_bytes"
assert registry.get_sample_value(each) is None
usage.loaded()
held = bytearray(64_000_000)
held[:] = bytes(1) * len(held)
sessions = 2
print(registry.get_sample_value(each), registry.get_sample_value("repartee_resident_memory_bytes"))
"""


@linux
def test_memory_beyond_the_engines_is_divided_by_the_sessions() -> None:
    """In a process of its own: this one may return the memory of earlier tests in the meantime."""
    command = [sys.executable, "-c", MEMORY]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True).stdout
    each, resident = map(float, printed.split())
    assert 20_000_000 < each < 70_000_000
    assert resident > 64_000_000


def test_tasks_of_the_loop_are_counted() -> None:
    async def main() -> float | None:
        registry = CollectorRegistry()
        registry.register(ProcessUsage(lambda: 0))
        waiting = [asyncio.create_task(asyncio.sleep(60)) for _ in range(5)]
        value = registry.get_sample_value("repartee_tasks")
        for task in waiting:
            task.cancel()
        return value

    assert asyncio.run(main()) == 6


@linux
def test_metrics_have_processor_time_by_kind_of_thread() -> None:
    registry = CollectorRegistry()
    registry.register(ProcessUsage(lambda: 0))
    for of in ("event_loop", "engines", "other"):
        value = registry.get_sample_value("repartee_processor_seconds_total", {"of": of})
        assert value is not None
        assert value >= 0
