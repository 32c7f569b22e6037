"""Alarms and reminders that ring again on weekdays: the next and the latest occurrence. Pure.

All times are local times without a time zone, so that an alarm for seven stays at seven when the clocks change.
"""

from datetime import datetime, timedelta

_ONE_DAY = timedelta(days=1)


def next_occurrence(at: datetime, weekdays: tuple[int, ...], now: datetime) -> datetime:
    """Returns the first time of day of `at` on one of the weekdays that is after `at` and after `now`."""
    day = max(at.date(), now.date())
    times = (datetime.combine(day + timedelta(days=days), at.time()) for days in range(9))
    return next(one for one in times if one.weekday() in weekdays and one > at.replace(fold=0) and one > now)


def latest_occurrence(at: datetime, weekdays: tuple[int, ...], now: datetime) -> datetime:
    """Returns the last occurrence up to `now`; `at` itself if none has followed it."""
    if not weekdays or now - at < _ONE_DAY:
        return at
    times = (datetime.combine(now.date() - timedelta(days=days), at.time()) for days in range(8))
    return max(at, next(one for one in times if one.weekday() in weekdays and one <= now))
