"""An engine's own thread, and the lane on which what it makes reaches the event loop."""

import asyncio
import contextlib
import itertools
import math
import queue
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from audio.errors import TtsError
from audio.exit_guard import at_work
from audio.thread_name import thread_named
from audio.time_limit import time_limit

E = TypeVar("E")
T = TypeVar("T")

_WAITING_JOBS = 64
"""A job is of one unit: 64 are more conversations than one process holds."""

_LETTERS_PER_S = 15.0
"""How fast people speak, about."""


def due_s(now_s: float, text: str) -> float:
    """When a text should be spoken that somebody wants now, on the clock of `now_s`: later by its own duration.

    Short ones go first, and the first unit of an answer is cut short; whoever waits long enough is first too.
    """
    return now_s + len(text) / _LETTERS_PER_S


class EngineThread(Generic[E]):
    """The one thread that calls an engine.

    Not a ThreadPoolExecutor: its queue is bounded, and being a daemon it cannot keep the process from ending
    should the engine hang.

    Attributes:
        gave_up: No more jobs are taken: the engine hung or was closed.
        made: Pieces of sound so far; jobs count them, before they tell of them. While it grows, nothing hangs.
        suspect: Something unforeseen happened: when it is loaded the next time, the engine should be a new one.
    """

    def __init__(self, name: str, engine: E) -> None:
        """`name` is the engine's, for the thread and for errors."""
        self.gave_up = False
        self.made = 0
        self.suspect = False
        self._retired = False
        self._name = name
        self._engine = engine
        self._jobs: queue.PriorityQueue[tuple[float, int, Callable[[E], None]]] = queue.PriorityQueue(_WAITING_JOBS)
        self._numbers = itertools.count()  # of two jobs that are due at once, the first one first
        threading.Thread(target=self._work, name=name, daemon=True).start()

    def submit(self, job: Callable[[E], None], due_s: float = 0.0) -> None:
        """Run `job`, which must not raise, after those that are due before it. Never blocks. Raises TtsError.

        A long job that comes in parts submits its next part itself, due as before: what is due sooner goes between.
        """
        if self.gave_up:
            raise TtsError(f"{self._name} hung earlier and was given up: load the voice again")
        try:
            self._jobs.put_nowait((due_s, next(self._numbers), job))
        except queue.Full as full:
            raise TtsError(f"{self._name} has {_WAITING_JOBS} units waiting already: say this one later") from full

    def give_up(self) -> None:
        """Take no more jobs, and let the thread end as soon as it comes back. Idempotent."""
        self.gave_up = True
        self._wake(-math.inf)

    def retire(self) -> None:
        """Let the thread end once all it was given is done; nobody gives it any more."""
        self._retired = True
        self._wake(math.inf)

    async def works(self, timeout_s: float) -> bool:
        """Whether it comes to a new job within that time, which goes before all that wait. Called on the loop."""
        loop, answer = asyncio.get_running_loop(), asyncio.Event()

        def tell(_engine: E) -> None:
            with contextlib.suppress(RuntimeError):  # the loop was closed meanwhile
                loop.call_soon_threadsafe(answer.set)

        try:
            self.submit(tell, -math.inf)
        except TtsError:
            return not self.gave_up  # else its queue is full, and those in it will find out
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await answer.wait()
        return answer.is_set()

    def _wake(self, due_s: float) -> None:
        with contextlib.suppress(queue.Full):  # then there is enough to wake it
            self._jobs.put_nowait((due_s, next(self._numbers), _nothing))

    def _work(self) -> None:
        with thread_named(self._name):
            while not (self.gave_up or (self._retired and self._jobs.empty())):
                _, _, job = self._jobs.get()
                with at_work():
                    if not self.gave_up:
                        job(self._engine)
                    del job


class SynthesisStream(Generic[T]):
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
        async with time_limit(timeout_s):
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
