"""Threads that load, run and release a Whisper model, one per worker.

CTranslate2 releases the GIL while it works, so threads are sufficient. They are daemon threads, so that a hanging model
does not keep the process from ending.
"""

import asyncio
import contextlib
import functools
import queue
import threading
from collections.abc import Callable
from typing import TypeVar

from audio.errors import SttError
from audio.exit_guard import at_work
from audio.stt.whisper.section import NAME
from audio.thread_name import thread_named
from audio.thread_times import ThreadTimes

T = TypeVar("T")

_WAITING_JOBS = 4
"""Queue capacity beyond one job per worker. The scheduler submits only to free workers; the rest is for stops."""

_END_TIMEOUT_S = 1.0

_Job = Callable[[], None]


class WhisperThread:
    """Runs jobs in worker threads and calls back on the event loop it was created on.

    Attributes:
        times: The worker threads. Loading adds the threads that CTranslate2 starts.
    """

    def __init__(self, workers: int = 1) -> None:
        """Starts the threads. Call it on the event loop."""
        self.times = ThreadTimes()
        self._loop = asyncio.get_running_loop()
        self._workers = self._working = workers
        self._jobs: queue.Queue[_Job | None] = queue.Queue(_WAITING_JOBS + workers)
        self._ended = asyncio.Event()
        self._ending = False
        for _ in range(workers):
            threading.Thread(target=self._work, name=NAME, daemon=True).start()

    def submit(self, job: Callable[[], T], done: Callable[[T], None], failed: Callable[[Exception], None]) -> None:
        """Runs `job` in a thread, then calls `done` or `failed` on the event loop. Never blocks. Raises SttError."""

        def work() -> None:
            try:
                result = job()
            except Exception as error:  # noqa: BLE001 - a library's errors are named by `failed`
                self._tell(functools.partial(failed, error))
            else:
                self._tell(lambda: done(result))

        if self._ending:
            raise SttError("faster-whisper was stopped: load the recognizer again")
        try:
            self._jobs.put_nowait(work)
        except queue.Full as full:
            raise SttError("faster-whisper hangs: load the recognizer again") from full

    async def end(self, timeout_s: float = _END_TIMEOUT_S) -> bool:
        """Ends the threads after their current jobs. Idempotent. Returns whether they ended within `timeout_s`."""
        self.give_up()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self._ended.wait()
        return self._ended.is_set()

    def give_up(self) -> None:
        """Ends the threads after their current jobs without waiting. Idempotent."""
        if not self._ending:
            self._ending = True
            with contextlib.suppress(queue.Full):  # the threads check `_ending` after their next job
                for _ in range(self._workers):
                    self._jobs.put_nowait(None)

    def _work(self) -> None:
        self.times.add_current()
        with thread_named(NAME):
            while not self._ending:
                job = self._jobs.get()
                if job is None:
                    break
                with at_work():
                    if not self._ending:
                        job()
                    del job
        self._tell(self._one_ended)

    def _one_ended(self) -> None:
        self._working -= 1
        if self._working == 0:
            self._ended.set()

    def _tell(self, call: Callable[[], None]) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(call)
