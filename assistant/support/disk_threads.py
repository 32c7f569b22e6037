"""Threads for work on the disk, apart from those of asyncio.

A disk that hangs keeps a thread for each file that is being written. In asyncio's own threads, of which there are few,
name lookups and the loading of engines would wait for it, and with them the turns of every conversation. Traces and
conversations may be on different disks.
"""

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

MAX_THREADS = 4
"""Threads for each kind of file. Writing a turn takes a millisecond, so one of them serves many conversations."""


class DiskThreads(Executor):
    """Runs calls in daemon threads, so that a disk that hangs does not keep the program from ending.

    The end of the program waits for every thread of a `ThreadPoolExecutor`. Here whoever writes waits for the last
    call, with a deadline.
    """

    def __init__(self, name: str, max_threads: int = MAX_THREADS) -> None:
        """Starts no thread before there is a call. `name`: the beginning of the threads' names."""
        self._name, self._max_threads = name, max_threads
        self._calls: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._idle = threading.Semaphore(0)  # threads that wait for a call
        self._threads = 0
        self._guard = threading.Lock()  # of the number of threads

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Runs a call in a thread as soon as one is free."""
        future: Future[T] = Future()

        def call() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                result = fn(*args, **kwargs)
            except BaseException as error:  # noqa: BLE001 - whoever waits for the result gets it
                future.set_exception(error)
            else:
                future.set_result(result)

        self._calls.put(call)
        if not self._idle.acquire(blocking=False):
            self._start_thread()
        return future

    def _start_thread(self) -> None:
        with self._guard:
            if self._threads >= self._max_threads:
                return
            self._threads += 1
            name = f"{self._name}_{self._threads}"
        threading.Thread(target=self._work, name=name, daemon=True).start()

    def _work(self) -> None:
        while True:
            self._calls.get()()
            self._idle.release()


TRACE_THREADS = DiskThreads("traces")
CONVERSATION_THREADS = DiskThreads("conversations")
