"""Turns on a machine that other programs keep busy."""

from dataclasses import dataclass, replace

import pytest
from support.conversations.answered_turn import ANSWERED

from assistant.events import Problem, SessionEvent
from assistant.pipeline.busy_machine import TOLD_EVERY_S, BusyMachine
from audio.machine_load import MachineLoad

BUSY, FREE = MachineLoad(2, own=0.2, others=1.7, runnable=9), MachineLoad(2, own=1.9, others=0.1, runnable=2)
LATE = replace(ANSWERED, response_latency_ms=3000.0)


@dataclass
class Reader:
    load: MachineLoad | None

    def read(self) -> MachineLoad | None:
        return self.load


class Watched:
    """A conversation's notices, at a time that the test sets."""

    def __init__(self, load: MachineLoad | None = BUSY) -> None:
        self.now_s = 0.0
        self.events: list[SessionEvent] = []
        self.machine = BusyMachine(Reader(load), self.events.append, lambda: self.now_s)

    @property
    def problems(self) -> list[str]:
        return [event.text for event in self.events if isinstance(event, Problem)]


def test_late_turn_names_the_other_programs() -> None:
    watched = Watched()
    watched.machine.tell(LATE, BUSY)
    assert watched.problems == ["this machine is busy: other programs use 85 % of its processors; replies come late"]


def test_notice_is_given_once_a_minute() -> None:
    watched = Watched()
    for watched.now_s in (0.0, TOLD_EVERY_S - 1, TOLD_EVERY_S + 1):
        watched.machine.tell(LATE, BUSY)
    assert len(watched.problems) == 2


def test_turn_in_time_needs_no_notice() -> None:
    watched = Watched()
    watched.machine.tell(replace(ANSWERED, response_latency_ms=400.0), BUSY)
    assert watched.problems == []


@pytest.mark.parametrize("load", [FREE, None])
def test_own_work_is_not_that_of_other_programs(load: MachineLoad | None) -> None:
    assert Watched(load).machine.load() is None
