"""Timers and alarms of one conversation, driven by the times passed to the methods.

Timers use the event loop's clock, so that changes of the wall clock do not affect them. Alarms use the wall clock.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeVar, assert_never

from assistant.skills import (
    AlarmState,
    CancelAlarms,
    CancelTimers,
    PauseTimers,
    ResumeTimers,
    Running,
    SetAlarm,
    SetTimer,
    TimerEffect,
    TimerState,
)

MAX_TIMERS = 20
MAX_ALARMS = 20


@dataclass(frozen=True, slots=True)
class _Timer:
    """A timer: `due_s` is valid while it runs, `left_s` while it is paused."""

    number: int
    set_to: SetTimer
    due_s: float
    left_s: float | None = None

    def left(self, now_s: float) -> float:
        return max(self.due_s - now_s, 0.0) if self.left_s is None else self.left_s

    def paused(self, now_s: float) -> "_Timer":
        return replace(self, left_s=self.left(now_s))

    def resumed(self, now_s: float) -> "_Timer":
        return self if self.left_s is None else replace(self, due_s=now_s + self.left_s, left_s=None)


@dataclass(frozen=True, slots=True)
class _Alarm:
    number: int
    set_to: SetAlarm


_Set = TypeVar("_Set", _Timer, _Alarm)


@dataclass(slots=True)
class Timers:
    """The timers and alarms that are set. Not thread-safe."""

    _timers: tuple[_Timer, ...] = ()
    _alarms: tuple[_Alarm, ...] = ()
    _before: tuple[tuple[_Timer, ...], tuple[_Alarm, ...]] | None = None
    _last_number: int = 0

    @property
    def any_set(self) -> bool:
        """Whether any timer or alarm is set."""
        return bool(self._timers or self._alarms)

    def apply(self, effect: TimerEffect, now_s: float) -> None:
        """Applies `effect` at loop time `now_s`. Ignores timers beyond `MAX_TIMERS` and alarms beyond `MAX_ALARMS`.

        The skill refuses these earlier; only two concurrent answers can reach the limit here.
        """
        self._before = (self._timers, self._alarms)
        match effect:
            case SetTimer():
                if len(self._timers) < MAX_TIMERS:
                    self._timers += (_Timer(self._next_number(), effect, now_s + effect.seconds),)
            case CancelTimers():
                self._timers = tuple(timer for timer in self._timers if timer.number not in effect.numbers)
            case PauseTimers():
                self._timers = tuple(
                    timer.paused(now_s) if timer.number in effect.numbers else timer for timer in self._timers
                )
            case ResumeTimers():
                self._timers = tuple(
                    timer.resumed(now_s) if timer.number in effect.numbers else timer for timer in self._timers
                )
            case SetAlarm():
                if len(self._alarms) < MAX_ALARMS:
                    self._alarms += (_Alarm(self._next_number(), effect),)
            case CancelAlarms():
                self._alarms = tuple(alarm for alarm in self._alarms if alarm.number not in effect.numbers)
            case _:
                assert_never(effect)

    def undo(self) -> None:
        """Undoes the last `apply`, because its turn was retracted. Does not restore what has rung since. Idempotent."""
        if self._before is not None:
            self._timers, self._alarms = self._before
            self._before = None

    def running(self, now_s: float) -> Running:
        """Returns all timers and alarms, the next to ring first."""
        timers = sorted(
            (
                TimerState(
                    timer.number, timer.set_to.name, timer.set_to.seconds, timer.left(now_s), timer.left_s is not None
                )
                for timer in self._timers
            ),
            key=lambda state: state.left_s,
        )
        alarms = sorted(
            (AlarmState(alarm.number, alarm.set_to.at) for alarm in self._alarms), key=lambda state: state.at
        )
        return Running(tuple(timers), tuple(alarms))

    def due(self, now_s: float, now: datetime) -> tuple[str, ...]:
        """Returns the announcements that are due by now, in the order in which they were set. Each is returned once.

        Args:
            now_s: Loop time, for timers.
            now: Local time with its time zone, for alarms. Without a time zone, a repeated hour is not distinguished.
        """
        timers = [timer for timer in self._timers if timer.left_s is None and timer.due_s <= now_s]
        alarms = [alarm for alarm in self._alarms if _is_due(alarm.set_to.at, now)]
        if not timers and not alarms:
            return ()
        rung = {one.number: one.set_to.announcement for one in timers}
        rung |= {one.number: one.set_to.announcement for one in alarms}
        numbers = rung.keys()
        self._timers, self._alarms = _without(self._timers, numbers), _without(self._alarms, numbers)
        if self._before is not None:
            self._before = (_without(self._before[0], numbers), _without(self._before[1], numbers))
        return tuple(rung[number] for number in sorted(numbers))

    def _next_number(self) -> int:
        self._last_number += 1
        return self._last_number


def _is_due(at: datetime, now: datetime) -> bool:
    """Returns whether the wall clock has reached `at`, for the second time if `at.fold` is 1."""
    if at.fold and now.tzinfo is not None:
        return at.replace(tzinfo=now.tzinfo).timestamp() <= now.timestamp()
    return at <= now.replace(tzinfo=None)


def _without(all_set: tuple[_Set, ...], numbers: Collection[int]) -> tuple[_Set, ...]:
    return tuple(one for one in all_set if one.number not in numbers)
