"""Timers, alarms and reminders that are set, driven by the times passed to the methods.

Timers, and commands to a home that are planned for after a while, use the event loop's clock, so that changes of the
wall clock do not affect them. Alarms and reminders use the wall clock.
"""

import math
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import assert_never

from assistant.skills.answers import (
    AddTime,
    AlarmState,
    CancelAlarms,
    CancelAll,
    CancelTimers,
    MoveAlarm,
    PauseTimers,
    RenameTimers,
    RestartTimers,
    ResumeTimers,
    Rung,
    Running,
    SetAlarm,
    SetTimer,
    SkillEffect,
    TimerEffect,
    TimerState,
    timer_effects,
)

MAX_TIMERS = 20
MAX_ALARMS = 20
MAX_REMINDERS = 20
MAX_PLANNED = 20

SNOOZABLE_S = 600.0
"""Time after the ring in which "snooze" refers to it."""

_LARGEST_SHIFT = timedelta(hours=3)  # more than any change of the clocks

_MAX_ENDED = 1000  # numbers remembered, so that an undo does not restore what has rung


_ONE_DAY = timedelta(days=1)


def next_occurrence(local_time: datetime, weekdays: tuple[int, ...], now: datetime) -> datetime:
    """Returns the first occurrence of `local_time` on one of the weekdays, after that time and after `now`.

    All times are local times without a time zone, so that an alarm for seven stays at seven when the clocks change.
    """
    day = max(local_time.date(), now.date())
    times = (datetime.combine(day + timedelta(days=days), local_time.time()) for days in range(9))
    return next(
        time for time in times if time.weekday() in weekdays and time > local_time.replace(fold=0) and time > now
    )


def latest_occurrence(local_time: datetime, weekdays: tuple[int, ...], now: datetime) -> datetime:
    """Returns the last occurrence up to `now`; `local_time` itself if none has followed it."""
    if not weekdays or now - local_time < _ONE_DAY:
        return local_time
    times = (datetime.combine(now.date() - timedelta(days=days), local_time.time()) for days in range(8))
    return max(local_time, next(time for time in times if time.weekday() in weekdays and time <= now))


@dataclass(frozen=True, slots=True)
class Timer:
    """A timer that is set: `due_s` is valid while it runs, `left_s` while it is paused.

    It was set in `room`; "" if that is not known.
    """

    number: int
    set_to: SetTimer
    due_s: float
    left_s: float | None = None
    room: str = ""

    def left(self, now_s: float) -> float:
        """Returns the remaining seconds, at least 0."""
        return max(self.due_s - now_s, 0.0) if self.left_s is None else self.left_s

    def paused(self, now_s: float) -> "Timer":
        """Returns the timer, paused."""
        return replace(self, left_s=self.left(now_s))

    def resumed(self, now_s: float) -> "Timer":
        """Returns the timer, running."""
        return self if self.left_s is None else replace(self, due_s=now_s + self.left_s, left_s=None)

    def longer(self, seconds: float, now_s: float) -> "Timer":
        """Returns the timer with more time left; at least one second is left."""
        left_s = max(self.left(now_s) + seconds, 1.0)
        return replace(self, due_s=now_s + left_s, left_s=None if self.left_s is None else left_s)

    def restarted(self, now_s: float) -> "Timer":
        """Returns the timer, running from its beginning."""
        return replace(self, due_s=now_s + self.set_to.seconds, left_s=None)

    def renamed(self, name: str, announcement: str) -> "Timer":
        """Returns the timer with another name."""
        return replace(self, set_to=replace(self.set_to, name=name, announcement=announcement))

    def overdue_s(self, now_s: float, _now: datetime) -> float:
        """Returns the seconds since the timer should have rung; negative if it is not due."""
        return now_s - self.due_s if self.left_s is None else -math.inf


