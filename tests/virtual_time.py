"""Virtual time: an event loop that jumps to its next timer whenever it has nothing to do.

A conversation of 30 s runs in milliseconds, and every run gives the same order of events. Nothing here knows of
threads: the clock would jump past whatever a thread still works on, so asking for one is an error.
"""

import asyncio
import selectors
import threading
from collections.abc import Callable, Coroutine, Mapping
from contextvars import Context
from typing import Any, NoReturn, TypeVar, TypeVarTuple

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class VirtualTimeError(AssertionError):
    """The test cannot go on in virtual time, or has left something behind; the text says what."""


class _JumpingSelector(selectors.DefaultSelector):
    """A selector that never waits: where the loop would sleep, it moves the loop's clock instead."""

    def __init__(self, start_s: float, limit_s: float) -> None:
        super().__init__()
        self.now_s = start_s
        self._last_s = start_s + limit_s

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if ready or timeout == 0:
            return ready
        if timeout is None:
            raise VirtualTimeError("every task waits and no timer is set: this would hang forever")
        self.now_s += timeout
        if self.now_s > self._last_s:
            raise VirtualTimeError(f"still running at {self.now_s:.1f} s of virtual time: see limit_s")
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop whose `time()` moves only by jumps to the next timer."""

    def __init__(self, start_s: float, limit_s: float) -> None:
        self._jumping = _JumpingSelector(start_s, limit_s)
        self.complaints: list[str] = []
        self._thread = threading.get_ident()
        super().__init__(self._jumping)
        self.set_exception_handler(self._complain)

    def time(self) -> float:
        """Seconds of virtual time."""
        return self._jumping.now_s

    def stall(self, seconds: float) -> None:
        """Let time pass at once, as a call that blocks the loop does."""
        self._jumping.now_s += seconds

    def call_soon(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        """As ever, but from the loop's own thread only: it would be lost or late. Raises VirtualTimeError."""
        if threading.get_ident() != self._thread:
            raise VirtualTimeError("call_soon from another thread: that is for call_soon_threadsafe")
        return super().call_soon(callback, *args, context=context)

    def run_in_executor(self, executor: object, func: object, *args: object) -> NoReturn:
        """Refuse: virtual time would jump past the thread. Raises VirtualTimeError."""
        raise VirtualTimeError("a thread was asked for (run_in_executor, to_thread, getaddrinfo) in virtual time")

    def _complain(self, _: asyncio.AbstractEventLoop, context: Mapping[str, Any]) -> None:
        error = context.get("exception")
        self.complaints.append(f"{context['message']}: {error!r}" if error else str(context["message"]))


def run_virtual(coro: Coroutine[Any, Any, T], *, start_s: float = 1000.0, limit_s: float = 86_400.0) -> T:
    """Run a coroutine in virtual time and give its result.

    Not in asyncio's debug mode: a stack kept for every callback takes seven times as long as all the rest. What it
    would catch is caught without it: a callback from another thread is refused here, and what is never awaited is a
    warning, which is an error.

    Args:
        coro: The test.
        start_s: What `loop.time()` says at the beginning; not 0, so that a forgotten origin shows.
        limit_s: How much virtual time the test may take.

    Raises:
        VirtualTimeError: Nothing could ever happen again, the limit was passed, a thread was asked for, tasks
            were still running at the end, or an exception was lost in a callback.
    """
    loops: list[VirtualLoop] = []

    def new_loop() -> VirtualLoop:
        loops.append(VirtualLoop(start_s, limit_s))
        return loops[0]

    results: list[T] = []

    async def supervised() -> None:
        # Not the task's own result: asyncio's runner prints that (in the text of an error that nobody sees, as it puts
        # back the handler of Ctrl-C), and a recording of sound takes seconds.
        results.append(await coro)
        left = sorted(task.get_name() for task in asyncio.all_tasks() if task is not asyncio.current_task())
        if left:
            raise VirtualTimeError(f"tasks were left running: {', '.join(left)}")

    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(supervised())
    if loops[0].complaints:
        raise VirtualTimeError("; ".join(loops[0].complaints))
    return results[0]
