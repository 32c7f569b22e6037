"""Detects that the event loop does not run, from another thread, and logs the code that holds it."""

import asyncio
import logging
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Literal

from audio.machine_load import LoadReader, MachineLoadReader

STALL_S = 0.2
"""A loop that is late by this much is stalled: ten frames of every conversation wait."""
BEAT_S = 0.1
"""Interval at which the loop shows that it runs."""
CHECK_S = 0.05
"""Interval at which the thread looks."""
LOG_EVERY_S = 10.0
"""Shortest time between two log lines."""
MAX_FRAMES = 12
"""Innermost frames of the stack that are logged."""

Cause = Literal["callback", "process"]
"""callback: code on the event loop held it. process: no thread ran, as the process was stopped or a library held the
interpreter, or the loop waited for a processor."""

_log = logging.getLogger(__name__)


class StallWatchdog:
    """Watches the event loop that runs `run`."""

    def __init__(
        self,
        count_stall: Callable[[Cause], None],
        *,
        clock: Callable[[], float] = time.monotonic,
        reader: LoadReader | None = None,
    ) -> None:
        """Creates it.

        Args:
            count_stall: Called once for each stall, in the watching thread.
            clock: Returns the time in seconds.
            reader: Reads the load of the machine for the log; None: from /proc.
        """
        self._count_stall = count_stall
        self._clock = clock
        self._reader = reader or MachineLoadReader()
        self._loop_thread = 0
        self._beat_s = self._looked_s = clock()
        self._counted_beat_s: float | None = None  # the beat before the last stall that was counted
        self._undecided_beat_s: float | None = None  # the beat before a stall in which this thread did not run, too
        self._logged_s: float | None = None
        self._not_logged = 0
        self._stopped = threading.Event()

    async def run_after(self, loaded: asyncio.Event) -> None:
        """Watches from this event on until cancelled: loading libraries holds the loop."""
        await loaded.wait()
        await self.run()

    async def run(self) -> None:
        """Watches until cancelled."""
        self._loop_thread = threading.get_ident()
        self._beat_s = self._looked_s = self._clock()
        thread = threading.Thread(target=self._watch, name="stall watchdog", daemon=True)
        thread.start()
        try:
            while True:
                await asyncio.sleep(BEAT_S)
                self._beat_s = self._clock()
        finally:
            self._stopped.set()

    def _watch(self) -> None:
        while not self._stopped.wait(CHECK_S):
            self.look()

    def look(self) -> None:
        """Counts and logs a stall that is in progress. Called by the watching thread."""
        now_s, beat_s = self._clock(), self._beat_s
        thread_was_late = now_s - self._looked_s > CHECK_S + STALL_S
        self._looked_s = now_s
        undecided_s, self._undecided_beat_s = self._undecided_beat_s, None
        if undecided_s is not None and undecided_s != beat_s:
            self._count_stall("process")  # the loop ran as soon as this thread did
        if now_s - beat_s <= BEAT_S + STALL_S or beat_s == self._counted_beat_s:
            return
        if thread_was_late:  # nothing ran; if the loop is the cause, it is still late at the next look
            self._undecided_beat_s = beat_s
            return
        frame = sys._current_frames().get(self._loop_thread)
        if frame is None:
            return
        idle = _waits_for_events(frame)
        stack = [] if idle else traceback.format_stack(frame)[-MAX_FRAMES:]
        del frame  # it keeps the variables of the code alive
        if self._beat_s != beat_s:
            return  # it runs again, so that the stack may be that of other code
        self._counted_beat_s = beat_s
        self._count_stall("process" if idle else "callback")
        if not idle:
            self._report(now_s, now_s - beat_s - BEAT_S, stack)

    def _report(self, now_s: float, late_s: float, stack: Sequence[str]) -> None:
        if self._logged_s is not None and now_s - self._logged_s < LOG_EVERY_S:
            self._not_logged += 1
            return
        more = f"; {self._not_logged} other stalls were not logged" if self._not_logged else ""
        self._logged_s, self._not_logged = now_s, 0
        load = self._reader.read()
        busy = load is not None and load.busy
        cause = f"this machine is busy, {load.text}, while it runs" if load and busy else "all conversations wait for"
        _log.warning(
            "the event loop has not run for %.0f ms; %s this code%s:\n%s",
            late_s * 1000,
            cause,
            more,
            "".join(stack).rstrip(),
        )


def _waits_for_events(frame: FrameType) -> bool:
    """Returns whether the loop is idle in its selector: it is late because it gets no processor."""
    return frame.f_code.co_name == "select" and "selectors" in frame.f_code.co_filename
