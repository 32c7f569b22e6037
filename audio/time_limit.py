"""A time limit on an engine that does not blame it for a loop that stood still."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager


@asynccontextmanager
async def time_limit(limit_s: float) -> AsyncGenerator[None]:
    """`asyncio.timeout`, longer by as much as its timer comes late, up to twice as long. Raises TimeoutError.

    After a stall (swap, a stopped process) the answer and the timer are ready at once, and the timer would win; where
    the engine stood still too, its answer has yet to come.
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
