"""Timeouts for engines: one that tolerates a blocked event loop, and none for engines that watch themselves."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Protocol, runtime_checkable


@runtime_checkable
class SelfWatching(Protocol):
    """An engine that may end every request itself, however long it takes.

    Attributes:
        ends_requests: It does: with a result, which is late on a busy machine, or with an error if it hangs.
    """

    @property
    def ends_requests(self) -> bool: ...


def ends_requests(engine: object) -> bool:
    """Returns whether an engine ends every request itself, so that its callers need no timeout."""
    return isinstance(engine, SelfWatching) and engine.ends_requests


@asynccontextmanager
async def engine_time_limit(engine: object, limit_s: float) -> AsyncGenerator[None]:
    """Waits for an engine as long as it works; `time_limit` for one that does not watch itself."""
    if ends_requests(engine):
        yield
        return
    async with time_limit(limit_s):
        yield


@asynccontextmanager
async def time_limit(limit_s: float) -> AsyncGenerator[None]:
    """Like `asyncio.timeout`, extended by the delay of its timer, at most to twice the limit. Raises TimeoutError.

    After a stall (swapping, a stopped process) the answer and the timer are ready at once, and the timer would win. If
    the engine was stalled too, its answer needs more time.
    """
    loop = asyncio.get_running_loop()
    due_s = loop.time() + limit_s
    async with asyncio.timeout(None) as timeout:

        def due() -> None:
            now_s = loop.time()
            timeout.reschedule(now_s + min(now_s - due_s, limit_s))

        timer = loop.call_at(due_s, due)
        try:
            yield
        finally:
            timer.cancel()
