"""Loads an engine once for all conversations that request it, even if some of them leave."""

import asyncio
from collections.abc import Callable, Coroutine

from audio.errors import EngineLoadError

LOAD_LIMIT_S = 300.0
"""Timeout of loading, in seconds: five times the 60 s that the largest voice is estimated to take from a cold disk on a
machine ten times as slow as ours (4 s there). Engines of other packages may be larger."""


class SharedLoading:
    """Runs one loading at a time. Not thread-safe: call it on the event loop."""

    def __init__(self, name: str, load: Callable[[], Coroutine[None, None, None]]) -> None:
        """Creates it.

        Args:
            name: The engine's name, for error messages.
            load: Loads the engine. Raises EngineLoadError.
        """
        self._name = name
        self._load = load
        self._task: asyncio.Task[None] | None = None

    @property
    def is_running(self) -> bool:
        """Whether a loading runs."""
        return self._task is not None

    async def wait(self) -> None:
        """Starts a loading or joins the current one. Safe to cancel: the loading continues. Raises EngineLoadError."""
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._limited(), name=f"load {self._name}")
            self._task.add_done_callback(self._over)
        task = self._task
        await asyncio.wait([task])
        if task.cancelled():
            raise EngineLoadError(f"{self._name} was stopped while it was being loaded.")
        task.result()

    async def stop(self) -> None:
        """Cancels the current loading and waits for its end. Idempotent."""
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
            task.exception()  # marks the exception as retrieved; there may be no caller left