@dataclass(frozen=True, slots=True)
class Alarm:
    """An alarm or a reminder that is set. It was set in `room`; "" if that is not known.

    `due_s`: loop time at which a command is made that was planned for after a while; None: it uses the wall clock.
    """

    number: int
    set_to: SetAlarm
    room: str = ""
    due_s: float | None = None

    def overdue_s(self, now_s: float, now: datetime) -> float:
        """Returns the seconds since the wall clock has reached the time, for the second time if `fold` is 1.

        A time that the clocks skip is due when they skip it.
        """
        if self.due_s is not None:
            return now_s - self.due_s
        local_time = self.set_to.local_time
        by_clock = now.replace(tzinfo=None) - local_time
        if now.tzinfo is None or by_clock < -_LARGEST_SHIFT:  # saves the search in the time zone's table
            return by_clock / timedelta(seconds=1)
        passed_s = now.timestamp() - local_time.replace(tzinfo=now.tzinfo).timestamp()
        return 0.0 if passed_s < 0 <= by_clock / timedelta(seconds=1) and not local_time.fold else passed_s

    def latest(self, now: datetime) -> "Alarm":
        """Returns the alarm with its last occurrence up to `now`, if it rings again; otherwise itself."""
        local_time = latest_occurrence(self.set_to.local_time, self.set_to.weekdays, now.replace(tzinfo=None))
        return (
            self
            if local_time == self.set_to.local_time
            else replace(self, set_to=replace(self.set_to, local_time=local_time))
        )

    def again(self, now: datetime) -> "Alarm | None":
        """Returns the alarm with its next occurrence after `now`; None if it rings once."""
        effect = self.set_to
        if not effect.weekdays:
            return None
        local_time = next_occurrence(effect.local_time, effect.weekdays, now.replace(tzinfo=None))
        return replace(self, set_to=replace(effect, local_time=local_time))


Entry = Timer | Alarm


@dataclass(frozen=True, slots=True)
class Change:
    """The changes of an effect, so that it can be undone.

    Attributes:
        added: Numbers of the entries that it has set.
        replaced: Entries as they were before.
        rung: What could be snoozed before; None if that is unchanged.
    """

    added: frozenset[int] = frozenset()
    replaced: tuple[Entry, ...] = ()
    rung: tuple[Rung, float] | None = None


