"""The one thread in which a Whisper model is loaded, used and let go.

CTranslate2 lets go of the interpreter lock while it works, so a thread is enough. It is a daemon: a model that hangs
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

T = TypeVar("T")

_WAITING_JOBS = 4
"""A transcriber has one job under way and asks for the next when it is done; the rest is for the end of a hang."""

_END_TIMEOUT_S = 1.0

_Job = Callable[[], None]


class WhisperThread:
    """Runs jobs one after another; answers come back on the event loop it was made on."""

    def __init__(self) -> None:
        """Start it. Called on the event loop."""
        self._loop = asyncio.get_running_loop()
        self._jobs: queue.Queue[_Job | None] = queue.Queue(_WAITING_JOBS)
        self._ended = asyncio.Event()
        self._ending = False
        threading.Thread(target=self._work, name="faster-whisper", daemon=True).start()

    def submit(self, job: Callable[[], T], done: Callable[[T], None], failed: Callable[[Exception], None]) -> None:
        """Run `job` in the thread; on the event loop, then call one of the others. Never blocks. Raises SttError."""

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

    async def run(self, job: Callable[[], T]) -> T:
        """The result of `job`; raises what it raises. Safe to cancel: the job goes on and nobody hears of it."""
        answer: asyncio.Future[T] = self._loop.create_future()

        def done(result: T) -> None:
            if not answer.done():
                answer.set_result(result)

        def failed(error: Exception) -> None:
            if not answer.done():
                answer.set_exception(error)

        self.submit(job, done, failed)
        return await answer

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
            with contextlib.suppress(queue.Full):  # then it sees `_ending` after its next job
                self._jobs.put_nowait(None)

    def _work(self) -> None:
        while not self._ending:
            job = self._jobs.get()
            if job is None:
                break
            if not self._ending:
                job()
            del job
        self._tell(self._ended.set)

    def _tell(self, call: Callable[[], None]) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody is left to tell
            self._loop.call_soon_threadsafe(call)
