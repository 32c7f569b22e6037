"""The watchdog finds the code that holds the event loop."""

import asyncio
import logging
import sys
import threading
import time

import pytest

from audio.machine_load import LoadReader, MachineLoad
from web.process import stall_watchdog
from web.process.stall_watchdog import BEAT_S, CHECK_S, LOG_EVERY_S, STALL_S, Cause, StallWatchdog

DEADLINE_S = 60.0


class Clock:
    """A clock that the test sets."""

    now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


class IdleMachine:
    """A machine without other programs."""

    def read(self) -> MachineLoad:
        return MachineLoad(2, 1.0, 0.0, 1)


def code_that_holds_the_loop(until: threading.Event) -> None:
    until.wait(DEADLINE_S)


def test_log_names_the_code_that_holds_the_loop(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> list[Cause]:
        stalls: list[Cause] = []
        found = threading.Event()

        def count(cause: Cause) -> None:
            stalls.append(cause)
            if cause == "callback":
                found.set()

        watching = asyncio.create_task(StallWatchdog(count, reader=IdleMachine()).run())
        await asyncio.sleep(0)
        code_that_holds_the_loop(found)
        async with asyncio.timeout(DEADLINE_S):
            while not caplog.records:  # noqa: ASYNC110 - written by another thread
                await asyncio.sleep(0.01)
        watching.cancel()
        return stalls

    with caplog.at_level(logging.WARNING):
        stalls = asyncio.run(main())
    assert "callback" in stalls
    assert "code_that_holds_the_loop" in caplog.records[0].getMessage()
    assert "the event loop has not run for" in caplog.records[0].getMessage()


def watchdog(stalls: list[Cause], clock: Clock, reader: LoadReader | None = None) -> StallWatchdog:
    """Returns a watchdog of this thread, without its own thread."""
    one = StallWatchdog(stalls.append, clock=clock, reader=reader or IdleMachine())
    one._loop_thread = threading.get_ident()
    return one


def look_for(one: StallWatchdog, clock: Clock, seconds: float) -> None:
    for _ in range(round(seconds / CHECK_S)):
        clock.now_s += CHECK_S
        one.look()


def test_each_stall_is_counted_once_and_log_lines_are_limited(caplog: pytest.LogCaptureFixture) -> None:
    stalls: list[Cause] = []
    clock = Clock()
    one = watchdog(stalls, clock)
    with caplog.at_level(logging.WARNING):
        for stall in range(1, 4):
            look_for(one, clock, 2.0)
            assert stalls == ["callback"] * stall
            one._beat_s = clock.now_s
        assert len(caplog.records) == 1
        look_for(one, clock, BEAT_S + STALL_S - CHECK_S)
        assert len(stalls) == 3, "not late enough"
        one._beat_s = clock.now_s
        clock.now_s += LOG_EVERY_S
        one._beat_s = one._looked_s = clock.now_s
        look_for(one, clock, 2.0)
    assert len(caplog.records) == 2
    assert "2 other stalls were not logged" in caplog.records[1].getMessage()


class BusyMachine:
    """A machine that other programs keep busy."""

    def read(self) -> MachineLoad:
        return MachineLoad(2, 0.2, 1.8, 16)


def test_log_names_busy_machine_as_cause(caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    one = watchdog([], clock, BusyMachine())
    with caplog.at_level(logging.WARNING):
        look_for(one, clock, 1.0)
    text = caplog.records[0].getMessage()
    assert "this machine is busy, other programs use 1.8 of 2 processors, while it runs this code" in text


def test_paused_process_is_counted_and_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    stalls: list[Cause] = []
    clock = Clock()
    one = watchdog(stalls, clock)
    clock.now_s += 5.0
    one.look()
    one._beat_s = clock.now_s
    look_for(one, clock, STALL_S)
    assert stalls == ["process"]
    assert caplog.records == []


def test_stall_in_which_the_watchdog_did_not_run_at_first_is_counted_once(caplog: pytest.LogCaptureFixture) -> None:
    """A library holds the interpreter several times within one callback."""
    stalls: list[Cause] = []
    clock = Clock()
    one = watchdog(stalls, clock)
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            clock.now_s += 1.0
            one.look()
        look_for(one, clock, 1.0)
        one._beat_s = clock.now_s
        look_for(one, clock, STALL_S)
    assert stalls == ["callback"]
    assert len(caplog.records) == 1


def test_loop_without_a_processor_is_not_the_culprit(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(stall_watchdog, "_waits_for_events", lambda _frame: True)
    stalls: list[Cause] = []
    clock = Clock()
    look_for(watchdog(stalls, clock), clock, 2.0)
    assert stalls == ["process"]
    assert caplog.records == []


def test_idle_loop_is_recognized_by_its_stack() -> None:
    async def idle(names: list[bool]) -> None:
        loop_thread = threading.get_ident()

        def look() -> None:
            until_s = time.monotonic() + DEADLINE_S
            while time.monotonic() < until_s:
                if stall_watchdog._waits_for_events(sys._current_frames()[loop_thread]):
                    names.append(True)
                    return
                time.sleep(0.001)

        await asyncio.to_thread(look)

    found: list[bool] = []
    asyncio.run(idle(found))
    assert found == [True]
