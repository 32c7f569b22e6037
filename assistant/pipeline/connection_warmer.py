"""Keeps the model's connections open while somebody speaks: servers drop idle ones after a few seconds."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

AGAIN_S = 3.0
"""Less than the 5 s after which many servers close an idle connection, with room for the way there."""

MOST_AGAIN = 40
"""Two minutes: nobody speaks for longer, but a detector may hear a radio all day."""


@dataclass(slots=True)
class ConnectionWarmer:
    """Of one conversation.

    Attributes:
        warm: Opens connections, or shows the open ones a sign of life; never fails, and is bounded in time.
        tasks: The conversation's; set when it begins.
    """

    warm: Callable[[], Awaitable[None]]
    tasks: asyncio.TaskGroup = field(init=False)
    _quiet: asyncio.Event = field(default_factory=asyncio.Event)
    _task: asyncio.Task[None] | None = None

    def began(self) -> None:
        """Somebody speaks."""
        self._quiet.clear()
        if self._task is None or self._task.done():
            self._task = self.tasks.create_task(self._keep(), name="warm connections")

    def ended(self) -> None:
        """Nobody does. What is under way goes on: cut off, it would cost the connection that is about to be used."""
        self._quiet.set()

    def close(self) -> None:
        """The conversation is over."""
        if self._task is not None:
            self._task.cancel()

    async def _keep(self) -> None:
        for _ in range(MOST_AGAIN):
            await self.warm()
            try:
                async with asyncio.timeout(AGAIN_S):
                    await self._quiet.wait()
            except TimeoutError:
                continue
            if self._quiet.is_set():  # else somebody has begun again before this task had its turn
                return
