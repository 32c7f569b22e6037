"""Measures what this process uses: processor time by kind of thread, memory and asyncio tasks, for /metrics.

Reads /proc, so that on systems other than Linux processor time and memory are unknown and their metrics have no value.
"""

import asyncio
import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

ENGINE_THREADS = frozenset({"faster-whisper", "espeak-ng", "Piper"})
"""Names of the threads of recognizers and voices, as the system shows them."""

_PROCESS = Path("/proc/self")


@dataclass(frozen=True, slots=True)
class ProcessorTime:
    """Processor time of this process since its start, in seconds. Child processes are not included.

    Attributes:
        event_loop_s: The thread of the event loop.
        engines_s: Threads of recognizers and voices that run now.
        other_s: All others, also those that have ended.
    """

    event_loop_s: float
    engines_s: float
    other_s: float


def processor_time(loop_thread: int, process: Path = _PROCESS) -> ProcessorTime | None:
    """Returns the processor time so far; None: unknown.

    Args:
        loop_thread: The system's id of the event loop's thread.
        process: The process's folder below /proc.
    """
    try:
        hz = os.sysconf("SC_CLK_TCK")
        whole = _ticks(process / "stat")
        loop = _ticks(process / "task" / str(loop_thread) / "stat")
        tasks = list((process / "task").iterdir())
    except (OSError, ValueError, AttributeError):
        return None
    engines = sum(_engine_ticks(task) for task in tasks)
    return ProcessorTime(loop / hz, engines / hz, max(0, whole - loop - engines) / hz)


def resident_bytes(process: Path = _PROCESS) -> int | None:
    """Returns the resident memory of this process; None: unknown."""
    try:
        return int((process / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError, AttributeError):
        return None


class ProcessUsage(Collector):
    """Metrics of this process, measured when they are read. Create it in the thread of the event loop."""

    def __init__(self, sessions: Callable[[], int]) -> None:
        """`sessions`: returns the number of open sessions."""
        self._sessions = sessions
        self._loop_thread = threading.get_native_id()
        self._empty_bytes: int | None = None
        self._seconds: dict[str, float] = {}

    def loaded(self) -> None:
        """Notes that the engines are loaded: memory beyond this counts for conversations."""
        self._empty_bytes = resident_bytes()

    def collect(self) -> Iterator[Metric]:
        """Yields the metrics."""
        seconds = CounterMetricFamily(
            "repartee_processor_seconds", "Processor time by kind of thread, without child processes.", labels=["of"]
        )
        for of, value in self._processor_seconds().items():
            seconds.add_metric([of], value)
        yield seconds
        resident = resident_bytes()
        memory = GaugeMetricFamily("repartee_resident_memory_bytes", "Resident memory of the process.")
        if resident is not None:
            memory.add_metric([], resident)
        yield memory
        each = GaugeMetricFamily(
            "repartee_conversation_memory_bytes",
            "Growth of the resident memory since the engines were loaded, for each open session; absent without any.",
        )
        sessions = self._sessions()
        if resident is not None and self._empty_bytes is not None and sessions:
            each.add_metric([], max(0, resident - self._empty_bytes) / sessions)
        yield each
        yield GaugeMetricFamily("repartee_tasks", "Tasks of the event loop.", value=_tasks())

    def _processor_seconds(self) -> dict[str, float]:
        """Returns the seconds by kind of thread. They never fall, although the threads of an engine may end."""
        time = processor_time(self._loop_thread)
        if time is not None:
            now = {"event_loop": time.event_loop_s, "engines": time.engines_s, "other": time.other_s}
            self._seconds = {of: max(value, self._seconds.get(of, 0.0)) for of, value in now.items()}
        return self._seconds


def _tasks() -> int:
    try:
        return len(asyncio.all_tasks())
    except RuntimeError:  # read outside of the event loop
        return 0


def _engine_ticks(task: Path) -> int:
    try:
        return _ticks(task / "stat") if (task / "comm").read_text().strip() in ENGINE_THREADS else 0
    except (OSError, ValueError):  # just ended
        return 0


def _ticks(stat: Path) -> int:
    """Returns user and system time of a stat file, in clock ticks. The name before them may contain blanks."""
    fields = stat.read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])
