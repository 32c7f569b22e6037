"""Tasks beside a conversation, such as a slow tool call. They end with it."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

from assistant.support.notice import notice

MAX_TASKS = 256
"""Tasks of one conversation at the same time."""


Work = Callable[[], Coroutine[Any, Any, None]]


@dataclass(slots=True)
class SideTasks:
    """Owns these tasks. Tasks that are added before the conversation begins wait for its beginning."""

    report_problem: Callable[[str], None]
    _group: asyncio.TaskGroup | None = None
    _waiting: list[tuple[Work, str]] = field(default_factory=list)
    _running: set[asyncio.Task[None]] = field(default_factory=set)
    _stopped: bool = False

    def start(self, group: asyncio.TaskGroup) -> None:
        """Starts the tasks that wait, in the conversation's group."""
        self._group = group
        waiting, self._waiting = self._waiting, []
        for work, name in waiting:
            self.add(work, name)

    def add(self, work: Work, name: str) -> asyncio.Task[None] | None:
        """Starts a task; its errors are reported. Returns None if it waits for the conversation, or is not started."""
        if self._stopped or len(self._running) + len(self._waiting) >= MAX_TASKS:
            return None
        if self._group is None:
            self._waiting.append((work, name))
            return None
        task = self._group.create_task(self._guard(work), name=name)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return task

    def stop(self) -> None:
        """Cancels all tasks. No more are started."""
        self._stopped = True
        self._waiting.clear()
        for task in self._running:
            task.cancel()

    async def _guard(self, work: Work) -> None:
        try:
            await work()
        except Exception as error:  # noqa: BLE001 - a bug must not end the conversation
            self.report_problem(notice("side_task_failed", reason=type(error).__name__))
