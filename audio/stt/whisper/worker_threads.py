"""The threads in which a Whisper model is loaded, used and let go: as many as it has workers, mostly one.

CTranslate2 lets go of the interpreter lock while it works, so threads are enough. They are daemons: a model that hangs
must not keep the process from ending.
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
from audio.thread_name import thread_named

T = TypeVar("T")

_WAITING_JOBS = 4
"""A desk gives a worker the next job when it is done with the last; the rest is for the end of a hang."""

_END_TIMEOUT_S = 1.0

_Job = Callable[[], None]


class WhisperThread:
    """Runs jobs, as many at once as it has workers; answers come back on the event loop it was made on."""

    def __init__(self, workers: int = 1) -> None:
        """Start it. Called on the event loop."""
        self._loop = asyncio.get_running_loop()
        self._workers = self._working = workers
        self._jobs: queue.Queue[_Job | None] = queue.Queue(_WAITING_JOBS + workers)
        self._ended = asyncio.Event()
        self._ending = False
        for _ in range(workers):
            threading.Thread(target=self._work, name="faster-whisper", daemon=True).start()

    def submit(self, job: Callable[[], T], done: Callable[[T], None], failed: Callable[[Exception], None]) -> None:
        """Run `job` in a thread; on the event loop, then call one of the others. Never blocks. Raises SttError."""

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

    async def end(self) -> None:
        """Let it end after the job under way; waits a second at most. Idempotent."""
        self.give_up()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_END_TIMEOUT_S):
                await self._ended.wait()

    def give_up(self) -> None:
        """Let it end after the job under way, whenever that is. Idempotent."""
        if not self._ending:
            self._ending = True
            with contextlib.suppress(queue.Full):  # then they see `_ending` after their next job
                for _ in range(self._workers):
                    self._jobs.put_nowait(None)

    def _work(self) -> None:
        with thread_named("faster-whisper"):  # those of CTranslate2 are begun in it
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
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody is left to tell
            self._loop.call_soon_threadsafe(call)
