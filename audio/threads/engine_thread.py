"""Runs an engine in its own thread and passes its results to the event loop."""

import asyncio
import contextlib
import itertools
import math
import queue
import threading
import time
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar, runtime_checkable

from audio.errors import EngineError, EngineLoadError
from audio.exit_guard import at_work
from audio.hang_detection import STEP_S, HangDetector
from audio.queue_wait import QueueWait
from audio.thread_name import thread_named
from audio.thread_times import ThreadTimes

E = TypeVar("E")
T = TypeVar("T")

_WAITING_JOBS = 64
"""Queue capacity. A job is one text, and a reply has one text at a time in the queue. With more of them, the last one
would wait for many seconds."""

_Waiting = tuple[float, int, Callable[[E], None], float | None]
"""A job: when it is due, its number, what it does, and since when a silent reply waits for it."""

GONE_S = 5.0
"""Time that an abandoned thread has to end before its engine may be loaded again, in seconds."""

_POLL_S = 0.02

_LETTERS_PER_S = 15.0
"""Approximate speaking rate, in letters per second."""


def due_s(now_s: float, text: str, ahead_s: float = 0.0) -> float:
    """Returns when a text requested at `now_s` is due: later by its spoken duration. Same clock as `now_s`.

    So short texts, such as the first chunk of a reply, come first; a text that has waited long enough comes first too.
    A later chunk is not due before its reply would fall silent: `ahead_s`, see `Voice.speak`.
    """
    return now_s + max(len(text) / _LETTERS_PER_S, ahead_s)


class EngineHungError(Exception):
    """The engine hangs. The text says why, as a clause."""


@runtime_checkable
class ProcessEngine(Protocol):
    """An engine that computes in a process of its own."""

    def kill(self) -> None:
        """Ends the process, from any thread: a call that waits for it fails. Idempotent."""
        ...

    def close(self) -> None:
        """Ends the process and waits for its end. No call may be running. Idempotent."""
        ...


class EngineThread(Generic[E]):
    """The only thread that calls an engine.

    It is not a ThreadPoolExecutor, because its queue is bounded. It is a daemon, so that a hanging engine does not keep
    the process from ending.

    Attributes:
        name: The engine's name.
        gave_up: The engine hung or was closed: no more jobs are accepted.
        made: Number of pieces of audio so far. Jobs increment it before they report a piece. While it grows, nothing
            hangs.
        hang: Decides whether the engine hangs; see `hang_reason`.
        suspect: An unexpected error occurred: the next load must create a new engine.
        queue_wait: Waiting times of the last jobs for which a silent reply waited.
    """

    def __init__(self, name: str, engine: E, failure: type[EngineError], times: ThreadTimes | None = None) -> None:
        """Starts the thread.

        Args:
            name: The engine's name, for the thread and for error messages.
            engine: The engine.
            failure: Class of the errors of this kind of engine.
            times: The threads that the engine's library has started; None: none. The new thread is added.
        """
        self.gave_up = False
        self.made = 0
        self.hang = HangDetector()
        self.suspect = False
        self.queue_wait = QueueWait()
        self._retired = False
        self._begun = 0
        self._ended = threading.Event()
        self._times = times or ThreadTimes()
        self.name = name
        self._engine = engine
        self._failure = failure
        self._jobs: queue.PriorityQueue[_Waiting[E]] = queue.PriorityQueue(_WAITING_JOBS)
        self._numbers = itertools.count()  # keeps the order of jobs that are due at the same time
        threading.Thread(target=self._work, name=name, daemon=True).start()

    def submit(self, job: Callable[[E], None], due_s: float = 0.0, *, awaited: bool = False) -> None:
        """Runs `job`, which must not raise, after all jobs due earlier. Never blocks. Raises EngineError.

        A long job in parts submits its next part itself with the due time of that part, so that more urgent jobs run
        in between. `awaited`: the reply is silent until this job has sound, so its wait counts in `queue_wait`.
        """
        if self.gave_up:
            raise self._failure(f"{self.name} hung earlier and was abandoned: load it again")
        try:
            self._jobs.put_nowait((due_s, next(self._numbers), job, time.monotonic() if awaited else None))
        except queue.Full as full:
            raise self._failure(
                f"{self.name} already has {_WAITING_JOBS} chunks waiting: send this one later"
            ) from full

    def give_up(self) -> None:
        """Accepts no more jobs and ends the thread when its current job returns. Idempotent."""
        self.gave_up = True
        if isinstance(engine := getattr(self, "_engine", None), ProcessEngine):
            engine.kill()
        self._wake(-math.inf)

    def retire(self) -> None:
        """Ends the thread after all submitted jobs. No more jobs may be submitted."""
        self._retired = True
        self._wake(math.inf)

    def hang_reason(self) -> str:
        """Returns why the engine hangs, as a clause; "" if it does not. Call it while a job is awaited."""
        return self.hang.observe(self._times.sample(self._begun + self.made))

    @property
    def processor_s(self) -> float:
        """Processor time of the engine's threads so far, in seconds; 0 if it is unknown."""
        return self._times.sample(0).processor_s or 0.0

    async def gone(self) -> None:
        """Waits until the thread of an abandoned or retired engine has ended, which frees the engine.

        Raises EngineLoadError if it hangs: a thread cannot be ended from outside, and a second engine beside it would
        take twice the memory.
        """
        waited_s = 0.0
        while not self._ended.is_set():  # the thread belongs to no loop
            if not self.gave_up and self.hang_reason():
                self.give_up()
            waited_s = waited_s + _POLL_S if self.gave_up else 0.0
            if waited_s >= GONE_S:
                raise EngineLoadError(
                    f"{self.name} hangs and cannot be stopped; it is loaded again when its thread has ended. If that "
                    "does not happen, restart the program"
                )
            await asyncio.sleep(_POLL_S)

    def _wake(self, due_s: float) -> None:
        with contextlib.suppress(queue.Full):  # a full queue wakes it anyway
            self._jobs.put_nowait((due_s, next(self._numbers), _nothing, None))

    def _work(self) -> None:
        self._times.add_current()
        with thread_named(self.name):
            while not (self.gave_up or (self._retired and self._jobs.empty())):
                _, _, job, awaited_since_s = self._jobs.get()
                if awaited_since_s is not None:
                    self.queue_wait.record(time.monotonic() - awaited_since_s)
                self._begun += 1
                with at_work():
                    if not self.gave_up:
                        job(self._engine)
                    del job
        if isinstance(self._engine, ProcessEngine):
            self._engine.close()
        del self._engine
        self._ended.set()


