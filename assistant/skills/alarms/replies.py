"""Alarms: finds the time that "seven thirty" means, and the alarm that a request means."""

import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from fractions import Fraction

from assistant.skills.answers import (
    AlarmState,
    AnswerWithEffect,
    Asking,
    CancelAlarms,
    Reply,
    SetAlarm,
    SkillContext,
)
from assistant.skills.dialog.memory import Confirm, MissingSlot, WhichEntry
from assistant.skills.languages.language import Language
from assistant.skills.languages.sentences import TemplateMatch
from assistant.skills.timers.durations import duration_s, later

_MAX_ALARMS = 20
_MAX_S = 24 * 3600
_MAX_LISTED = 4
_WITH_POINT = re.compile(r"(\d{1,2})\.([0-5]\d)")

_DAY_BEGINS = 7
_FIRST_HOUR_OF_DAY = {"evening": 1, "night": 6}
"""First hour that still belongs to the named day. Earlier hours are after midnight."""


@dataclass(frozen=True, slots=True)
class SpokenTime:
    """A time of day as the user said it.

    Attributes:
        hour: 0 to 23; 1 to 12 is ambiguous if `half` is None.
        half: "am", "pm", "evening", "night", or None.
        day: Days from today; None if not given.
        weekdays: The weekdays, 0 to 6, if any were named.
        repeats: Whether every such weekday is meant: "every Monday".
        half_of_day: Whether `half` belongs to the day. "tomorrow night" includes hours after midnight, while "tomorrow
            at two at night" is tomorrow.
        coming: "next" for a weekday after today, "next week" for one of the next calendar week, else "".
        is_24_hour: Whether the hour is in 24-hour time, shown by a leading zero: "06:30", "0630".
    """

    hour: int
    minute: int
    half: str | None
    day: int | None
    half_of_day: bool
    is_24_hour: bool = False
    weekdays: tuple[int, ...] = ()
    repeats: bool = False
    coming: str = ""

    def hours(self, *, wake_up: bool, by_day: bool = False) -> tuple[int, ...]:
        """Returns the possible hours of the day, those of the most likely day first.

        `wake_up`: before noon; `by_day`: not before seven in the morning. Both only where the user did not say it.
        """
        twelve = self.hour % 12
        if self.half in _FIRST_HOUR_OF_DAY:
            return (twelve + 12 if twelve >= _FIRST_HOUR_OF_DAY[self.half] else twelve,)
        if self.half is not None and 1 <= self.hour <= 12:
            return (twelve + 12 * (self.half == "pm"),)
        if self.is_24_hour or self.hour > 12 or self.hour == 0 or self.half is not None:
            return (self.hour,)
        if (wake_up and twelve) or (by_day and twelve < _DAY_BEGINS):
            return (twelve + 12 * by_day,)
        if self.day or self.weekdays:  # "tomorrow at two" is in the afternoon, "tomorrow at six" in the morning
            return (twelve + 12 * (twelve < 5),)
        return (twelve, twelve + 12)

    def next(self, now: datetime, *, wake_up: bool, by_day: bool = False) -> datetime | None:
        """Returns the first matching time after `now`; None if it has passed."""
        now = now.replace(tzinfo=None, fold=0)
        midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
        moments = (
            midnight + timedelta(days=day, hours=hour, minutes=self.minute)
            for hour in self.hours(wake_up=wake_up, by_day=by_day)
            for day in self._days(hour, now.weekday())
        )
        return min((moment for moment in moments if moment > now), default=None)

    def rings_again_on(self, local_time: datetime) -> tuple[int, ...]:
        """Returns the weekdays on which an alarm that was set for `local_time` rings; () if it rings once."""
        if not self.repeats:
            return ()
        after_midnight = self.half_of_day and local_time.hour < _FIRST_HOUR_OF_DAY.get(self.half or "", 0)
        return tuple(sorted((day + after_midnight) % 7 for day in self.weekdays))

    def _days(self, hour: int, today: int) -> tuple[int, ...]:
        """Returns the possible days of `hour`, in days from today, which is this weekday."""
        day = self.day or 0
        after_midnight = hour < _FIRST_HOUR_OF_DAY.get(self.half or "", 0)
        if self.weekdays:
            shift = int(self.half_of_day and after_midnight)
            days = {"next": range(1, 8), "next week": range(7 - today, 14 - today)}.get(self.coming, range(-1, 8))
            return tuple(ahead + shift for ahead in days if (today + ahead) % 7 in self.weekdays)
        if day and self.half_of_day and after_midnight:
            return (day + 1,)
        return (day, day + 1) if self.day is None or after_midnight else (day,)


