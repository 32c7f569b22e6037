"""Tests of the list of timers on a screen and of its buttons."""

from datetime import UTC, datetime, timedelta

import pytest

from assistant.skills.answers import SetAlarm, SetTimer
from assistant.skills.ringing.shown_timers import TimerAction, shown_timers
from assistant.skills.ringing.timer_buttons import button_effect
from assistant.skills.timers.timers import Timers

NOW = datetime(2026, 11, 28, 12, 0, tzinfo=UTC)
SEVEN = datetime(2026, 11, 29, 7, 0)  # noqa: DTZ001


def timers() -> Timers:
    """A timer that rings, one that runs, and an alarm."""
    some = Timers()
    some.apply(SetTimer(10, "eggs", "eggs"), 0.0)
    some.apply(SetTimer(600, "pasta", "pasta"), 0.0)
    some.apply(SetAlarm(SEVEN, "alarm"), 0.0)
    some.due(10.0, NOW)
    return some


def shown(some: Timers, now_s: float = 10.0) -> list[tuple[str, str, float]]:
    return [(one.name or one.kind, one.state, one.left_s) for one in shown_timers(some.running(now_s), NOW)]


def press(some: Timers, action: TimerAction, number: int, now_s: float = 10.0) -> None:
    effect = button_effect(action, number, some.running(now_s), NOW, "en")
    some.end_rings([number], now_s, answered=True)
    if effect is not None:
        some.apply(effect, now_s)


def test_what_rings_comes_first_and_then_what_rings_next() -> None:
    assert shown(timers()) == [("eggs", "ringing", 0.0), ("pasta", "running", 590.0), ("alarm", "running", 19 * 3600)]


@pytest.mark.parametrize(
    ("action", "number", "then"),
    [
        ("stop", 1, []),
        ("snooze", 1, [("eggs", "running", 300.0)]),
        ("add_minute", 1, [("eggs", "running", 60.0)]),
        ("add_minute", 2, [("pasta", "running", 650.0)]),
        ("pause", 2, [("pasta", "paused", 590.0)]),
        ("cancel", 2, []),
        ("cancel", 3, []),
        ("pause", 9, []),
    ],
)
def test_button_changes_its_timer_only(action: TimerAction, number: int, then: list[tuple[str, str, float]]) -> None:
    some = timers()
    before = {name: (name, state, left_s) for name, state, left_s in shown(some)}
    press(some, action, number)
    name = {1: "eggs", 2: "pasta", 3: "alarm"}.get(number)
    assert [one for one in shown(some) if one[0] == name] == then
    assert {one for one in shown(some) if one[0] != name} == {one for key, one in before.items() if key != name}


def test_snoozed_alarm_says_its_new_time() -> None:
    some = Timers()
    some.apply(SetAlarm(datetime(2026, 11, 28, 12, 0), "It's twelve."), 0.0)  # noqa: DTZ001
    assert some.due(0.0, NOW) == ("It's twelve.",)
    press(some, "snooze", 1, 0.0)
    (alarm,) = some.entries
    assert isinstance(alarm.set_to, SetAlarm)
    assert alarm.set_to.local_time == (NOW + timedelta(minutes=5)).replace(tzinfo=None)
    assert alarm.set_to.announcement != "It's twelve."
