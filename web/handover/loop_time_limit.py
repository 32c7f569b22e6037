"""A time limit that counts only time in which the event loop runs."""

import asyncio
import math
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

STEP_S = 0.05
"""The limit is counted in steps of this length. A step counts no more than that, however late the loop is."""


@asynccontextmanager
async def loop_time_limit(limit_s: float) -> AsyncGenerator[None]:
    """Limits the time of the block. Raises TimeoutError.

    A loop that is held for longer than the limit reads an answer that has arrived meanwhile, where `asyncio.timeout`
    cancels the block first.
    """
    loop = asyncio.get_running_loop()
    timer: asyncio.TimerHandle | None = None

    def wait(steps: int) -> None:
        nonlocal timer
        timer = loop.call_later(STEP_S, wait, steps - 1) if steps else None
        if not steps:
            limit.reschedule(loop.time())

    async with asyncio.timeout(None) as limit:
        wait(max(1, math.ceil(limit_s / STEP_S)))
        try:
            yield
        finally:
            if timer is not None:
                timer.cancel()
