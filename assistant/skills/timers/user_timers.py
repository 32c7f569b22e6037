"""Timers of this machine's user, shared by all conversations of the program and kept by a store.

Decides which conversation announces what is due, and collects what the store must write. No I/O; the times are passed.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from weakref import WeakKeyDictionary

from assistant.home.directory import HomeDirectory
from assistant.skills.answers import Rung, Running, SetAlarm, SetTimer, SkillEffect, TimerEffect, timer_effects
from assistant.skills.timers.durations import later
from assistant.skills.timers.stored_timers import Pending, StoredTimer, Write, entry_of, row_of
from assistant.skills.timers.timers import Alarm, Change, Entry, Timer, Timers, is_planned

LATE_S = 60.0
"""Longest delay of a ring, in seconds. A timer that is overdue by more is reported as missed."""

CLAIM_TIMEOUT_S = 2.0
"""Longest wait for the store's permission to ring. After it, the timer rings without permission, perhaps twice."""

HEARD_AFTER_S = 4.0
"""Time after which an announcement counts as heard, and its entry is deleted from the store."""

RENEWED_EVERY_S = 5.0
"""Interval at which the claim of what rings is renewed. A third of the time after which a claim expires."""

AWAY_S = 5.0
"""Time without a frame of a conversation after which its ring moves to another one."""

UNHEARD_S = 5.0
"""An entry whose announcement no conversation has taken for this long is set again, for the next conversation."""

PRESENT_S = 1.0
"""A conversation without a frame for this long is not open: its client is away."""

CLOCK_STEP_S = 2.0
"""A difference between wall clock and loop time that changes by more than this is a step of the wall clock."""

LATEST_CALL_S = 120.0
"""Longest delay of a planned command, in seconds, and wait for the store. Later it is not done, but reported."""

MAX_FAILURES = 4
"""Sentences about planned commands that wait to be told."""

MAX_PENDING = 1000
"""Limit on the entries that wait to be written while the disk fails."""


@dataclass(frozen=True, slots=True)
class Missed:
    """A timer that rang and that nobody has answered.

    Attributes:
        set_to: The effect that had set it.
        local_time: Local time of the ring, without a time zone.
        was_open: A conversation was open and rang. Otherwise there was none.
    """

    set_to: SetTimer | SetAlarm
    local_time: datetime
    was_open: bool = False


@dataclass(slots=True)
class _Ringing:
    """An entry that is due. It is announced as soon as the store has permitted it."""

    entry: Entry
    missed_at: datetime | None  # when it was due, if that is long ago
    since_s: float
    permitted: bool


@dataclass(slots=True)
class _Sounding:
    """An entry that rings in a conversation until somebody answers, or `ended_s`, after which it is told as missed."""

    entry: Entry
    conversation: "UserTimers"
    began_at: datetime
    renewed_s: float
    ended_s: float | None = None


