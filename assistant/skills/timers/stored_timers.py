"""Timers, alarms and reminders as they are stored, and what the store must do. Pure."""

import json
from dataclasses import dataclass
from datetime import datetime

from assistant.home import PlannedCalls, ServiceCall
from assistant.skills.answers import SetAlarm, SetTimer
from assistant.skills.timers.timers import Alarm, Entry, Timer


@dataclass(frozen=True, slots=True)
class StoredTimer:
    """An entry as it is stored.

    Attributes:
        key: Unique identifier.
        length_s: Length of a timer in seconds; None for an alarm or reminder.
        name: Name of a timer, or what to remind of; None if there is none.
        due_at: When a running timer ends, or a command is made that is planned for after a while, in seconds since
            1970; else None.
        left_s: Remaining seconds of a paused timer; else None.
        local_time: Local time of an alarm or reminder, ISO 8601 without a time zone; else None.
        fold: 1 for the second occurrence of a local time that occurs twice.
        announcement: Sentence to say when it rings.
        weekdays: Weekdays on which it rings again, as digits 0 to 6 ("01234"); None: it rings once.
        room: Name of the room in which it was set; "" if that is not known.
        planned: The calls of a planned command as JSON; None: it rings.
    """

    key: str
    length_s: float | None
    name: str | None
    due_at: float | None
    left_s: float | None
    local_time: str | None
    fold: int
    announcement: str
    weekdays: str | None = None
    room: str = ""
    planned: str | None = None


@dataclass(frozen=True, slots=True)
class Write:
    """One change for the store: the new content of an entry; `row` is None to delete it.

    Attributes:
        key: The entry.
        row: Its content; None: it is deleted.
        is_new: The store does not have it yet. Otherwise an entry that another process deleted stays deleted.
    """

    key: str
    row: StoredTimer | None
    is_new: bool = False


@dataclass(frozen=True, slots=True)
class Pending:
    """The changes for the store, in this order.

    Attributes:
        writes: The changes.
        claims: Entries that are due and need permission to ring, with their content.
        released: Keys of entries that were claimed and not announced.
        renewed: Keys of entries that still ring, so that their claim does not expire.
    """

    writes: tuple[Write, ...] = ()
    claims: tuple[StoredTimer, ...] = ()
    released: tuple[str, ...] = ()
    renewed: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to do."""
        return not (self.writes or self.claims or self.released or self.renewed)


def row_of(key: str, entry: Entry, now_s: float, now: datetime) -> StoredTimer:
    """Returns the entry as it is stored."""
    effect = entry.set_to
    if isinstance(entry, Timer):
        assert isinstance(effect, SetTimer)
        due_at = None if entry.left_s is not None else now.timestamp() + entry.due_s - now_s
        return StoredTimer(
            key, effect.seconds, effect.name, due_at, entry.left_s, None, 0, effect.announcement, room=entry.room
        )
    assert isinstance(effect, SetAlarm)
    local_time = effect.local_time
    due_at = None if entry.due_s is None else now.timestamp() + entry.due_s - now_s
    weekdays = "".join(map(str, effect.weekdays)) or None
    return StoredTimer(
        key,
        None,
        effect.about,
        due_at,
        None,
        local_time.isoformat(),
        local_time.fold,
        effect.announcement,
        weekdays,
        entry.room,
        None if effect.planned is None else text_of(effect.planned),
    )


def entry_of(number: int, row: StoredTimer, now_s: float, now: datetime) -> Entry:
    """Returns a stored entry as it is set. Timers, and commands after a while, continue by the wall clock."""
    if row.local_time is not None:
        local_time = datetime.fromisoformat(row.local_time).replace(fold=row.fold)
        weekdays = tuple(int(digit) for digit in row.weekdays or "")
        planned = None if row.planned is None else planned_of(row.planned)
        effect = SetAlarm(local_time, row.announcement, row.name, weekdays=weekdays, planned=planned)
        due_s = None if row.due_at is None else now_s + row.due_at - now.timestamp()
        return Alarm(number, effect, row.room, due_s)
    timer = SetTimer(row.length_s or 0.0, row.name, row.announcement)
    if row.due_at is None:
        return Timer(number, timer, now_s, row.left_s, row.room)
    return Timer(number, timer, now_s + row.due_at - now.timestamp(), room=row.room)


def text_of(planned: PlannedCalls) -> str:
    """Returns planned calls as they are stored."""
    calls = [[call.domain, call.service, call.targets, dict(call.data)] for call in planned.calls]
    return json.dumps({"home": planned.home, "calls": calls})


def planned_of(text: str) -> PlannedCalls | None:
    """Returns stored calls; None if the text is damaged."""
    try:
        stored = json.loads(text)
        calls = tuple(
            ServiceCall(
                str(domain),
                str(service),
                tuple(map(str, targets)),
                tuple((str(key), tuple(value) if isinstance(value, list) else value) for key, value in data.items()),
            )
            for domain, service, targets, data in stored["calls"]
        )
        return PlannedCalls(calls, str(stored["home"])) if calls else None
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
