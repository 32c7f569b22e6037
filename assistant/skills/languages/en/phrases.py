"""English phrases of the skills."""

import re
from datetime import date, datetime, time
from fractions import Fraction

from assistant.skills.languages.language import EVERY_DAY, WORKDAYS, DayName, Phrases, Quantity
from assistant.skills.languages.measures import Dimension
from assistant.skills.languages.say import NumberMarks, write_number
from assistant.skills.timers.durations import duration_parts

_WEEKDAYS = tuple("Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split())
_MONTHS = tuple("January February March April May June July August September October November December".split())
_LENGTHS = {3600: "hour", 60: "minute", 1: "second"}


def write_time(moment: time) -> str:
    """Returns "10:43 PM", "7 AM", "noon". No dots in "PM", because a dot would end the sentence."""
    if moment.minute == 0 and moment.hour in (0, 12):
        return "noon" if moment.hour else "midnight"
    minute = f":{moment.minute:02}" if moment.minute else ""
    return f"{moment.hour % 12 or 12}{minute} {'AM' if moment.hour < 12 else 'PM'}"


class English(Phrases):
    """English phrases."""

    plural_endings = ("s",)
    marks = NumberMarks(thousands=",", grouped_from=1000, point=".", about="about")
    weekdays = _WEEKDAYS
    months = _MONTHS
    and_word = "and"
    other_repeat = re.compile(
        r"\b(every|each)(\s+(other|second|two|three|\d+))?(\s+(hours?|minutes?|days?|weeks?|months?|years?))?(\s+on)?$"
    )

    # ---- numbers and lengths ----

    def join(self, parts: list[str]) -> str:
        """Example: "a, b, and c"; "a and b"."""
        if len(parts) < 3:
            return " and ".join(parts)
        return f"{', '.join(parts[:-1])}, and {parts[-1]}"

    def duration(self, seconds: float, *, about: bool = False) -> str:
        """Example: "1 hour and 30 minutes"."""
        text = self.join([_plural(count, _LENGTHS[length]) for count, length in duration_parts(seconds)])
        return f"about {text}" if about else text or "no time"

    def days(self, count: int, *, weeks: bool) -> str:
        """Example: "14 weeks and 3 days"."""
        if not weeks:
            return _plural(count, "day")
        whole, rest = divmod(count, 7)
        parts = [_plural(number, unit) for number, unit in ((whole, "week"), (rest, "day")) if number]
        return self.join(parts or ["no days"])

    def converted(self, parts: tuple[Quantity, ...], result: Quantity) -> str:
        """Example: "6 feet and 2 inches are about 188 centimeters"."""
        first = parts[0]
        singular = first.value in (1, Fraction(1, 2)) or first.dimension is Dimension.TEMPERATURE
        verb = "is" if len(parts) == 1 and singular else "are"
        return f"{' and '.join(map(_quantity, parts))} {verb} {_quantity(result)}"

    # ---- clock and calendar ----

    def time_is(self, moment: time) -> str:
        """Example: "it's 10:43 PM"."""
        return f"it's {write_time(moment)}"

    def moment(self, local_time: datetime, days: int) -> str:
        """Example: "7 AM tomorrow"."""
        on_day = f"on {self.weekday(local_time.weekday())}" if abs(days) < 7 else self.on_date(local_time)
        day = {0: "", 1: " tomorrow"}.get(days, f" {on_day}")
        return f"{write_time(local_time.time())}{day}"

    def repeated(self, local_time: time, weekdays: tuple[int, ...]) -> str:
        """Example: "7 AM every weekday", "9 AM every Monday and Thursday"."""
        named = self.join([self.weekday(day) for day in weekdays])
        every = {EVERY_DAY: "day", WORKDAYS: "weekday"}.get(weekdays, named)
        return f"{write_time(local_time)} every {every}"

    def full_date(self, day: date) -> str:
        """Example: "Friday, November 20"."""
        return f"{self.weekday(day.weekday())}, {_day_of_month(day.month, day.day)}"

    def on_date(self, day: date) -> str:
        """Example: "on Friday, November 20"."""
        return f"on {self.full_date(day)}"

    def day(self, name: DayName) -> str:
        """Example: "Christmas", "Friday", "March 3, 2028"."""
        if name.holiday is not None:
            words = name.holiday.removeprefix("the ").split()
            return "the " * name.holiday.startswith("the ") + " ".join(word[:1].upper() + word[1:] for word in words)
        if name.weekday:
            return self.weekday(name.day.weekday())
        year = f", {self.year(name.day.year)}" if name.with_year else ""
        return f"{_day_of_month(name.day.month, name.day.day)}{year}"

    def until(self, name: DayName) -> str:
        """Example: "until Christmas"."""
        return f"until {self.day(name)}"

    def since(self, name: DayName) -> str:
        """Example: "since Christmas"."""
        return f"since {self.day(name)}"

    def between(self, first: DayName, second: DayName) -> str:
        """Example: "between March 3 and June 1"."""
        return f"between {self.day(first)} and {self.day(second)}"

    def missing_day(self, month: int, day: int, *, that_year: bool) -> str:
        """Example: "there is no February 30"."""
        return f"there is no {_day_of_month(month, day)}{' that year' if that_year else ''}"

    # ---- names ----

    def timer(self, name: str | None, seconds: float | None) -> str:
        """Example: "10 minute timer", "timer for eggs", "5 minute timer for eggs"."""
        before = "" if seconds is None else _before_timer(seconds)
        if name is not None:
            return f"{before}timer for {name}"
        return f"{before}timer" if before else f"timer for {self.duration(seconds or 0)}"

    def place(self, text: str) -> str:
        """Example: "in Tokyo"."""
        return f"in {text.title()}"


def _plural(count: int, unit: str) -> str:
    return f"{count} {unit}{'' if count == 1 else 's'}"


def _day_of_month(month: int, day: int) -> str:
    return f"{_MONTHS[month - 1]} {day}"


def _before_timer(seconds: float) -> str:
    """Returns "10 minute " before "timer"; "" if that would be too long."""
    parts = duration_parts(seconds)
    return f"{parts[0][0]} {_LENGTHS[parts[0][1]]} " if len(parts) == 1 else ""


def _quantity(quantity: Quantity) -> str:
    unit = quantity.unit
    if quantity.is_half:
        article = "an" if unit.one[0] in "aeio" or unit.one == "hour" else "a"
        return f"half {article} {unit.one}"
    number = write_number(quantity.value, English.marks, decimals=quantity.decimals)
    return f"{number} {unit.symbol or (unit.one if abs(quantity.value) == 1 else unit.many)}"


PHRASES = English()
