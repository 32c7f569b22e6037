"""Lists timers, alarms and reminders for a screen. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Literal, get_args

from assistant.skills.answers import AlarmState, Rung, Running, SetTimer

TimerAction = Literal["stop", "snooze", "cancel", "add_minute", "pause", "resume"]
"""Buttons of a timer. `stop` and `snooze` end a ring."""

TIMER_ACTIONS: tuple[TimerAction, ...] = get_args(TimerAction)


@dataclass(frozen=True, slots=True)
class ShownTimer:
    """A timer, alarm or reminder on a screen.

    Attributes:
        number: Its number, as in effects.
        kind: The kind. A planned command to a home is shown as a reminder.
        name: Name of a timer, what to remind of, or what is done; "" if there is none.
        state: Whether it runs, is paused, or rings now.
        left_s: Seconds until it rings; 0 while it rings.
        length_s: Length of a timer as set; 0 for an alarm or a reminder.
        local_time: Local time of an alarm or reminder; None for a timer.
        repeats: Whether it rings again on other days.
    """

    number: int
    kind: Literal["timer", "alarm", "reminder"]
    name: str
    state: Literal["running", "paused", "ringing"]
    left_s: float
    length_s: float = 0.0
    local_time: datetime | None = None
    repeats: bool = False


def shown_timers(running: Running, now: datetime) -> tuple[ShownTimer, ...]:
    """Returns everything that is set, what rings first and then by the time it will ring."""
    ringing = {rung.number for rung in running.ringing}
    return (
        *map(_ringing, running.ringing),
        *sorted((timer for timer in _set(running, now) if timer.number not in ringing), key=lambda timer: timer.left_s),
    )


def _ringing(rung: Rung) -> ShownTimer:
    if isinstance(rung.set_to, SetTimer):
        return ShownTimer(rung.number, "timer", rung.set_to.name or "", "ringing", 0.0, rung.set_to.seconds)
    about, repeats = rung.set_to.about, bool(rung.set_to.weekdays)
    kind: Literal["alarm", "reminder"] = "alarm" if about is None else "reminder"
    return ShownTimer(
        rung.number, kind, about or "", "ringing", 0.0, local_time=rung.set_to.local_time, repeats=repeats
    )


def _set(running: Running, now: datetime) -> Iterator[ShownTimer]:
    for timer in running.timers:
        state: Literal["running", "paused"] = "paused" if timer.paused else "running"
        yield ShownTimer(timer.number, "timer", timer.name or "", state, timer.left_s, timer.length_s)
    for alarm in (*running.alarms, *running.reminders, *running.planned):
        kind: Literal["alarm", "reminder"] = "alarm" if alarm.about is None else "reminder"
        left_s = max(0.0, _left_s(alarm, now))
        yield ShownTimer(
            alarm.number,
            kind,
            alarm.about or "",
            "running",
            left_s,
            local_time=alarm.local_time,
            repeats=bool(alarm.weekdays),
        )


def _left_s(alarm: AlarmState, now: datetime) -> float:
    return (alarm.local_time.replace(tzinfo=now.tzinfo).astimezone(UTC) - now.astimezone(UTC)) / timedelta(seconds=1)


def same_but_for_time(timer: ShownTimer, now_s: float) -> tuple[object, ...]:
    """Returns what of a shown timer changes only by an effect. `now_s`: the time that its `left_s` counts from."""
    due = round(now_s + timer.left_s) if timer.state == "running" and timer.local_time is None else timer.left_s
    return (replace(timer, left_s=0.0), due if timer.local_time is None else None)
