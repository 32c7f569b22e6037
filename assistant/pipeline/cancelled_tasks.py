"""Cancels tasks of a conversation, and reports tasks that do not stop."""

import asyncio
from collections.abc import Callable

from assistant.support.notice import notice

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
