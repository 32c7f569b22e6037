"""Processor time, memory and tasks of the process."""

import asyncio
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from audio.thread_name import thread_named
from web.process_usage import ProcessUsage, processor_time, resident_bytes

ROOT = Path(__file__).parent.parent.parent

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")


def busy_for(seconds: float) -> None:
    """Uses this much processor time in the calling thread."""
    until_s = time.thread_time() + seconds
    while time.thread_time() < until_s:
        pass


@linux
def test_processor_time_is_counted_by_kind_of_thread() -> None:
    may_end = threading.Event()
    worked = threading.Event()

    def engine() -> None:
        with thread_named("espeak-ng"):
            busy_for(0.3)
            worked.set()
            may_end.wait(60)

    before = processor_time(threading.get_native_id())
    thread = threading.Thread(target=engine)
    thread.start()
    assert worked.wait(60)
    busy_for(0.2)
    after = processor_time(threading.get_native_id())
    may_end.set()
    thread.join()
    assert before is not None
    assert after is not None
    assert after.engines_s - before.engines_s >= 0.25
    assert after.event_loop_s - before.event_loop_s >= 0.15
    assert after.other_s >= 0.0


def test_usage_is_unknown_without_proc(tmp_path: Path) -> None:
    assert processor_time(1, tmp_path) is None
    assert resident_bytes(tmp_path) is None


MEMORY = """
from prometheus_client import CollectorRegistry
from web.process_usage import ProcessUsage

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
def test_processor_seconds_never_fall() -> None:
    registry = CollectorRegistry()
    registry.register(ProcessUsage(lambda: 0))
    seen: list[float] = []
    for _ in range(3):
        value = registry.get_sample_value("repartee_processor_seconds_total", {"of": "event_loop"})
        assert value is not None
        seen.append(value)
        busy_for(0.02)
    assert seen == sorted(seen)
