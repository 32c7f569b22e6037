"""Makes planned commands that are due without a conversation, and has their failure told."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from assistant.home import HomeFault
from assistant.skills.answers import FAULT
from assistant.skills.home.faults import Failure, fault_text
from assistant.skills.timers.timers import Alarm
from assistant.skills.timers.user_timers import LATEST_CALL_S, SharedTimers

log = logging.getLogger(__name__)


@dataclass(slots=True)
class DueCommands:
    """Makes the commands of one user. Not thread-safe: call it on the event loop.

    Attributes:
        timers: Knows the homes, and tells the failures.
        local_now: Returns the local time with its time zone.
        language: BCP 47 tag of the language in which failures are told.
        loop_s: Returns the loop time.
    """

    timers: SharedTimers
    local_now: Callable[[], datetime]
    language: str
    loop_s: Callable[[], float] = lambda: asyncio.get_running_loop().time()
    _tasks: "set[asyncio.Task[HomeFault | None]]" = field(default_factory=set)

    def make(self, alarm: Alarm) -> None:
        """Makes a command once, if its home is reached and it is not late."""
        planned = alarm.set_to.planned
        assert planned is not None, "it is planned"
        home = self.timers.homes.find(planned)
        if home is None:
            self._report(alarm, "unreachable")
        elif alarm.overdue_s(self.loop_s(), self.local_now()) > LATEST_CALL_S:
            self._report(alarm, "too_late")
        else:
            task = home.act(planned.calls)
            self._tasks.add(task)
            task.add_done_callback(lambda done: self._ended(alarm, done))

    def _ended(self, alarm: Alarm, task: "asyncio.Task[HomeFault | None]") -> None:
        self._tasks.discard(task)
        fault = "unreachable" if task.cancelled() else task.result()
        if fault is not None:
            self._report(alarm, fault)

    def _report(self, alarm: Alarm, fault: Failure) -> None:
        log.warning("a planned command was not done: %s", fault)
        self.timers.report_failure(alarm.set_to.announcement.replace(FAULT, fault_text(fault, self.language)))
