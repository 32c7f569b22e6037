"""An engine's own thread, and the lane on which what it makes reaches the event loop."""

import asyncio
import queue
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from audio.errors import TtsError

E = TypeVar("E")
T = TypeVar("T")

_WAITING_JOBS = 64
"""A job is one unit: 64 are more conversations than one process holds."""


class EngineThread(Generic[E]):
    """The one thread that calls an engine.

    Not a ThreadPoolExecutor: its queue is bounded, and being a daemon it cannot keep the process from ending
    should the engine hang.

    Attributes:
        gave_up: No more jobs are taken: the engine hung or was closed.
    """

    def __init__(self, name: str, engine: E) -> None:
        """`name` is the engine's, for the thread and for errors."""
        self.gave_up = False
        self._name = name
        self._engine = engine
        self._jobs: queue.Queue[Callable[[E], None]] = queue.Queue(_WAITING_JOBS)
        threading.Thread(target=self._work, name=name, daemon=True).start()

    def submit(self, job: Callable[[E], None]) -> None:
        """Run `job`, which must not raise, after those before it. Never blocks. Raises TtsError."""
        if self.gave_up:
            raise TtsError(f"{self._name} hung earlier and was given up: load the voice again")
        try:
            self._jobs.put_nowait(job)
        except queue.Full as full:
            raise TtsError(f"{self._name} has {_WAITING_JOBS} units waiting already: say this one later") from full

    def give_up(self) -> None:
        """Take no more jobs, and let the thread end as soon as it comes back. Idempotent."""
        self.gave_up = True
        try:
            self._jobs.put_nowait(_nothing)  # wakes a thread that waits for work
        except queue.Full:
            return

    def _work(self) -> None:
        while not self.gave_up:
            job = self._jobs.get()
            if not self.gave_up:
                job(self._engine)


class Lane(Generic[T]):
    """What an engine makes of one unit, from its thread to the loop.

    The engine never waits for the loop: it would be held for all by the slowest listener. What it makes of a unit
    is bounded, and so is the lane: a unit that fills it ends in a TtsError.

    Attributes:
        cancelled: Nobody listens any more. Set by the loop, read by the engine between two pieces of sound.
    """

    def __init__(self, most: int, overflow: str) -> None:
        """Holds `most` items; `overflow` is the error's text where there are more. Call it on the loop."""
        self.cancelled = False
        self._loop = asyncio.get_running_loop()
        self._items: asyncio.Queue[T | TtsError | None] = asyncio.Queue(most)
        self._overflow = overflow

    def tell(self, item: T | TtsError | None) -> None:
        """From the engine's thread: the next item, a failure, or None at the end."""
        try:
            self._loop.call_soon_threadsafe(self._put, item)
        except RuntimeError:  # the loop was closed with the unit unfinished: nobody listens
            self.cancelled = True

    async def next(self, timeout_s: float) -> T | None:
        """The next item, None at the end. Raises TtsError, TimeoutError."""
        async with asyncio.timeout(timeout_s):
            item = await self._items.get()
        if isinstance(item, TtsError):
            raise item
        return item

    def fail(self, failure: TtsError) -> None:
        """From the loop: whoever listens is told at once, and what was waiting is dropped."""
        self.cancelled = True
        while not self._items.empty():
            self._items.get_nowait()
        self._items.put_nowait(failure)

    def waiting(self) -> int:
        """Items that nobody has taken yet."""
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
