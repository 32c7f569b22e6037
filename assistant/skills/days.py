"""Days between dates, and the weekday of a date."""

from dataclasses import dataclass
from datetime import date, timedelta
from fractions import Fraction

from assistant.skills import Reply, SkillContext
from assistant.skills.durations import join
from assistant.skills.say import say_date, say_month, say_number, say_ordinal, say_weekday, say_year
from assistant.skills.sentences import Found

# In eight years there is a twenty-ninth of February, even around 2100.
_YEARS_WITH_EVERY_DAY = 8
_LAST_YEAR = 9998


@dataclass(frozen=True, slots=True)
class _Day:
    """A date as it was said: with its year, or the next one, or a weekday.

    Attributes:
        said: What to call it, if its date alone does not name it: "Christmas".
    """

    month: int = 0
    day: int = 0
    year: int | None = None
    weekday: int | None = None
    said: str | None = None

    def _in(self, year: int) -> date | None:
        try:
            return date(year, self.month, self.day)
        except ValueError:
            return None

    def _in_years(self, years: range) -> date | None:
        return next((found for year in years if (found := self._in(year)) is not None), None)

    def after(self, today: date) -> date | None:
        """The day of that name from today on, or the very day if its year was said; None if there is none."""
        if self.weekday is not None:
            return today + timedelta(days=(self.weekday - today.weekday()) % 7)
        if self.year is not None:
            return self._in(self.year)
        this_year = self._in(today.year)
        if this_year is not None and this_year >= today:
            return this_year
        return self._in_years(range(today.year + 1, today.year + 1 + _YEARS_WITH_EVERY_DAY))

    def before(self, today: date) -> date | None:
        """The day of that name up to today."""
        if self.weekday is not None:
            return today - timedelta(days=(today.weekday() - self.weekday) % 7)
        if self.year is not None:
            return self._in(self.year)
        this_year = self._in(today.year)
        if this_year is not None and this_year <= today:
            return this_year
        return self._in_years(range(today.year - 1, today.year - 1 - _YEARS_WITH_EVERY_DAY, -1))

    def name(self, day: date) -> str:
        """ "Christmas", "Friday", "March third, twenty twenty-eight"."""
        if self.said is not None:
            return self.said
        if self.weekday is not None:
            return say_weekday(day)
        year = f", {say_year(day.year)}" if self.year is not None else ""
        return f"{say_month(day)} {say_ordinal(day.day)}{year}"

    @property
    def missing(self) -> str:
        """The sentence for a date that no calendar has."""
        month = say_month(date(2000, self.month, 1))
        return f"There is no {month} {say_ordinal(self.day)}{' that year' if self.year else ''}."


def days_until(found: Found) -> Reply | None:
    """How many days, or weeks, from today to a date."""
    day, weeks = _day(found), found.values.get("span") == "weeks"
    if day is None:
        return None

    def reply(context: SkillContext) -> str:
        today = context.now.date()
        then = day.after(today)
        if then is None:
            return day.missing
        name, days = day.name(then), (then - today).days
        if days < 0:
            return f"{_sentence(name)} was {_count(-days, weeks=weeks)} ago."
        if days < 2:
            return f"{_sentence(name)} is {'tomorrow' if days else 'today'}."
        return f"{_sentence(_count(days, weeks=weeks))} until {name}."

    return reply


def days_since(found: Found) -> Reply | None:
    """How many days, or weeks, from a date to today."""
    day, weeks = _day(found), found.values.get("span") == "weeks"
    if day is None:
        return None

    def reply(context: SkillContext) -> str:
        today = context.now.date()
        then = day.before(today)
        if then is None:
            return day.missing
        name, days = day.name(then), (today - then).days
        if days < 0:
            return f"{_sentence(name)} is still {_count(-days, weeks=weeks)} away."
        if days < 2:
            return f"{_sentence(name)} {'was yesterday' if days else 'is today'}."
        return f"{_sentence(_count(days, weeks=weeks))} since {name}."

    return reply


def days_between(found: Found) -> Reply | None:
    """How many days, or weeks, from one date to another, the later of which is the next one."""
    first, second, weeks = _day(found), _day(found, "o"), found.values.get("span") == "weeks"
    if first is None or second is None:
        return None

    def reply(context: SkillContext) -> str:
        start = first.after(context.now.date())
        end = second.after(start) if start is not None else None
        if start is None or end is None:
            return first.missing if start is None else second.missing
        if end < start:  # the year of the second was said
            start, end = end, start
        names = f"{first.name(start)} and {second.name(end)}"
        days = (end - start).days
        verb = "is" if days == 1 else "are"
        return f"There {verb} {_count(days, weeks=weeks)} between {names}."

    return reply


def tell_weekday(found: Found) -> Reply | None:
    """On which day of the week a date falls; with the date, if it was named otherwise."""
    day = _day(found)
    if day is None or day.weekday is not None:
        return None

    def reply(context: SkillContext) -> str:
        then = day.after(context.now.date())
        if then is None:
            return day.missing
        verb = "was" if then < context.now.date() else "is"
        if day.said is not None:
            return f"{day.said} {verb} on {say_date(then)}."
        year = "" if day.year is not None or then.year == context.now.year else f", {say_year(then.year)}"
        return f"{day.name(then)}{year} {verb} a {say_weekday(then)}."

    return reply


def _day(found: Found, which: str = "") -> _Day | None:
    """The date in the slots that begin with `which`; None if its numbers are no date."""
    values, numbers = found.values, found.numbers
    if (weekday := values.get(f"{which}weekday")) is not None:
        return _Day(weekday=int(weekday))
    if (holiday := values.get(f"{which}holiday")) is not None:
        month, day = holiday.split("-")
        said = found.said[f"{which}holiday"]
        return _Day(int(month), int(day), said=f"{'the ' * said.startswith('the ')}{_titled(said)}")
    number, ordinal = numbers.get(f"{which}d", Fraction(0)), int(values.get(f"{which}o", "0"))
    if ordinal and number and not (number in (20, 30) and ordinal < 10):
        return None
    total = number + ordinal
    year = _year(numbers)
    if total.denominator > 1 or not 1 <= total <= 31 or (year is not None and not 1 <= year <= _LAST_YEAR):
        return None
    return _Day(int(values[f"{which}m"]), int(total), year)


def _year(numbers: dict[str, Fraction]) -> int | None:
    """ "twenty twenty seven" comes as two numbers, "2027" as one."""
    if "y" not in numbers:
        return None
    first, second = numbers["y"], numbers.get("z")
    year = first if second is None else first * 100 + second
    fits = year.denominator == 1 and (second is None or (10 <= first < 100 and 0 <= second < 100))
    return int(year) if fits else 0


def _titled(said: str) -> str:
    words = said.removeprefix("the ").split()
    return " ".join(word[:1].upper() + word[1:] for word in words)


def _count(days: int, *, weeks: bool) -> str:
    if not weeks:
        return _plural(days, "day")
    whole, rest = divmod(days, 7)
    return join([_plural(count, unit) for count, unit in ((whole, "week"), (rest, "day")) if count] or ["no days"])


def _plural(count: int, unit: str) -> str:
    return f"{say_number(Fraction(count))} {unit}{'' if count == 1 else 's'}"


def _sentence(words: str) -> str:
    return words[:1].upper() + words[1:]
