"""Keeps the LLM's connections open while the user speaks, because servers close idle ones after a few seconds."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

KEEP_ALIVE_INTERVAL_S = 3.0
"""Interval between keep-alive requests. Many servers close a connection that was idle for 5 s."""

MAX_KEEP_ALIVES = 40
"""Maximum number of keep-alive requests for one speech segment: two minutes. A VAD may take a radio for speech all
day."""


@dataclass(slots=True)
class ConnectionWarmer:
    """Keeps the connections of one conversation open.

    Attributes:
        warm: Opens connections, or sends a keep-alive on open ones. It never raises and has a time limit.
        tasks: Task group of the conversation; set when it begins.
    """

    warm: Callable[[], Awaitable[None]]
    tasks: asyncio.TaskGroup = field(init=False)
    _stopped: asyncio.Event = field(default_factory=asyncio.Event)
    _task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Starts keep-alives, because the user speaks."""
        self._stopped.clear()
        if self._task is None or self._task.done():
            self._task = self.tasks.create_task(self._keep_warm(), name="warm connections")

    def stop(self) -> None:
        """Stops keep-alives, because the user no longer speaks.

        A keep-alive that is being sent continues. Cancelling it would close the connection that is about to be used.
        """
        self._stopped.set()

    def close(self) -> None:
        """Cancels the task, because the conversation is over."""
        if self._task is not None:
            self._task.cancel()

    async def _keep_warm(self) -> None:
        for _ in range(MAX_KEEP_ALIVES):
            await self.warm()
            try:
                async with asyncio.timeout(KEEP_ALIVE_INTERVAL_S):
                    await self._stopped.wait()
            except TimeoutError:
                continue
            if self._stopped.is_set():  # else the user spoke again before this task ran
                return
