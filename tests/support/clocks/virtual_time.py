"""Virtual time: an event loop that jumps to its next timer whenever it is idle.

A conversation of 30 s runs in milliseconds, and every run has the same order of events. Threads are not supported: the
clock would jump past their work, so starting one is an error.
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
    """The test cannot continue in virtual time, or has left a task or callback behind. The text names it."""


NOTICED_S = 0.01
"""Before a longer jump, a loop whose tasks talk over sockets looks for late data once more."""


class _JumpingSelector(selectors.DefaultSelector):
    """A selector that never waits: where the loop would sleep, it advances the loop's clock instead.

    `sockets`: both ends of all connections are in this loop. The kernel delivers what one end sent before the other
    is asked, except when the machine is very busy; so it gets a millisecond before a jump that a test could notice.
    """

    def __init__(self, start_s: float, limit_s: float, *, sockets: bool) -> None:
        super().__init__()
        self.now_s = start_s
        self._last_s = start_s + limit_s
        self._sockets = sockets

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        # Most loops have only the pipe that wakes them up, about which the kernel need not be asked.
        ready = super().select(0) if len(self.get_map()) > 1 else []
        if ready or timeout == 0:
            return ready
        if self._sockets and (timeout is None or timeout > NOTICED_S):
            ready = super().select(1.0 if timeout is None else 0.001)
            if ready:
                return ready
        if timeout is None:
            raise VirtualTimeError("every task waits and no timer is set: this would hang forever")
        self.now_s += timeout
        if self.now_s > self._last_s:
            raise VirtualTimeError(f"still running at {self.now_s:.1f} s of virtual time: see limit_s")
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop whose `time()` moves only by jumps to the next timer."""

    def __init__(self, start_s: float, limit_s: float, *, sockets: bool = False) -> None:
        self._jumping = _JumpingSelector(start_s, limit_s, sockets=sockets)
        self.complaints: list[str] = []
        self._thread = threading.get_ident()
        super().__init__(self._jumping)
        self.set_exception_handler(self._record_exception)

    def time(self) -> float:
        """Returns the seconds of virtual time."""
        return self._jumping.now_s

    def stall(self, seconds: float) -> None:
        """Advances the time at once, like a call that blocks the loop."""
        self._jumping.now_s += seconds

    def call_soon(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        """As in asyncio, but only from the loop's own thread: others would be lost or late. Raises VirtualTimeError."""
        if threading.get_ident() != self._thread:
            raise VirtualTimeError("call_soon from another thread: that is for call_soon_threadsafe")
        return super().call_soon(callback, *args, context=context)

    def run_in_executor(self, executor: object, func: object, *args: object) -> NoReturn:
        """Refuses: virtual time would jump past the thread. Raises VirtualTimeError."""
        raise VirtualTimeError("a thread was asked for (run_in_executor, to_thread, getaddrinfo) in virtual time")

    def _record_exception(self, _: asyncio.AbstractEventLoop, context: Mapping[str, Any]) -> None:
        error = context.get("exception")
        self.complaints.append(f"{context['message']}: {error!r}" if error else str(context["message"]))


def run_virtual(
    coro: Coroutine[Any, Any, T], *, start_s: float = 1000.0, limit_s: float = 86_400.0, sockets: bool = False
) -> T:
    """Runs a coroutine in virtual time and returns its result.

    Does not use asyncio's debug mode: recording a stack for every callback takes seven times as long as everything
    else. Its checks exist otherwise: a callback from another thread is refused here, and a coroutine that is never
    awaited gives a warning, which is an error.

    Args:
        coro: The test.
        start_s: Initial `loop.time()`; not 0, so that a forgotten origin shows.
        limit_s: Maximum virtual time of the test.
        sockets: Whether tasks of this loop talk with each other over loopback. Other ends would be too slow.

    Raises:
        VirtualTimeError: Nothing could ever happen again, the limit was passed, a thread was requested, tasks were
            still
            running at the end, or an exception was lost in a callback.
    """
    loops: list[VirtualLoop] = []

    def new_loop() -> VirtualLoop:
        loops.append(VirtualLoop(start_s, limit_s, sockets=sockets))
        return loops[0]

    results: list[T] = []

    async def supervised() -> None:
        # Not the task's own result: asyncio's runner formats it (in the text of a hidden error, when it restores the
        # handler of Ctrl-C), and a recording of sound takes seconds to format.
        results.append(await coro)
        left = sorted(task.get_name() for task in asyncio.all_tasks() if task is not asyncio.current_task())
        if left:
            raise VirtualTimeError(f"tasks were left running: {', '.join(left)}")

    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(supervised())
    if loops[0].complaints:
        raise VirtualTimeError("; ".join(loops[0].complaints))
    return results[0]