@dataclass(frozen=True, slots=True)
class SpokenDay:
    """The day of a request.

    Attributes:
        ahead: Days from today; None if not given.
        weekdays: The weekdays, 0 to 6, if any were named.
        repeats: Whether every such weekday is meant.
        half: Half of the day, as in `SpokenTime`; "" if not given.
        coming: As in `SpokenTime`.
    """

    ahead: int | None = None
    weekdays: tuple[int, ...] = ()
    repeats: bool = False
    half: str = ""
    coming: str = ""

    @property
    def is_named(self) -> bool:
        """Whether the request names a day."""
        return self.ahead is not None or bool(self.weekdays)

    def names(self, alarm: AlarmState, now: datetime) -> bool:
        """Returns whether the request means this alarm: one that rings on that day and on no other."""
        if self.ahead is not None:
            return not alarm.weekdays and (alarm.local_time.date() - now.date()).days == self.ahead
        if alarm.weekdays or self.repeats:
            return alarm.weekdays == self.weekdays
        return alarm.local_time.weekday() in self.weekdays


def find_day(match: TemplateMatch) -> SpokenDay:
    """Returns the day of a request."""
    values = match.values
    part = values.get("part_of_day", "")
    if "day" in values:
        day, _, half = values["day"].partition(" ")
        return SpokenDay(int(day), half=half)
    if "at_weekday" in values:
        return SpokenDay(weekdays=(int(values["at_weekday"]),), half=part, coming=values.get("coming", ""))
    if "every" in values:
        days, _, half = values["every"].partition(" ")
        return SpokenDay(weekdays=tuple(map(int, days)), repeats=True, half=half)
    named = {int(values[slot]) for slot in ("every_weekday", "also_weekday") if slot in values}
    return SpokenDay(weekdays=tuple(sorted(named)), repeats=bool(named), half=part)


def set_alarm(match: TemplateMatch, language: Language) -> Reply:
    """Sets an alarm for a time of day."""
    wake_up = match.intent == "alarm_wake"
    if not names_time(match):
        return lambda _context: Asking(language.say("alarm_which_time"), MissingSlot(match, "moment"))
    clock = find_clock(match)
    if clock is None:
        return lambda _context: language.say("no_time_of_day")

    def reply(context: SkillContext) -> str | AnswerWithEffect | Asking:
        local_time = clock.next(context.now, wake_up=wake_up)
        if local_time is None:
            return _ask_for_tomorrow(language, match)
        return _set(language, not_past(local_time, context.now), context, clock.rings_again_on(local_time))

    return reply


def _ask_for_tomorrow(language: Language, match: TemplateMatch) -> str | Asking:
    """Says that the time has passed, and asks whether the next day is meant."""
    before, day = language.say("alarm_has_passed"), match.values.get("day", "")
    if not day.startswith("0"):
        return before
    later = replace(match, values={**match.values, "day": f"1{day[1:]}"})
    return Asking(language.say("for_tomorrow"), Confirm(later), before)


def set_alarm_in(match: TemplateMatch, language: Language) -> Reply:
    """Sets an alarm after a length of time."""
    seconds = duration_s(match)
    assert seconds is not None, "the template has a duration"
    if not 1 <= seconds <= _MAX_S:
        return lambda _context: language.say("alarm_bounds")
    after = timedelta(seconds=float(seconds))

    def reply(context: SkillContext) -> str | AnswerWithEffect:
        # Elapsed time, independent of clock changes.
        local_time = (context.now.astimezone(UTC) + after).astimezone(context.now.tzinfo)
        return _set(language, local_time.replace(tzinfo=None), context)

    return reply


def cancel_alarms(match: TemplateMatch, language: Language) -> Reply:
    """Cancels the requested alarms."""
    clock = find_clock(match) if names_time(match) else None
    if clock is None and names_time(match):
        return lambda _context: language.say("no_time_of_day")
    day = find_day(match)
    asked_for = match.values.get("all")
    specific = day.is_named or asked_for is not None

    def reply(context: SkillContext) -> str | AnswerWithEffect | Asking:
        alarms = context.running.alarms
        rung = context.running.rung.set_to if context.running.rung is not None else None
        if isinstance(rung, SetAlarm) and rung.weekdays and rung.about is None and clock is None and not specific:
            # "Stop the alarm" after it has rung is not about the next days.
            moment = say_moment(language, rung.local_time, context.now, rung.weekdays)
            return language.say("alarm_rings_again", moment=moment)
        if not alarms:
            return language.say("no_alarm")
        all_alarms = alarms
        if clock is not None:
            hours = clock.hours(wake_up=False)
            alarms = tuple(
                alarm for alarm in alarms if alarm.local_time.minute == clock.minute and alarm.local_time.hour in hours
            )
        if day.is_named:
            alarms = tuple(alarm for alarm in alarms if day.names(alarm, context.now))
        if not alarms:
            then = language.say("no_alarm_then")
            return f"{then} {_list_alarms(language, all_alarms, context.now)}" if day.is_named else then
        if len(alarms) > {None: 1, "both": 2}.get(asked_for, len(alarms)):
            question = WhichEntry(match, tuple(alarm.number for alarm in alarms))
            return Asking(language.say("which_alarm"), question, _list_alarms(language, alarms, context.now))
        count = language.phrases.count(len(alarms))
        moment = say_moment(language, alarms[0].local_time, context.now, alarms[0].weekdays)
        text = language.say("alarm_cancelled", of=len(alarms), moment=moment, count=count)
        return AnswerWithEffect(text, CancelAlarms(tuple(alarm.number for alarm in alarms)))

    return reply