@dataclass(slots=True)
class SharedTimers:
    """The timers of one user in one process. Not thread-safe.

    Attributes:
        local_now: Returns the local time with its time zone.
        missed_text: Returns the sentence about what was missed.
        new_key: Returns a unique identifier for a new entry.
        stored: Whether a store writes the entries; False: they are in memory only.
        wake: Called when there is something to write.
        timers: What is set.
        pending: What must be written, by key.
        claims: Entries that are due and need the store's permission to ring, with their content.
        released: Keys of entries that were claimed and not announced.
        renewed: Keys of entries that still ring.
        homes: The homes that planned commands can be made in now.
        failures: Sentences to tell: planned commands that were not done.
    """

    local_now: Callable[[], datetime]
    missed_text: Callable[[Sequence[Missed], datetime], str]
    new_key: Callable[[], str]
    stored: bool = True
    wake: Callable[[], None] = lambda: None
    timers: Timers = field(default_factory=Timers)
    pending: dict[str, Write] = field(default_factory=dict)
    claims: list[StoredTimer] = field(default_factory=list)
    released: list[str] = field(default_factory=list)
    renewed: list[str] = field(default_factory=list)
    homes: HomeDirectory = field(default_factory=HomeDirectory)
    failures: list[str] = field(default_factory=list)
    _claimed_calls: dict[int, tuple[Alarm, float]] = field(default_factory=dict)  # and the loop time of the claim
    _due_calls: list[Alarm] = field(default_factory=list)
    _rows: dict[int, tuple[Entry, StoredTimer]] = field(default_factory=dict)
    _ringing: dict[int, _Ringing] = field(default_factory=dict)
    _sounding: dict[int, _Sounding] = field(default_factory=dict)
    _announced: dict[int, tuple[float, Entry]] = field(default_factory=dict)  # loop time of the announcement
    _seen_s: "WeakKeyDictionary[UserTimers, float]" = field(default_factory=WeakKeyDictionary)
    _clock_offset_s: float | None = None

    def join(self) -> "UserTimers":
        """Returns the timers as one conversation uses them."""
        return UserTimers(self)

    # ---- changes by conversations ----

    def change(self, effect: TimerEffect, now_s: float, room: str = "") -> Change:
        """Applies an effect of a conversation in this room; see `Timers.change`."""
        self.timers.room = room
        change = self.timers.change(effect, now_s)
        self._note_changes(now_s)
        return change

    def revert(self, change: Change, now_s: float) -> None:
        """Undoes an effect; see `Timers.revert`."""
        self.timers.revert(change)
        self._note_changes(now_s)

    def _note_changes(self, now_s: float) -> None:
        """Queues what differs from the stored entries."""
        if not self.stored:
            return
        current = {entry.number: entry for entry in self.timers.entries}
        kept = current.keys() | self._busy()
        for number in [number for number in self._rows if number not in kept]:
            self._delete(number)
        now = self.local_now()
        for number, entry in current.items():
            before = self._rows.get(number)
            if before is None or before[0] is not entry:
                key = self.new_key() if before is None else before[1].key
                self._set_entry(entry, row_of(key, entry, now_s, now), is_new=before is None)
        self.wake()

    def _set_entry(self, entry: Entry, row: StoredTimer, *, is_new: bool) -> None:
        self._rows[entry.number] = (entry, row)
        waiting = self.pending.get(row.key)
        self._queue(Write(row.key, row, is_new or (waiting is not None and waiting.is_new)))

    def _delete(self, number: int) -> None:
        _, row = self._rows.pop(number)
        self._queue(Write(row.key, None))

    def _queue(self, write: Write) -> None:
        if write.key in self.pending or len(self.pending) < MAX_PENDING:
            self.pending[write.key] = write

    # ---- ringing ----

    @property
    def is_ringing(self) -> bool:
        """Whether anything waits to be announced."""
        return bool(self._ringing)

    @property
    def any_set(self) -> bool:
        """Whether anything is set, rings or waits to be announced."""
        return self.timers.any_set or self.is_ringing or bool(self._sounding or self.failures)

    def sounding(self, conversation: "UserTimers | None" = None) -> tuple[Rung, ...]:
        """Returns what rings now, in this conversation or in any, in the order in which it began."""
        return tuple(
            Rung(number, ring.entry.set_to, _other_room(ring.entry, ring.conversation))
            for number, ring in self._sounding.items()
            if ring.ended_s is None and (conversation is None or ring.conversation is conversation)
        )

    def end_rings(self, numbers: Iterable[int], now_s: float, *, answered: bool) -> None:
        """Ends what rings. What nobody has answered is told as missed when the user is there again."""
        for number in numbers:
            ring = self._sounding.get(number)
            if ring is None:
                continue
            if answered:
                del self._sounding[number]
                self._announced[number] = now_s, ring.entry
                self._forget(number)
                self.wake()
            else:
                ring.ended_s = now_s

    def due(self, conversation: "UserTimers", now_s: float, now: datetime) -> tuple[str, ...]:
        """Returns the announcements for this conversation, each once.

        It is announced in the room where it was set, if a conversation is open there. Of several conversations the one
        in which the user spoke last announces.
        """
        self._seen_s[conversation] = now_s
        self._begin_ringing(now_s, now)
        self._move_rings(now_s)
        unanswered = self._take_unanswered(conversation, now_s)
        if unanswered:
            return (self.missed_text(unanswered, now),)
        if self.failures and self._is_preferred(conversation, "", now_s):
            failures, self.failures = tuple(self.failures), []
            return failures
        ready = [
            ringing
            for _, ringing in sorted(self._ringing.items())
            if (ringing.permitted or now_s - ringing.since_s > CLAIM_TIMEOUT_S)
            and self._is_preferred(conversation, ringing.entry.room, now_s)
        ]
        for ringing in ready:
            self.timers.note_rung(ringing.entry, now_s)
            del self._ringing[ringing.entry.number]
            if ringing.missed_at is None:
                self._sounding[ringing.entry.number] = _Sounding(
                    ringing.entry, conversation, now.replace(tzinfo=None), now_s
                )
            else:
                self._announced[ringing.entry.number] = now_s, ringing.entry
        missed = [Missed(ringing.entry.set_to, ringing.missed_at) for ringing in ready if ringing.missed_at is not None]
        texts = [
            Rung(ringing.entry.number, ringing.entry.set_to, _other_room(ringing.entry, conversation)).sentence
            for ringing in ready
            if ringing.missed_at is None
        ]
        return (*([self.missed_text(missed, now)] if missed else []), *texts)

    def _take_unanswered(self, conversation: "UserTimers", now_s: float) -> list[Missed]:
        """Removes and returns what rang unanswered before the user spoke here, or before this conversation began."""
        there_s = max(conversation.used_s, conversation.joined_s)
        taken = [ring for ring in self._sounding.values() if ring.ended_s is not None and ring.ended_s < there_s]
        for ring in taken:
            del self._sounding[ring.entry.number]
            self._announced[ring.entry.number] = now_s, ring.entry
        return [Missed(ring.entry.set_to, ring.began_at, was_open=True) for ring in taken]

    def _move_rings(self, now_s: float) -> None:
        """Lets what rings in a conversation whose client is away ring in another one."""
        for number, ring in list(self._sounding.items()):
            if ring.ended_s is None and now_s - self._seen_s.get(ring.conversation, -math.inf) > AWAY_S:
                del self._sounding[number]
                self._ringing[number] = _Ringing(ring.entry, None, now_s, permitted=True)

    def _begin_ringing(self, now_s: float, now: datetime) -> None:
        for entry in self.timers.take_due(now_s, now):
            latest = entry.latest(now) if isinstance(entry, Alarm) else entry
            overdue_s = latest.overdue_s(now_s, now)
            local_time = now.replace(tzinfo=None) - timedelta(seconds=overdue_s) if overdue_s > LATE_S else None
            row = self._rows.get(entry.number)
            self._ringing[entry.number] = _Ringing(entry, local_time, now_s, permitted=not self.stored or row is None)
            if self.stored and row is not None:
                self.claims.append(row[1])
                self.wake()

    def _busy(self) -> set[int]:
        """Returns the numbers of the entries that are due and not done with."""
        return {*self._ringing, *self._announced, *self._sounding, *self._claimed_calls}

    # ---- planned commands ----

    def next_calls_s(self, now_s: float) -> float:
        """Returns the seconds until the next planned command is due; infinity without one."""
        now = self.local_now()
        overdue_s = (entry.overdue_s(now_s, now) for entry in self.timers.entries if is_planned(entry))
        return min((-seconds for seconds in overdue_s if seconds < 0), default=math.inf)

    def begin_calls(self, now_s: float) -> None:
        """Takes the planned commands that are due. Each is made by one process, which the store decides.

        A command whose home is not reached waits for it: another process, or a client that connects, may have it.
        One that the store does not decide about is not made, because another process may make it: it is reported.
        """
        for number, (_alarm, claimed_s) in tuple(self._claimed_calls.items()):
            if now_s - claimed_s > LATEST_CALL_S:
                self._permit_calls(number)
        now = self.local_now()
        for alarm in self.timers.take_planned(now_s, now, lambda alarm: self._can_begin(alarm, now_s, now)):
            self._claimed_calls[alarm.number] = alarm, now_s
            row = self._rows.get(alarm.number)
            if self.stored and row is not None:
                self.claims.append(row[1])
                self.wake()
            else:
                self._permit_calls(alarm.number)

    def _can_begin(self, alarm: Alarm, now_s: float, now: datetime) -> bool:
        planned = alarm.set_to.planned
        is_late = alarm.overdue_s(now_s, now) > LATEST_CALL_S
        return is_late or (planned is not None and self.homes.find(planned) is not None)

    def _permit_calls(self, number: int) -> None:
        """Lets a planned command be made. It leaves the store before, so that it is never made twice."""
        alarm, _claimed_s = self._claimed_calls.pop(number)
        self._due_calls.append(alarm)
        self._announced[number] = 0.0, alarm
        self._forget(number)
        self.wake()

    @property
    def due_calls(self) -> tuple[Alarm, ...]:
        """The planned commands that are to be made as soon as the store has them no more."""
        return tuple(self._due_calls)

    def take_due_calls(self, due: tuple[Alarm, ...]) -> tuple[Alarm, ...]:
        """Removes and returns these planned commands, which are made now."""
        self._due_calls = [alarm for alarm in self._due_calls if alarm not in due]
        return due

    def report_failure(self, text: str) -> None:
        """Has a conversation of the user tell that a planned command was not done."""
        if len(self.failures) < MAX_FAILURES:
            self.failures.append(text)

    def _is_preferred(self, conversation: "UserTimers", room: str, now_s: float) -> bool:
        """Returns whether what was set in this room is announced in this conversation."""
        present = [timers for timers, seen_s in self._seen_s.items() if now_s - seen_s <= PRESENT_S]
        there = [timers for timers in present if room and timers.is_in(room)] or present
        return conversation in there and all(timers.used_s <= conversation.used_s for timers in there)

    # ---- the store ----

    def on_claimed(self, key: str, *, permitted: bool) -> None:
        """Receives the store's answer to a claim. Without permission the entry was changed, or rings elsewhere."""
        number = self._number_of(key)
        if number is not None and number in self._claimed_calls:
            if permitted:
                self._permit_calls(number)
            else:
                del self._claimed_calls[number]
                del self._rows[number]
            return
        if number is None or number not in self._ringing:
            return
        if permitted:
            self._ringing[number].permitted = True
        else:
            del self._ringing[number]
            del self._rows[number]

    def adopt(self, rows: Iterable[StoredTimer], now_s: float) -> None:
        """Takes over what is stored: what other processes have set, changed and deleted, except own pending changes."""
        by_key = {row.key: row for row in rows}
        now = self.local_now()
        known = {row.key: number for number, (_, row) in self._rows.items()}
        busy = self._busy()
        for key, number in known.items():
            if key not in by_key and key not in self.pending and number not in busy:
                self.timers.remove([number])
                del self._rows[number]
        for key, row in by_key.items():
            current = known.get(key)
            if key in self.pending or current in busy:
                continue
            if current is None or self._rows[current][1] != row:
                entry = entry_of(self.timers.next_number() if current is None else current, row, now_s, now)
                self.timers.set_entries([entry])
                self._rows[entry.number] = (entry, row)

    def tick(self, now_s: float) -> None:
        """Does what is due without a conversation. Call it once a second.

        Deletes what was heard or sets its next occurrence, sets again what no conversation has announced, and stores
        running timers anew after a step of the wall clock, which changes the wall clock time at which they end.
        """
        for number, (at_s, _entry) in list(self._announced.items()):
            if now_s - at_s > HEARD_AFTER_S:
                self._forget(number)
        self._move_rings(now_s)
        self.begin_calls(now_s)
        for ringing in list(self._ringing.values()):
            if now_s - ringing.since_s > UNHEARD_S:
                self._set_again(ringing.entry)
        for number, ring in self._sounding.items():
            if now_s - ring.renewed_s >= RENEWED_EVERY_S and number in self._rows:
                ring.renewed_s = now_s
                self.renewed.append(self._rows[number][1].key)
        offset_s = self.local_now().timestamp() - now_s
        before_s = self._clock_offset_s
        if before_s is None or abs(offset_s - before_s) > CLOCK_STEP_S:
            self._clock_offset_s = offset_s
            if before_s is not None:
                self._note_step(now_s)

    def _note_step(self, now_s: float) -> None:
        """Stores anew when the running timers end, and tells the new time of commands that are made after a while."""
        now = self.local_now()
        for entry in self.timers.entries:
            if entry.due_s is None or (isinstance(entry, Timer) and entry.left_s is not None):
                continue
            moved = entry
            if isinstance(entry, Alarm):
                local_time = later(now, timedelta(seconds=entry.due_s - now_s))
                moved = replace(entry, set_to=replace(entry.set_to, local_time=local_time))
                self.timers.set_entries([moved])
            if self.stored and entry.number in self._rows:
                key = self._rows[entry.number][1].key
                self._set_entry(moved, row_of(key, moved, now_s, now), is_new=False)

    def _set_again(self, entry: Entry) -> None:
        self._ringing.pop(entry.number, None)
        self._sounding.pop(entry.number, None)
        self._claimed_calls.pop(entry.number, None)
        self.timers.set_entries([entry])
        if entry.number in self._rows:
            self.released.append(self._rows[entry.number][1].key)

    def _store_again(self, alarm: Alarm) -> None:
        """Stores a planned command again that was not made. It may have been deleted, or set for its next time."""
        self.timers.set_entries([alarm])
        is_new = alarm.number not in self._rows
        key = self.new_key() if is_new else self._rows[alarm.number][1].key
        now = self.local_now()
        now_s = now.timestamp() - (self._clock_offset_s or 0.0)
        self._set_entry(alarm, row_of(key, alarm, now_s, now), is_new=is_new)

    @property
    def has_pending(self) -> bool:
        """Whether the store must do anything."""
        return bool(self.pending or self.claims or self.released or self.renewed)

    def take_pending(self) -> Pending:
        """Removes and returns what the store must do."""
        taken = Pending(tuple(self.pending.values()), tuple(self.claims), tuple(self.released), tuple(self.renewed))
        for queue in (self.pending, self.claims, self.released, self.renewed):
            queue.clear()
        return taken

    def put_back(self, pending: Pending) -> None:
        """Queues again what could not be done."""
        for write in pending.writes:
            later = self.pending.setdefault(write.key, write)
            if write.is_new and later.row is not None:
                self.pending[write.key] = replace(later, is_new=True)
        self.claims[:0] = pending.claims
        self.released[:0] = pending.released

    def store_all(self) -> None:
        """Queues every entry as a new one, because the store has lost them."""
        for _, row in self._rows.values():
            self.pending[row.key] = Write(row.key, row, is_new=True)

    def store_failed(self) -> None:
        """Keeps everything in memory from now on."""
        self.stored = False
        self.take_pending()
        for ringing in self._ringing.values():
            ringing.permitted = True
        for number in tuple(self._claimed_calls):
            self._permit_calls(number)

    def end(self) -> None:
        """The program ends: deletes what was announced. The rest stays in the store for the next start."""
        for number in list(self._announced):
            self._forget(number)
        ringing = [ring.entry for ring in self._ringing.values()] + [ring.entry for ring in self._sounding.values()]
        for entry in (*ringing, *(alarm for alarm, _claimed_s in self._claimed_calls.values())):
            self._set_again(entry)
        for alarm in self.take_due_calls(self.due_calls):
            self._store_again(alarm)

    def _forget(self, number: int) -> None:
        """Deletes what was heard. What rings again is set for its next time."""
        _, entry = self._announced.pop(number)
        now = self.local_now()
        again = self.timers.set_next(entry, now)
        if number not in self._rows or not self.stored:
            return
        if again is None:
            self._delete(number)
        else:
            key = self._rows[number][1].key
            self._set_entry(again, row_of(key, again, 0.0, now), is_new=False)

    def _number_of(self, key: str) -> int | None:
        return next((number for number, (_, row) in self._rows.items() if row.key == key), None)


