"""Runs a TTS engine in its own thread and passes its results to the event loop."""

import asyncio
import contextlib
import itertools
import math
import queue
import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

from audio.errors import TtsError
from audio.exit_guard import at_work
from audio.queue_wait import QueueWait
from audio.thread_name import thread_named
from audio.time_limit import time_limit

E = TypeVar("E")
T = TypeVar("T")

_WAITING_JOBS = 64
"""Queue capacity. A job is one text, and a reply has one text at a time in the queue. With more of them, the last one
would wait for many seconds."""

_Waiting = tuple[float, int, Callable[[E], None], float | None]
"""A job: when it is due, its number, what it does, and since when its sound is awaited."""

_LETTERS_PER_S = 15.0
"""Approximate speaking rate, in letters per second."""


def due_s(now_s: float, text: str, ahead_s: float = 0.0) -> float:
    """Returns when a text requested at `now_s` is due: later by its spoken duration. Same clock as `now_s`.

    So short texts, such as the first chunk of a reply, come first; a text that has waited long enough comes first too.
    A later chunk is not due before its reply would fall silent: `ahead_s`, see `Voice.speak`.
    """
    return now_s + max(len(text) / _LETTERS_PER_S, ahead_s)


class EngineThread(Generic[E]):
    """The only thread that calls an engine.

    It is not a ThreadPoolExecutor, because its queue is bounded. It is a daemon, so that a hanging engine does not keep
    the process from ending.

    Attributes:
        gave_up: The engine hung or was closed: no more jobs are accepted.
        made: Number of pieces of audio so far. Jobs increment it before they report a piece. While it grows, nothing
            hangs.
        suspect: An unexpected error occurred: the next load must create a new engine.
        queue_wait: How long the last jobs waited whose sound is awaited.
    """

    def __init__(self, name: str, engine: E) -> None:
        """Starts the thread. `name` is the engine's name, for the thread and for error messages."""
        self.gave_up = False
        self.made = 0
        self.suspect = False
        self.queue_wait = QueueWait()
        self._retired = False
        self._name = name
        self._engine = engine
        self._jobs: queue.PriorityQueue[_Waiting[E]] = queue.PriorityQueue(_WAITING_JOBS)
        self._numbers = itertools.count()  # keeps the order of jobs that are due at the same time
        threading.Thread(target=self._work, name=name, daemon=True).start()

    def submit(self, job: Callable[[E], None], due_s: float = 0.0, *, awaited: bool = False) -> None:
        """Runs `job`, which must not raise, after all jobs due earlier. Never blocks. Raises TtsError.

        A long job in parts submits its next part itself with the due time of that part, so that more urgent jobs run
        in between. `awaited`: the reply is silent until this job, so its wait counts in `queue_wait`.
        """
        if self.gave_up:
            raise TtsError(f"{self._name} hung earlier and was abandoned: load the voice again")
        try:
            self._jobs.put_nowait((due_s, next(self._numbers), job, time.monotonic() if awaited else None))
        except queue.Full as full:
            raise TtsError(f"{self._name} already has {_WAITING_JOBS} chunks waiting: send this one later") from full

    def give_up(self) -> None:
        """Accepts no more jobs and ends the thread when its current job returns. Idempotent."""
        self.gave_up = True
        self._wake(-math.inf)

    def retire(self) -> None:
        """Ends the thread after all submitted jobs. No more jobs may be submitted."""
        self._retired = True
        self._wake(math.inf)

    async def works(self, timeout_s: float) -> bool:
        """Returns whether the thread starts a new job, ahead of all others, within `timeout_s`. Call it on the loop."""
        loop, answer = asyncio.get_running_loop(), asyncio.Event()

        def tell(_engine: E) -> None:
            with contextlib.suppress(RuntimeError):  # the loop was closed meanwhile
                loop.call_soon_threadsafe(answer.set)

        try:
            self.submit(tell, -math.inf)
        except TtsError:
            return not self.gave_up  # otherwise its queue is full; the queued jobs will notice a hang
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await answer.wait()
        return answer.is_set()

    def _wake(self, due_s: float) -> None:
        with contextlib.suppress(queue.Full):  # a full queue wakes it anyway
            self._jobs.put_nowait((due_s, next(self._numbers), _nothing, None))

    def _work(self) -> None:
        with thread_named(self._name):
            while not (self.gave_up or (self._retired and self._jobs.empty())):
                _, _, job, awaited_since_s = self._jobs.get()
                if awaited_since_s is not None:
                    self.queue_wait.record(time.monotonic() - awaited_since_s)
                with at_work():
                    if not self.gave_up:
                        job(self._engine)
                    del job


class SynthesisStream(Generic[T]):
    """Passes the results for one text from the engine's thread to the event loop.

    The engine never waits for the loop, because a slow listener would delay all others. The results of a text are
    bounded, and so is the queue: a text that fills it ends in a TtsError.

    Attributes:
        cancelled: There is no listener any more. Set by the loop, read by the engine between two pieces of audio.
    """

    def __init__(self, capacity: int, overflow: str) -> None:
        """Creates a queue of `capacity` items. Call it on the loop. `overflow` is the error message if it is full."""
        self.cancelled = False
        self._loop = asyncio.get_running_loop()
        self._items: asyncio.Queue[T | TtsError | None] = asyncio.Queue(capacity)
        self._overflow = overflow

    def put(self, item: T | TtsError | None) -> None:
        """Adds the next item, a failure, or None at the end. Called in the engine's thread."""
        try:
            self._loop.call_soon_threadsafe(self._put, item)
        except RuntimeError:  # the loop was closed before the end
            self.cancelled = True

    async def next(self, timeout_s: float) -> T | None:
        """Returns the next item, None at the end. Raises TtsError, TimeoutError."""
        async with time_limit(timeout_s):
            item = await self._items.get()
        if isinstance(item, TtsError):
            raise item
        return item

    def fail(self, failure: TtsError) -> None:
        """Fails the stream at once and drops queued items. Called on the loop."""
        self.cancelled = True
        while not self._items.empty():
            self._items.get_nowait()
        self._items.put_nowait(failure)

    def waiting(self) -> int:
        """Returns the number of queued items."""
        return self._items.qsize()

    def _put(self, item: T | TtsError | None) -> None:
        if self.cancelled:
            return
        if self._items.full():
            self.fail(TtsError(self._overflow))
        else:
            self._items.put_nowait(item)


def _nothing(_engine: object) -> None:
    """A job that only wakes the thread."""
