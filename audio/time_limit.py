"""A timeout for an engine that tolerates a blocked event loop."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager


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