@dataclass(slots=True, eq=False, weakref_slot=True)
class UserTimers:
    """The user's timers as one conversation uses them: with the methods of `Timers`.

    Attributes:
        shared: The timers of all conversations.
        used_s: Loop time at which the user last spoke in this conversation.
        joined_s: Loop time of its first frame.
        room: Name of its room; "" for none.
    """

    shared: SharedTimers
    used_s: float = 0.0
    joined_s: float = 0.0
    room: str = ""
    _last_changes: tuple[Change, ...] = ()
    _changed_s: float = 0.0

    def is_in(self, room: str) -> bool:
        """Returns whether the conversation is held in this room."""
        return self.room.casefold() == room.casefold()

    @property
    def any_set(self) -> bool:
        """Whether anything is set or waits to be announced."""
        return self.shared.any_set

    def note_use(self, now_s: float) -> None:
        """Notes that the user has spoken here at loop time `now_s`."""
        self.used_s = now_s

    def apply(self, effect: SkillEffect | None, now_s: float) -> None:
        """Applies the timer effects in `effect`, that of a turn, at loop time `now_s`."""
        self._last_changes = tuple(self.shared.change(effect, now_s, self.room) for effect in timer_effects(effect))
        self._changed_s = now_s

    def change(self, effect: TimerEffect, now_s: float) -> Change:
        """Applies an effect that belongs to no turn; see `Timers.change`."""
        return self.shared.change(effect, now_s, self.room)

    def undo(self) -> None:
        """Undoes the last `apply` of this conversation. Does not restore what has rung since. Idempotent."""
        for change in reversed(self._last_changes):
            self.shared.revert(change, self._changed_s)
        self._last_changes = ()

    def running(self, now_s: float) -> Running:
        """Returns what is set, and what can be snoozed."""
        return replace(self.shared.timers.running(now_s), ringing=self.shared.sounding())

    def sounding(self) -> tuple[Rung, ...]:
        """Returns what rings now in this conversation."""
        return self.shared.sounding(self)

    def end_rings(self, numbers: Iterable[int], now_s: float, *, answered: bool) -> None:
        """Ends what rings, in whichever conversation; see `SharedTimers.end_rings`."""
        self.shared.end_rings(numbers, now_s, answered=answered)

    def rings_within(self, seconds: float, now_s: float, now: datetime) -> bool:
        """Returns whether anything is due within this time, or waits to be announced."""
        return self.shared.is_ringing or self.shared.timers.rings_within(seconds, now_s, now)

    @property
    def homes(self) -> HomeDirectory:
        """The homes of commands that are due, whether or not a conversation is open."""
        return self.shared.homes

    def take_commands(self, _now_s: float, _now: datetime) -> tuple[Alarm, ...]:
        """Returns nothing: the program makes planned commands, whether or not a conversation is open."""
        return ()

    def due(self, now_s: float, now: datetime) -> tuple[str, ...]:
        """Returns the announcements for this conversation, each once. Those of `sounding` ring."""
        self.joined_s = self.joined_s or now_s
        return self.shared.due(self, now_s, now)


def _other_room(entry: Entry, conversation: UserTimers) -> str:
    """Returns the room where an entry was set; "" if the conversation is held there, or if that is not known."""
    return "" if conversation.is_in(entry.room) else entry.room