@dataclass(slots=True)
class Timers:
    """The timers, alarms and reminders of one user. Not thread-safe.

    Attributes:
        room: The room in which the next one is set.
    """

    room: str = ""
    _entries: dict[int, Entry] = field(default_factory=dict)
    _last_changes: tuple[Change, ...] = ()
    _ended: deque[int] = field(default_factory=lambda: deque(maxlen=_MAX_ENDED))
    _rung: tuple[Rung, float] | None = None  # what rang last, and the loop time
    _last_number: int = 0
    _sounding: dict[int, Entry] = field(default_factory=dict)
    _unanswered: list[tuple[Entry, float]] = field(default_factory=list)  # and the loop time at which its ring ended
    _used_s: float = 0.0

    @property
    def homes(self) -> None:
        """The homes of commands that are due without a conversation: none, the conversation makes them itself."""
        return None

    @property
    def any_set(self) -> bool:
        """Whether any timer, alarm or reminder is set, rings or was not answered."""
        return bool(self._entries or self._sounding or self._unanswered)

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All that is set."""
        return tuple(self._entries.values())

    def restore(self, entries: Iterable[Entry]) -> None:
        """Continues with what was set in another process. Their numbers are not assigned again."""
        self._entries |= {entry.number: entry for entry in entries}
        self._last_number = max([self._last_number, *self._entries])

    def note_use(self, now_s: float) -> None:
        """Notes that the user has spoken at loop time `now_s`."""
        self._used_s = now_s

    # ---- effects ----

    def apply(self, effect: SkillEffect | None, now_s: float) -> None:
        """Applies the timer effects in `effect`, that of a turn, at loop time `now_s`; see `change`."""
        self._last_changes = tuple(self.change(effect, now_s) for effect in timer_effects(effect))

    def undo(self) -> None:
        """Undoes the last `apply`, because its turn was retracted. Does not restore what has rung since. Idempotent."""
        for change in reversed(self._last_changes):
            self.revert(change)
        self._last_changes = ()

    def change(self, effect: TimerEffect, now_s: float) -> Change:  # noqa: PLR0911 - one case for each effect
        """Applies `effect` at loop time `now_s`. Ignores what exceeds `MAX_TIMERS`, `MAX_ALARMS`, `MAX_REMINDERS`.

        The skill refuses these earlier; only two concurrent answers can reach the limit here.
        """
        match effect:
            case SetTimer():
                plain, due_s = replace(effect, snoozes=None), now_s + effect.seconds
                return self._set(Timer(self.next_number(), plain, due_s, room=self.room), effect)
            case SetAlarm():
                made_s = None if effect.after_s is None else now_s + effect.after_s
                plain_alarm = replace(effect, snoozes=None, after_s=None)
                return self._set(Alarm(self.next_number(), plain_alarm, self.room, made_s), effect)
            case CancelTimers() | CancelAlarms() | CancelAll():
                return Change(replaced=self.remove(effect.numbers))
            case PauseTimers():
                return self._replace(timer.paused(now_s) for timer in self._timers(effect.numbers))
            case ResumeTimers():
                return self._replace(timer.resumed(now_s) for timer in self._timers(effect.numbers))
            case AddTime():
                return self._replace(timer.longer(effect.seconds, now_s) for timer in self._timers(effect.numbers))
            case RestartTimers():
                return self._replace(timer.restarted(now_s) for timer in self._timers(effect.numbers))
            case RenameTimers(numbers, name, announcement):
                return self._replace(timer.renamed(name, announcement) for timer in self._timers(numbers))
            case MoveAlarm():
                alarm = self._entries.get(effect.number)
                return self._replace(
                    [replace(alarm, set_to=effect.set_to, due_s=None)] if isinstance(alarm, Alarm) else []
                )
            case _:
                assert_never(effect)

    def revert(self, change: Change) -> None:
        """Undoes a change. Does not restore what has rung since."""
        self.remove(change.added)
        self.set_entries(entry for entry in change.replaced if entry.number not in self._ended)
        if change.rung is not None:
            self._rung = change.rung

    def _set(self, entry: Entry, effect: SetTimer | SetAlarm) -> Change:
        most, alike = _limit(entry)
        if sum(alike(other) for other in self.entries) >= most:
            return Change()
        self.set_entries([entry])
        rung = self._rung
        if rung is None or rung[0].number != effect.snoozes:
            return Change(frozenset({entry.number}))
        self._rung = None
        return Change(frozenset({entry.number}), rung=rung)

    def _replace(self, entries: Iterable[Entry]) -> Change:
        new = [entry for entry in entries if entry != self._entries[entry.number]]
        before = tuple(self._entries[entry.number] for entry in new)
        self.set_entries(new)
        return Change(replaced=before)

    def _timers(self, numbers: Iterable[int]) -> list[Timer]:
        return [entry for entry in (self._entries.get(number) for number in numbers) if isinstance(entry, Timer)]

    # ---- entries ----

    def next_number(self) -> int:
        """Returns a number that was never used."""
        self._last_number += 1
        return self._last_number

    def set_entries(self, entries: Iterable[Entry]) -> None:
        """Adds or replaces entries."""
        self._entries.update((entry.number, entry) for entry in entries)

    def remove(self, numbers: Iterable[int]) -> tuple[Entry, ...]:
        """Removes entries and returns them. Ignores numbers that are not set."""
        removed = [self._entries.pop(number, None) for number in numbers]
        return tuple(entry for entry in removed if entry is not None)

    # ---- what is set, and what is due ----

    def running(self, now_s: float) -> Running:
        """Returns all that is set, the next to ring first, and what can be snoozed."""
        timers = [entry for entry in self.entries if isinstance(entry, Timer)]
        states = (
            TimerState(
                timer.number, timer.set_to.name, timer.set_to.seconds, timer.left(now_s), timer.left_s is not None
            )
            for timer in timers
        )
        alarms = [
            AlarmState(entry.number, entry.set_to.local_time, entry.set_to.about, entry.set_to.weekdays)
            for entry in self.entries
            if isinstance(entry, Alarm) and entry.set_to.planned is None
        ]
        planned = [
            AlarmState(
                entry.number,
                entry.set_to.local_time,
                entry.set_to.about,
                entry.set_to.weekdays,
                entry.set_to.planned.targets,
                entry.set_to.planned.services,
            )
            for entry in self.entries
            if isinstance(entry, Alarm) and entry.set_to.planned is not None
        ]
        alarms.sort(key=lambda state: (state.local_time, state.number))
        snoozable = self._rung is not None and now_s - self._rung[1] < SNOOZABLE_S
        return Running(
            tuple(sorted(states, key=lambda state: (state.left_s, state.number))),
            tuple(state for state in alarms if state.about is None),
            tuple(state for state in alarms if state.about is not None),
            self._rung[0] if snoozable and self._rung is not None else None,
            self.sounding(),
            tuple(sorted(planned, key=lambda state: (state.local_time, state.number))),
        )

    def sounding(self) -> tuple[Rung, ...]:
        """Returns what rings now, in the order in which it began."""
        return tuple(Rung(entry.number, entry.set_to) for entry in self._sounding.values())

    def end_rings(self, numbers: Iterable[int], now_s: float, *, answered: bool) -> None:
        """Ends what rings. What nobody has answered is told when the user speaks again."""
        for entry in (self._sounding.pop(number, None) for number in numbers):
            if entry is not None and not answered:
                self._unanswered.append((entry, now_s))

    def rings_within(self, seconds: float, now_s: float, now: datetime) -> bool:
        """Returns whether anything is due within this time."""
        return any(not is_planned(entry) and entry.overdue_s(now_s, now) >= -seconds for entry in self.entries)

    def due(self, now_s: float, now: datetime) -> tuple[str, ...]:
        """Returns the announcements that are due by now, in the order in which they were set. Each is returned once.

        What is due rings until `end_rings`. Later announcements are those of rings that nobody has answered.

        Args:
            now_s: Loop time, for timers.
            now: Local time with its time zone, for alarms. Without a time zone, a repeated hour is not distinguished.
        """
        taken = self.take_due(now_s, now)
        for entry in taken:
            self.note_rung(entry, now_s)
            self.set_next(entry, now)
            self._sounding[entry.number] = entry
        told = [entry for entry, ended_s in self._unanswered if self._used_s > ended_s]
        self._unanswered = [pair for pair in self._unanswered if pair[0] not in told]
        return tuple(entry.set_to.announcement for entry in (*told, *taken))

    def take_due(self, now_s: float, now: datetime) -> tuple[Entry, ...]:
        """Removes and returns what is due by now, in the order in which it was set. See `due`."""
        return self._end(entry for entry in self.entries if not is_planned(entry) and entry.overdue_s(now_s, now) >= 0)

    def take_planned(
        self, now_s: float, now: datetime, is_ready: Callable[[Alarm], bool] = lambda _alarm: True
    ) -> tuple[Alarm, ...]:
        """Removes and returns the planned commands that are due by now and ready, in order."""
        planned = [entry for entry in self.entries if isinstance(entry, Alarm) and is_planned(entry)]
        due = [entry for entry in planned if entry.overdue_s(now_s, now) >= 0]
        taken = self._end(alarm for alarm in due if is_ready(alarm))
        return tuple(entry for entry in taken if isinstance(entry, Alarm))

    def take_commands(self, now_s: float, now: datetime) -> tuple[Alarm, ...]:
        """Removes and returns the planned commands that are due by now, and sets those that are done again."""
        taken = self.take_planned(now_s, now)
        for alarm in taken:
            self.set_next(alarm, now)
        return taken

    def _end(self, entries: Iterable[Entry]) -> tuple[Entry, ...]:
        numbers = sorted(entry.number for entry in entries)
        self._ended.extend(numbers)
        return self.remove(numbers)

    def set_next(self, entry: Entry, now: datetime) -> Entry | None:
        """Sets the next occurrence of what has rung, and returns it; None if it rings once."""
        again = entry.again(now) if isinstance(entry, Alarm) else None
        if again is not None:
            self.set_entries([again])
            with suppress(ValueError):
                self._ended.remove(again.number)
        return again

    def note_rung(self, entry: Entry, now_s: float) -> None:
        """Remembers what rings, so that it can be snoozed."""
        self._rung = (Rung(entry.number, entry.set_to), now_s)


def is_planned(entry: Entry) -> bool:
    """Returns whether an entry is a command to a home, which does not ring."""
    return isinstance(entry, Alarm) and entry.set_to.planned is not None


def _limit(entry: Entry) -> tuple[int, Callable[[Entry], bool]]:
    """Returns how many entries of its kind there may be, and whether another one is of that kind."""
    if isinstance(entry, Timer):
        return MAX_TIMERS, lambda other: isinstance(other, Timer)
    if is_planned(entry):
        return MAX_PLANNED, is_planned
    is_alarm = entry.set_to.about is None
    most = MAX_ALARMS if is_alarm else MAX_REMINDERS
    return (
        most,
        lambda other: isinstance(other, Alarm) and not is_planned(other) and (other.set_to.about is None) == is_alarm,
    )
