"""Notes whether other programs kept the processors busy during a turn, and tells the user that it is late for that."""

from collections.abc import Callable
from dataclasses import dataclass

from assistant.events import Problem, SessionEvent
from assistant.support.notice import notice
from assistant.trace.record import TurnRecord
from audio.machine_load import LoadReader, MachineLoad

LATE_MS = 1000.0
"""Response latency from which the user is told: twice what is usual on a free machine."""

TOLD_EVERY_S = 60.0
"""Shortest time between two notices, in seconds."""


def share_of_others(load: MachineLoad) -> float:
    """Returns the share of all processors that other programs use, 0..1."""
    return min(1.0, load.others / load.processors)


@dataclass(slots=True)
class BusyMachine:
    """Measures the machine during the turns of one conversation.

    Attributes:
        reader: Reads the load since its last reading.
        on_event: Receives the notices.
        clock: Returns the time in seconds.
    """

    reader: LoadReader
    on_event: Callable[[SessionEvent], None]
    clock: Callable[[], float]
    _told_s: float | None = None

    def begin_turn(self) -> None:
        """Begins a measurement with the user's speech."""
        self.reader.read()

    def load(self) -> MachineLoad | None:
        """Returns the load during the turn, if other programs kept the machine busy; else None."""
        load = self.reader.read()
        return load if load is not None and load.busy else None

    def tell(self, record: TurnRecord, load: MachineLoad) -> None:
        """Tells the user why this turn failed or was late, at most every `TOLD_EVERY_S`. A server logs each notice."""
        latency_ms, now_s = record.response_latency_ms, self.clock()
        is_late = record.failed or (latency_ms is not None and latency_ms > LATE_MS)
        if not is_late or (self._told_s is not None and now_s - self._told_s < TOLD_EVERY_S):
            return
        self._told_s = now_s
        self.on_event(Problem(notice("machine_busy", share=f"{100 * share_of_others(load):.0f}")))
