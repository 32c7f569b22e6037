"""`Timers` with given times, without a clock or a task."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.texts.text_cases import named_cases

from assistant.skills.answers import (
    AlarmState,
    CancelAlarms,
    CancelTimers,
    PauseTimers,
    ResumeTimers,
    SetAlarm,
    SetTimer,
    TimerEffect,
    TimerState,
)
from assistant.skills.timers.timers import MAX_ALARMS, MAX_TIMERS, Timers

NOON = datetime(2026, 11, 20, 12, 0)  # noqa: DTZ001 - the wall clock has no zone


def timer(seconds: float, name: str | None = None) -> SetTimer:
    return SetTimer(seconds, name, f"{name or seconds} done")


def test_timer_counts_down_and_is_announced_once() -> None:
    timers = Timers()
    timers.apply(timer(10, "eggs"), now_s=100.0)
    assert timers.running(103.0).timers == (TimerState(1, "eggs", 10, 7.0),)
    assert timers.due(109.9, NOON) == ()
    assert timers.due(110.0, NOON) == ("eggs done",)
    assert timers.due(200.0, NOON) == ()
    assert timers.running(200.0).timers == ()


def test_timers_are_sorted_by_due_time_then_by_order_of_setting() -> None:
    timers = Timers()
    timers.apply(timer(20, "late"), 0.0)
    timers.apply(timer(10, "early"), 0.0)
    timers.apply(SetAlarm(NOON, "noon"), 0.0)
    assert [state.name for state in timers.running(0.0).timers] == ["early", "late"]
    assert timers.due(30.0, NOON) == ("late done", "early done", "noon")


def test_overdue_timer_has_no_time_left() -> None:
    timers = Timers()
    timers.apply(timer(10), 0.0)
    assert timers.running(50.0).timers[0].left_s == 0.0


def test_paused_timer_does_not_count_down() -> None:
    timers = Timers()
    timers.apply(timer(10), 0.0)
    timers.apply(PauseTimers((1,)), 4.0)
    timers.apply(PauseTimers((1,)), 7.0)
    assert timers.running(1000.0).timers == (TimerState(1, None, 10, 6.0, paused=True),)
    assert timers.due(1000.0, NOON) == ()
    timers.apply(ResumeTimers((1,)), 1000.0)
    timers.apply(ResumeTimers((1,)), 1001.0)
    assert timers.due(1005.9, NOON) == ()
    assert timers.due(1006.0, NOON) == ("10 done",)


def test_number_of_a_cancelled_timer_is_not_reused() -> None:
    timers = Timers()
    timers.apply(timer(10), 0.0)
    timers.apply(timer(20), 0.0)
    timers.apply(CancelTimers((1, 99)), 0.0)
    timers.apply(timer(30), 0.0)
    assert [state.number for state in timers.running(0.0).timers] == [2, 3]


def test_alarm_follows_the_wall_clock_across_time_zones() -> None:
    timers = Timers()
    timers.apply(SetAlarm(NOON, "noon"), 0.0)
    assert timers.running(0.0).alarms == (AlarmState(1, NOON),)
    assert timers.due(10**6, NOON.replace(tzinfo=UTC) - timedelta(seconds=1)) == ()
    assert timers.due(0.0, NOON.replace(tzinfo=UTC)) == ("noon",)
    timers.apply(SetAlarm(NOON, "noon"), 0.0)
    timers.apply(CancelAlarms((2,)), 0.0)
    assert timers.due(0.0, NOON) == ()


@pytest.mark.parametrize(
    ("effect", "most", "kind"),
    [(timer(5), MAX_TIMERS, "timers"), (SetAlarm(NOON, "x"), MAX_ALARMS, "alarms")],
    ids=["timers", "alarms"],
)
def test_number_of_timers_and_alarms_is_limited(effect: TimerEffect, most: int, kind: str) -> None:
    timers = Timers()
    for _ in range(most + 5):
        timers.apply(effect, 0.0)
    assert len(getattr(timers.running(0.0), kind)) == most


@named_cases(
    "effect",
    {
        "set timer": timer(5),
        "cancel timer": CancelTimers((1,)),
        "pause timer": PauseTimers((1,)),
        "set alarm": SetAlarm(NOON, "x"),
        "cancel alarm": CancelAlarms((2,)),
    },
)
def test_last_effect_can_be_undone_once(effect: TimerEffect) -> None:
    timers = Timers()
    timers.apply(timer(60), 0.0)
    timers.apply(SetAlarm(NOON, "noon"), 0.0)
    before = timers.running(0.0)
    timers.apply(effect, 0.0)
    assert timers.running(0.0) != before
    timers.undo()
    assert timers.running(0.0) == before
    timers.undo()
    assert timers.running(0.0) == before


def test_undo_does_not_restore_what_has_rung() -> None:
    timers = Timers()
    timers.apply(timer(10, "eggs"), 0.0)
    timers.apply(timer(60, "tea"), 9.5)
    assert timers.due(10.0, NOON) == ("eggs done",)
    timers.undo()
    assert timers.due(1000.0, NOON) == ()


@given(st.lists(st.tuples(st.floats(1, 1000), st.sampled_from("set pause resume".split())), max_size=30))
def test_each_timer_rings_once_after_its_length(steps: list[tuple[float, str]]) -> None:
    timers, now_s, rung = Timers(), 0.0, 0
    timers.apply(timer(500), now_s)
    ran_s, runs = 0.0, True
    for wait_s, what in steps:
        now_s += wait_s
        ran_s += wait_s if runs else 0.0
        rung += len(timers.due(now_s, NOON))
        assert rung == (ran_s >= 500) or abs(ran_s - 500) < 1e-6
        if what != "set" and rung == 0:
            timers.apply(PauseTimers((1,)) if what == "pause" else ResumeTimers((1,)), now_s)
            runs = what == "resume"
