"""Tasks beside a conversation, such as a slow tool call, which end with it; and the cancelling of its tasks."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

from assistant.support.notice import notice

MAX_TASKS = 256
"""Tasks of one conversation at the same time."""


Work = Callable[[], Coroutine[Any, Any, None]]


STOP_TIMEOUT_S = 2.0
"""Time limit for a cancelled task to stop; then it is cancelled again."""


def cancel_task(
    task: asyncio.Task[None] | None, group: asyncio.TaskGroup, report_problem: Callable[[str], None]
) -> None:
    """Cancels a task of this group, unless it is the current one. A task that hangs in its clean-up is reported."""
    if task is not None and task is not asyncio.current_task() and task.cancel():
        group.create_task(_await_cancelled(task, report_problem), name=f"reap {task.get_name()}")


async def _await_cancelled(task: asyncio.Task[None], report_problem: Callable[[str], None]) -> None:
    for _ in range(3):
        await asyncio.wait({task}, timeout=STOP_TIMEOUT_S)
        if task.done():
            return
        task.cancel()
    report_problem(notice("task_stuck", name=task.get_name()))


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
            self.start_task(work, name)

    @property
    def accepts_tasks(self) -> bool:
        """Whether another task is started, now or when the conversation begins."""
        return not self._stopped and len(self._running) + len(self._waiting) < MAX_TASKS

    def start_task(self, work: Work, name: str) -> asyncio.Task[None] | None:
        """Starts a task; its errors are reported. Returns None if it waits for the conversation, or is not started."""
        if not self.accepts_tasks:
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
