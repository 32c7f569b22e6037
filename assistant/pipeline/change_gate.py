"""Holds replies while the engines of a conversation change."""

import asyncio
from collections.abc import Callable


class ChangeGate:
    """Holds requests to the language model while a change of the engines is made, so that the next reply has them.

    Attributes:
        waiting: Number of requests that wait.
    """

    def __init__(self) -> None:
        self._open = asyncio.Event()
        self._open.set()
        self._on_open: list[Callable[[], None]] = []
        self.waiting = 0

    @property
    def is_open(self) -> bool:
        """Whether requests pass at once."""
        return self._open.is_set()

    def close(self) -> None:
        """Holds requests from now on; whoever closes the gate opens it after a bounded time."""
        self._open.clear()

    def open(self) -> None:
        """Lets all requests pass."""
        self._open.set()
        callbacks, self._on_open = self._on_open, []
        for callback in callbacks:
            callback()

    def when_open(self, callback: Callable[[], None]) -> None:
        """Calls `callback` when the engines are known that answer: at once, or before the first request passes."""
        if self.is_open:
            callback()
        else:
            self._on_open.append(callback)

    async def pass_through(self) -> None:
        """Waits until the gate is open."""
        self.waiting += 1
        try:
            await self._open.wait()
        finally:
            self.waiting -= 1
