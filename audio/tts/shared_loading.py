"""A voice being loaded for all conversations that ask for it, whoever of them leaves meanwhile."""

import asyncio
from collections.abc import Callable, Coroutine

from audio.errors import EngineLoadError

LOAD_LIMIT_S = 60.0
"""After so long a loading is given up, so that the next attempt begins one of its own."""


class SharedLoading:
    """One loading at a time. Lives on the event loop."""

    def __init__(self, name: str, load: Callable[[], Coroutine[None, None, None]]) -> None:
        """`name` is the engine's, for errors; `load` loads it, and raises EngineLoadError."""
        self._name = name
        self._load = load
        self._task: asyncio.Task[None] | None = None

    async def wait(self) -> None:
        """Load, or wait for what is being loaded. Safe to cancel: the loading goes on. Raises EngineLoadError."""
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._limited(), name=f"load {self._name}")
            self._task.add_done_callback(self._over)
        task = self._task
        await asyncio.wait([task])
        if task.cancelled():
            raise EngineLoadError(f"{self._name} was stopped while it was being loaded.")
        task.result()

    async def stop(self) -> None:
        """Give up what is being loaded, and wait until it is. Idempotent."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _limited(self) -> None:
        try:
            async with asyncio.timeout(LOAD_LIMIT_S):
                await self._load()
        except TimeoutError as error:
            why = f"{self._name} did not load within {LOAD_LIMIT_S:g} s: free some CPU or memory and try again."
            raise EngineLoadError(why) from error

    def _over(self, task: asyncio.Task[None]) -> None:
        self._task = None
        if not task.cancelled():
            task.exception()  # seen: nobody may be left to hear of it
