"""Alarms: which moment is meant by "seven thirty", and which alarm."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from fractions import Fraction

from assistant.skills import AlarmState, CancelAlarms, Deed, Reply, SetAlarm, SkillContext
from assistant.skills.durations import duration_s, join
from assistant.skills.say import say_number, say_time, say_weekday
from assistant.skills.sentences import Found

_MOST_ALARMS = 20
_LONGEST_S = 24 * 3600
_MOST_TOLD = 4
_NO_TIME_OF_DAY = "That is no time of day."
_NONE = "There is no alarm."


@dataclass(frozen=True, slots=True)
class _Clock:
    """A time as it was said.

    Attributes:
        hour: 0 to 23; of which half of the day is open where `half` is None and it is 1 to 12.
        half: "am", "pm", "night", or None.
        day: Days from today; None if nobody said.
    """

    hour: int
    minute: int
    half: str | None
    day: int | None

    def hours(self, *, waking: bool) -> tuple[int, ...]:
        """The hours of the day that may be meant, the likeliest day's first."""
        twelve = self.hour % 12
        if self.half == "night":
            return (twelve + 12 if twelve >= 6 else twelve,)
        if self.half is not None and 1 <= self.hour <= 12:
            return (twelve + 12 * (self.half == "pm"),)
        if self.hour > 12 or self.hour == 0 or self.half is not None:
            return (self.hour,)
        if waking and twelve:
            return (twelve,)
        if self.day:
            return (twelve + 12 * (twelve < 5),)  # "tomorrow at two" is not in the night, "tomorrow at six" is early
        return (twelve, twelve + 12)

    def next(self, now: datetime, *, waking: bool) -> datetime | None:
        """The moment after `now` that is meant; None if it has passed."""
        start = now.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=self.day or 0)
        days = (0, 1) if self.day is None or self.half == "night" else (0,)
        moments = (
            start + timedelta(days=day, hours=hour, minutes=self.minute)
            for day in days
            for hour in self.hours(waking=waking)
        )
        return min((moment for moment in moments if moment > now), default=None)


def set_alarm(found: Found) -> Reply:
    """An alarm at a time of day."""
    waking = found.intent == "alarm_wake"
    if not {"h", "named_hour"} & (found.numbers.keys() | found.values.keys()):
        return lambda _context: "At what time? Say, for example: set an alarm for seven thirty."
    clock = _clock(found)
    if clock is None:
        return lambda _context: _NO_TIME_OF_DAY

    def reply(context: SkillContext) -> str | Deed:
        at = clock.next(context.now.replace(tzinfo=None), waking=waking)
        return _set(at, context) if at is not None else "That time has passed already."

    return reply


def set_alarm_in(found: Found) -> Reply:
    """An alarm some time from now."""
    seconds = duration_s(found)
    assert seconds is not None, "the template has a duration"
    if not 1 <= seconds <= _LONGEST_S:
        return lambda _context: "I can set an alarm for between one second and twenty-four hours from now."
    return lambda context: _set(context.now.replace(tzinfo=None) + timedelta(seconds=float(seconds)), context)


def cancel_alarms(found: Found) -> Reply:
    """Forget the alarms that were meant."""
    clock = _clock(found) if "h" in found.numbers or "named_hour" in found.values else None
    asked_for_all = "all" in found.values

    def reply(context: SkillContext) -> str | Deed:
        alarms = context.running.alarms
        if not alarms:
            return _NONE
        if clock is not None:
            hours = clock.hours(waking=False)
            alarms = tuple(alarm for alarm in alarms if alarm.at.minute == clock.minute and alarm.at.hour in hours)
            if not alarms:
                return "There is no alarm for that time."
        if len(alarms) > 1 and not asked_for_all:
            return f"You have {_told(alarms, context.now)}. Which one do you mean?"
        effect = CancelAlarms(tuple(alarm.number for alarm in alarms))
        if len(alarms) == 1:
            return Deed(f"Your alarm for {_say_moment(alarms[0].at, context.now)} is cancelled.", effect)
        count = "Both" if len(alarms) == 2 else f"All {say_number(Fraction(len(alarms)))}"
        return Deed(f"{count} alarms are cancelled.", effect)

    return reply


def tell_alarms(context: SkillContext) -> str:
    """The alarms that are set."""
    alarms = context.running.alarms
    return f"You have {_told(alarms, context.now)}." if alarms else _NONE


def _set(at: datetime, context: SkillContext) -> str | Deed:
    if len(context.running.alarms) >= _MOST_ALARMS:
        return f"You have {say_number(Fraction(_MOST_ALARMS))} alarms already. Please cancel one first."
    announcement = f"It's {say_time(at.time())}. This is your alarm."
    return Deed(f"Your alarm is set for {_say_moment(at, context.now)}.", SetAlarm(at, announcement))


def _clock(found: Found) -> _Clock | None:
    values, numbers = found.values, found.numbers
    day, _, half_of_day = values.get("day", "").partition(" ")
    half = values.get("half_day") or half_of_day or None
    days = int(day) if day else None
    if "named_hour" in values:
        named = int(values["named_hour"])
        return _Clock(named, 0, "pm" if named else half, days)
    hour, minute = numbers["h"], numbers.get("m", Fraction(0))
    if "fraction" in values:
        minute = Fraction(values["fraction"])
    elif "m" not in numbers and hour >= 100:  # as some recognizers write half past seven: "730"
        hour, minute = Fraction(hour // 100), hour % 100
    if hour.denominator > 1 or minute.denominator > 1 or not (0 <= hour < 24 and 0 <= minute < 60):
        return None
    whole_hour, whole_minute = int(hour), int(minute)
    if values.get("side") in ("to", "before") and whole_minute:
        whole_hour, whole_minute = (whole_hour - 1) % 24 or 12, 60 - whole_minute
    return _Clock(whole_hour, whole_minute, half, days)


def _told(alarms: tuple[AlarmState, ...], now: datetime) -> str:
    told = join([_say_moment(alarm.at, now) for alarm in alarms[:_MOST_TOLD]])
    if len(alarms) == 1:
        return f"an alarm for {told}"
    first = "" if len(alarms) <= _MOST_TOLD else ", the first"
    return f"{say_number(Fraction(len(alarms)))} alarms{first} for {told}"


def _say_moment(at: datetime, now: datetime) -> str:
    days = (at.date() - now.date()).days
    day = {0: "", 1: " tomorrow"}.get(days, f" on {say_weekday(at)}")
    return f"{say_time(at.time().replace(second=0, microsecond=0))}{day}"