async def load_engine(
    name: str, load: Callable[[], E], failure: type[EngineError], times: ThreadTimes
) -> tuple[EngineThread[E], E]:
    """Loads an engine in a thread, and starts the thread that calls it. Raises what `load` raises.

    If the caller is cancelled meanwhile, the loading goes on, and its engine is given up.
    """
    lock = threading.Lock()
    loaded: list[tuple[EngineThread[E], E]] = []
    cancelled = False

    def work() -> None:
        engine = load()
        thread = EngineThread(name, engine, failure, times)
        with lock:
            loaded.append((thread, engine))
            if cancelled:
                thread.give_up()

    try:
        await asyncio.to_thread(work)
    except asyncio.CancelledError:
        with lock:
            cancelled = True
            for thread, _ in loaded:
                thread.give_up()
        raise
    return loaded[0]


class ResultStream(Generic[T]):
    """Passes the results of one job from the engine's thread to the event loop.

    The engine never waits for the loop, because a slow listener would delay all others. The results of a text are
    bounded, and so is the queue: a text that fills it ends in an error.

    Attributes:
        cancelled: There is no listener any more. Set by the loop, read by the engine between two pieces of audio.
    """

    def __init__(self, capacity: int, overflow: EngineError) -> None:
        """Creates a queue of `capacity` items. Call it on the loop. `overflow` is the error if it is full."""
        self.cancelled = False
        self._loop = asyncio.get_running_loop()
        self._items: asyncio.Queue[T | EngineError | None] = asyncio.Queue(capacity)
        self._overflow = overflow

    def put_item(self, item: T | EngineError | None) -> None:
        """Adds the next item, a failure, or None at the end. Called in the engine's thread."""
        try:
            self._loop.call_soon_threadsafe(self._put_item, item)
        except RuntimeError:  # the loop was closed before the end
            self.cancelled = True

    async def next(self, hang_reason: Callable[[], str]) -> T | None:
        """Returns the next item, None at the end. Waits as long as the engine works.

        `hang_reason`: see `EngineThread.hang_reason`. Raises EngineError, EngineHungError.
        """
        item = await self._items.get() if not self._items.empty() else await self._late_item(hang_reason)
        if isinstance(item, EngineError):
            raise item
        return item

    async def _late_item(self, hang_reason: Callable[[], str]) -> T | EngineError | None:
        hang_reason()
        while True:
            try:
                async with asyncio.timeout(STEP_S):
                    return await self._items.get()
            except TimeoutError:
                if self._items.empty() and (reason := hang_reason()):
                    raise EngineHungError(reason) from None

    def fail(self, failure: EngineError) -> None:
        """Fails the stream at once and drops queued items. Called on the loop."""
        self.cancelled = True
        while not self._items.empty():
            self._items.get_nowait()
        self._items.put_nowait(failure)

    def waiting(self) -> int:
        """Returns the number of queued items."""
        return self._items.qsize()

    def _put_item(self, item: T | EngineError | None) -> None:
        if self.cancelled:
            return
        if self._items.full():
            self.fail(self._overflow)
        else:
            self._items.put_nowait(item)


def _nothing(_engine: object) -> None:
    """A job that only wakes the thread."""