def tell_alarms(language: Language, context: SkillContext) -> str:
    """Lists the alarms that are set."""
    alarms = context.running.alarms
    return _list_alarms(language, alarms, context.now) if alarms else language.say("no_alarm")


def _set(
    language: Language, local_time: datetime, context: SkillContext, weekdays: tuple[int, ...] = ()
) -> str | AnswerWithEffect:
    if len(context.running.alarms) >= _MAX_ALARMS:
        return language.say("alarms_enough", count=language.phrases.count(_MAX_ALARMS))
    announcement = language.say("alarm_rings", time=language.phrases.time_is(local_time.time()))
    moment = say_moment(language, local_time, context.now, weekdays)
    return AnswerWithEffect(
        language.say("alarm_set", moment=moment), SetAlarm(local_time, announcement, weekdays=weekdays)
    )


def names_time(match: TemplateMatch) -> bool:
    """Returns whether the request has a time of day."""
    return "h" in match.numbers or "named_hour" in match.values


def find_clock(match: TemplateMatch) -> SpokenTime | None:
    """Returns the time of day of a request; None if there is no such time."""
    values, numbers = match.values, match.numbers
    day = find_day(match)
    half = values.get("half_day") or day.half or None
    of_day = half == day.half
    if "named_hour" in values:
        named = int(values["named_hour"])
        return SpokenTime(
            named, 0, "pm" if named else half, day.ahead, of_day, False, day.weekdays, day.repeats, day.coming
        )
    hour, minute, words = numbers["h"], numbers.get("m", Fraction(0)), match.words["h"]
    is_24_hour = (
        words[:1] == "0" and words[1:2].isdigit() and values.keys().isdisjoint({"fraction", "side", "from_hour"})
    )
    if "fraction" in values:
        minute = Fraction(values["fraction"])
    elif "from_hour" in values:  # "halb drei", "zehn vor halb drei", "las tres menos cuarto"
        beside = {"to": -minute, "past": minute}[values["side"]] if "side" in values else Fraction(0)
        total = 60 * hour + int(values["from_hour"]) + beside
        hour, minute = _wrap_hour(total // 60, hour), total % 60
    elif "m" not in numbers and (written := _WITH_POINT.fullmatch(words)):  # "6.30 pm"
        hour, minute = Fraction(written[1]), Fraction(written[2])
    elif "m" not in numbers and (
        hour >= 100 or (is_24_hour and len(words) > 2)
    ):  # some people write half past seven as "730"
        hour, minute = Fraction(hour // 100), hour % 100
    if hour.denominator > 1 or minute.denominator > 1 or not (0 <= hour < 24 and 0 <= minute < 60):
        return None
    whole_hour, whole_minute = int(hour), int(minute)
    if values.get("side") in ("to", "before") and whole_minute and "from_hour" not in values:
        whole_hour, whole_minute = (whole_hour - 1) % 24 or 12, 60 - whole_minute
    return SpokenTime(
        whole_hour, whole_minute, half, day.ahead, of_day, is_24_hour, day.weekdays, day.repeats, day.coming
    )


def _wrap_hour(hour: int, asked: Fraction) -> Fraction:
    """Wraps an hour: twelve precedes one, and twenty-three precedes zero."""
    if hour < 0:
        return Fraction(hour % 24)
    return Fraction(12 if hour == 0 and asked == 1 else hour)


def _list_alarms(language: Language, alarms: tuple[AlarmState, ...], now: datetime) -> str:
    told = [say_moment(language, alarm.local_time, now, alarm.weekdays) for alarm in alarms[:_MAX_LISTED]]
    moments = language.phrases.join(told)
    answer = "alarms" if len(alarms) <= _MAX_LISTED else "alarms_first"
    return language.say(answer, of=len(alarms), count=language.phrases.count(len(alarms)), moments=moments)


def shifted(alarm: AlarmState, after: timedelta, now: datetime) -> tuple[datetime, tuple[int, ...]]:
    """Returns the local time and the weekdays of an alarm or a reminder that rings later, or earlier.

    A repeating one rings at the same time of day also when the clocks change; for others it is elapsed time.
    """
    if not alarm.weekdays:
        return later(alarm.local_time.replace(tzinfo=now.tzinfo), after), ()
    local_time = alarm.local_time + after
    days = (local_time.date() - alarm.local_time.date()).days
    return local_time, tuple(sorted((day + days) % 7 for day in alarm.weekdays))


def not_past(local_time: datetime, now: datetime) -> datetime:
    """Returns the second occurrence of a local time that occurs twice, if the first has passed; else `local_time`."""
    return (
        local_time.replace(fold=1)
        if local_time.replace(tzinfo=now.tzinfo).timestamp() <= now.timestamp()
        else local_time
    )


def say_moment(language: Language, local_time: datetime, now: datetime, weekdays: tuple[int, ...] = ()) -> str:
    """Returns when something rings: "seven AM tomorrow", "seven AM every weekday"."""
    if weekdays:
        return language.phrases.repeated(local_time.time(), weekdays)
    return language.phrases.moment(local_time, (local_time.date() - now.date()).days)
