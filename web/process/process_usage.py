"""Measures what this process uses, for /metrics: processor time by kind of thread, memory and asyncio tasks.

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

from assistant.registry.listening import RECOGNIZERS
from assistant.registry.voices import VOICES

ENGINE_THREADS = frozenset(
    {engine.thread for engine in RECOGNIZERS.all() if engine.thread}
    | {engine.thread for engine in VOICES.all() if engine.thread}
)
"""Names of the threads of recognizers and voices, as the system shows them."""

_PROCESS = Path("/proc/self")


@dataclass(frozen=True, slots=True)
class ProcessorTime:
    """Processor time of this process since its start, in seconds. Child processes are not included.

    Attributes:
        event_loop_s: The thread of the event loop.
        engines_s: Threads of recognizers and voices.
        other_s: All others.
    """

    event_loop_s: float
    engines_s: float
    other_s: float


class ProcessorTimes:
    """Reads the processor time of a process. Its values never fall.

    The time of an engine's thread that has ended, as when the engine was loaded again, remains with the engines as far
    as it was read before.
    """

    def __init__(self, loop_thread: int, process: Path = _PROCESS) -> None:
        """Reads nothing yet.

        Args:
            loop_thread: The system's id of the event loop's thread.
            process: The process's folder below /proc.
        """
        self._loop_thread = loop_thread
        self._process = process
        self._thread_ticks: dict[str, int] = {}  # of the engines' threads at the last call, by their ids
        self._engine_ticks = self._other_ticks = 0

    def read(self) -> ProcessorTime | None:
        """Returns the processor time so far; None: unknown."""
        try:
            hz = os.sysconf("SC_CLK_TCK")
            whole = _ticks(self._process / "stat")
            loop = _ticks(self._process / "task" / str(self._loop_thread) / "stat")
            tasks = list((self._process / "task").iterdir())
        except (OSError, ValueError, IndexError, AttributeError):
            return None
        now = {task.name: ticks for task in tasks if (ticks := _engine_ticks(task)) is not None}
        for thread, ticks in now.items():
            before = self._thread_ticks.get(thread, 0)
            self._engine_ticks += ticks - before if ticks >= before else ticks  # less: a new thread with an old id
        self._thread_ticks = now
        self._other_ticks = max(self._other_ticks, whole - loop - self._engine_ticks)
        return ProcessorTime(loop / hz, self._engine_ticks / hz, self._other_ticks / hz)


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
        self._processor = ProcessorTimes(threading.get_native_id())
        self._empty_bytes: int | None = None

    def loaded(self) -> None:
        """Notes that the engines are loaded: memory beyond this counts for conversations."""
        self._empty_bytes = resident_bytes()

    def collect(self) -> Iterator[Metric]:
        """Yields the metrics."""
        seconds = CounterMetricFamily(
            "repartee_processor_seconds", "Processor time by kind of thread, without child processes.", labels=["of"]
        )
        time = self._processor.read()
        if time is not None:
            seconds.add_metric(["event_loop"], time.event_loop_s)
            seconds.add_metric(["engines"], time.engines_s)
            seconds.add_metric(["other"], time.other_s)
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


def _tasks() -> int:
    try:
        return len(asyncio.all_tasks())
    except RuntimeError:  # read outside of the event loop
        return 0


def _engine_ticks(task: Path) -> int | None:
    """Returns the time of an engine's thread in clock ticks; None: another thread, or it has just ended."""
    try:
        return _ticks(task / "stat") if (task / "comm").read_text().strip() in ENGINE_THREADS else None
    except (OSError, ValueError, IndexError):
        return None


def _ticks(stat: Path) -> int:
    """Returns user and system time of a stat file, in clock ticks. The name before them may contain blanks."""
    fields = stat.read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])
