"""Lowers the priority of the threads that compute, so that the event loop gets a processor before them. Linux only."""

import asyncio
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from web.process.process_usage import ENGINE_THREADS

NICENESS = 5
"""Niceness of recognizers and voices above that of the event loop: they get a third of its weight. With 32
conversations on two cores it lowers the event loop's lag (docs/lab/load-scheduling.md)."""

MANY = 16
"""Conversations from which the event loop needs about half of a processor; eight take a quarter. With fewer of them the
engines keep the priority of other programs, beside which they would get a third of their share: eight conversations
waited longer for their words, in one pair of runs with 40 turns each (docs/lab/load-scheduling.md). Nobody but root can
raise it again."""

LOWEST = 19
"""The niceness beyond which Linux has no lower priority."""

LOOK_EVERY_S = 10.0
"""Interval at which new threads are found: an engine that failed is loaded again."""

_THREADS = Path("/proc/self/task")


async def keep_engines_behind(loaded: asyncio.Event, conversations: Callable[[], int]) -> None:
    """Lowers the priority of the engines' threads as soon as there are many conversations, until cancelled.

    Call it in the loop's thread.

    Args:
        loaded: Set when the engines are loaded.
        conversations: Returns their number.
    """
    await loaded.wait()
    while True:
        if conversations() >= MANY:
            lower_engine_threads()
        await asyncio.sleep(LOOK_EVERY_S)


def lower_engine_threads(threads: Path = _THREADS) -> int:
    """Lowers the priority of engine threads that still have the usual one. Returns their number; 0 except on Linux."""
    lowered = 0
    with suppress(OSError, AttributeError):  # no /proc, or Windows
        niceness = min(LOWEST, os.getpriority(os.PRIO_PROCESS, threading.get_native_id()) + NICENESS)
        for thread in threads.iterdir():
            with suppress(OSError):  # it has ended
                number = int(thread.name)
                if (thread / "comm").read_text().strip() not in ENGINE_THREADS:
                    continue
                if os.getpriority(os.PRIO_PROCESS, number) < niceness:
                    os.setpriority(os.PRIO_PROCESS, number, niceness)
                    lowered += 1
    return lowered
