"""A time limit that counts only time in which the event loop runs."""

import asyncio
import math
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

STEP_S = 0.05
"""The limit is counted in steps of this length. A step counts no more than that, however late the loop is."""


@asynccontextmanager
async def loop_time_limit(limit_s: float, progress: Callable[[], int] = lambda: 0) -> AsyncGenerator[None]:
    """Limits the time of the block. Raises TimeoutError.

    A loop that is held for longer than the limit reads an answer that has arrived meanwhile, where `asyncio.timeout`
    cancels the block first.

    Args:
        limit_s: The limit.
        progress: Returns a count. When it has changed, the limit begins again.
    """
    loop = asyncio.get_running_loop()
    steps = max(1, math.ceil(limit_s / STEP_S))
    timer: asyncio.TimerHandle | None = None

    def wait(left: int, before: int) -> None:
        nonlocal timer
        made = progress()
        if made != before:
            left = steps
        timer = loop.call_later(STEP_S, wait, left - 1, made) if left else None
        if not left:
            limit.reschedule(loop.time())

    async with asyncio.timeout(None) as limit:
        wait(steps, progress())
        try:
            yield
        finally:
            if timer is not None:
                timer.cancel()
