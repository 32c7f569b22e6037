"""Reads the processor time of an engine's threads, those of its libraries included. Linux only."""

import os
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from audio.hang_detection import EngineSample
from audio.thread_name import thread_named

_TASKS = Path("/proc/self/task")

_naming = threading.Lock()


@dataclass(slots=True)
class ThreadTimes:
    """The threads of one engine, by the system's ids.

    Attributes:
        ids: Their ids. Threads that have ended may be among them.
    """

    ids: set[int] = field(default_factory=set)
    tasks: Path = _TASKS

    def add_current(self) -> None:
        """Adds the thread that calls it."""
        self.ids.add(threading.get_native_id())

    def watch_process(self, pid: int) -> None:
        """Reads the main thread of another process instead, in which the engine computes."""
        self.tasks = Path(f"/proc/{pid}/task")
        self.ids.add(pid)

    @contextmanager
    def started_here(self, name: str) -> Generator[None]:
        """Names this thread for the block, and adds it and the threads that libraries start in the block.

        Blocks of the same process run one after the other, because the threads are known by their name only.
        """
        with _naming, thread_named(name):
            before = self._named(name)
            try:
                yield
            finally:
                self.ids |= self._named(name) - before
                self.add_current()

    def sample(self, progress: int) -> EngineSample:
        """Returns the state of the threads now. `progress`: number of steps that the engine has made."""
        ticks, known, starved = 0, False, False
        for thread in tuple(self.ids):
            try:
                fields = (self.tasks / str(thread) / "stat").read_text(errors="replace").rpartition(")")[2].split()
                ticks += int(fields[11]) + int(fields[12])
                starved = starved or fields[0] == "R"
                known = True
            except (OSError, ValueError, IndexError):
                continue  # it has ended, or there is no /proc
        processor_s = ticks / os.sysconf("SC_CLK_TCK") if known else None
        return EngineSample(time.monotonic(), progress, processor_s, starved)

    def _named(self, name: str) -> set[int]:
        thread_ids = set()
        try:
            for thread in self.tasks.iterdir():
                try:
                    if (thread / "comm").read_text().strip() == name[:15]:
                        thread_ids.add(int(thread.name))
                except OSError:
                    continue  # it has ended
        except OSError:  # no /proc
            return set()
        return thread_ids
