"""Frees the memory of ended conversations, about 2 MB each in reference cycles, while no conversation has a turn.

The automatic collector would free them only every few hundred conversations. A collection takes 1 to 14 ms of the event
loop's time with eight conversations, and up to 50 ms if 32 end together, provided that the loaded modules and engines
were frozen, as `web.serve` does. So one collection serves all conversations that end within some seconds, and it waits
for a moment without a turn.
"""

import asyncio
import gc
from collections.abc import Callable

COLLECT_AFTER_S = 5.0
"""Time between the end of a conversation and the collection that frees it."""
LOOK_S = 0.2
"""Interval of checks whether a turn is in progress."""
LOOKS = 50
"""Number of such checks. After ten seconds it collects during a turn."""
MAX_ENDED = 16
"""Ended conversations, of 2 MB each, that are collected at once."""

YOUNG_OBJECTS, YOUNG_RUNS, MIDDLE_RUNS = 5000, 10, 10
"""Thresholds of the automatic collector; Python's own are 700, 10 and 10. At 700 it runs twenty times a second with
eight conversations, and each tenth run takes a millisecond."""


class GarbageCollection:
    """Collects after conversations have ended. Not thread-safe: use it on the event loop.

    Attributes:
        collections: Number of collections so far.
    """

    def __init__(self, in_turn: Callable[[], bool]) -> None:
        """`in_turn`: returns whether a conversation has a turn in progress."""
        self.collections = 0
        self._in_turn = in_turn
        self._ended = 0
        self._looks = 0
        self._timer: asyncio.TimerHandle | None = None

    def conversation_ended(self) -> None:
        """Schedules the collection that frees a conversation, after its task has ended."""
        self._ended += 1
        loop = asyncio.get_running_loop()
        if self._ended == MAX_ENDED:
            self.close()
            self._timer = loop.call_later(LOOK_S, self._collect)  # the task of the last one has not ended yet
        elif self._timer is None:
            self._looks = 0
            self._timer = loop.call_later(COLLECT_AFTER_S, self._look)

    def close(self) -> None:
        """Cancels a scheduled collection. Idempotent."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        self._looks += 1
        if self._looks < LOOKS and self._in_turn():
            self._timer = asyncio.get_running_loop().call_later(LOOK_S, self._look)
        else:
            self._collect()

    def _collect(self) -> None:
        self._timer, self._ended = None, 0
        if gc.get_freeze_count():
            self.collections += 1
            gc.collect()


def freeze_loaded_objects() -> None:
    """Excludes the loaded modules and engines from garbage collection, and lets the collector run less often.

    A collection that scans them takes 60 ms, in the middle of a turn (docs/lab/experiments.md).
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS, YOUNG_RUNS, MIDDLE_RUNS)
