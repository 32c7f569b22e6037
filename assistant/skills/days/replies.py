"""Days between dates, and the weekday of a date."""

from dataclasses import dataclass, replace
from datetime import date, timedelta
from fractions import Fraction

from assistant.skills.answers import Reply, SkillContext
from assistant.skills.languages.language import DayName, Language
from assistant.skills.languages.sentences import TemplateMatch

# Every span of eight years has a February 29, even around 2100.
_YEARS_WITH_EVERY_DAY = 8
_LAST_YEAR = 9998
_MAX_AHEAD = 3660  # ten years


@dataclass(frozen=True, slots=True)
class _SpokenDate:
    """A date as the user said it: with or without a year, or a weekday.

    Attributes:
        words: The words that named the date, such as "christmas", if not the date itself.
        after_easter: Days from Easter Sunday to a holiday that moves with it; None for other dates.
    """

    month: int = 0
    day: int = 0
    year: int | None = None
    weekday: int | None = None
    words: str | None = None
    after_easter: int | None = None

    def _in(self, year: int) -> date | None:
        if self.after_easter is not None:
            return easter_sunday(year) + timedelta(days=self.after_easter)
        try:
            return date(year, self.month, self.day)
        except ValueError:
            return None

    def _in_years(self, years: range) -> date | None:
        return next((day for year in years if (day := self._in(year)) is not None), None)

    def after(self, today: date) -> date | None:
        """Returns the first such day from `today` on, or the day in the given year; None if there is none."""
        if self.weekday is not None:
            return today + timedelta(days=(self.weekday - today.weekday()) % 7)
        if self.year is not None:
            return self._in(self.year)
        this_year = self._in(today.year)
        if this_year is not None and this_year >= today:
            return this_year
        return self._in_years(range(today.year + 1, today.year + 1 + _YEARS_WITH_EVERY_DAY))

    def before(self, today: date) -> date | None:
        """Returns the last such day up to `today`, or the day in the given year; None if there is none."""
        if self.weekday is not None:
            return today - timedelta(days=(today.weekday() - self.weekday) % 7)
        if self.year is not None:
            return self._in(self.year)
        this_year = self._in(today.year)
        if this_year is not None and this_year <= today:
            return this_year
        return self._in_years(range(today.year - 1, today.year - 1 - _YEARS_WITH_EVERY_DAY, -1))

    def name(self, day: date) -> DayName:
        """Returns the name for `day`, a day that this date matches."""
        return DayName(day, self.words, self.weekday is not None, self.year is not None)

    def missing(self, language: Language) -> str:
        """Returns the sentence for a date that does not exist."""
        missing = language.phrases.missing_day(self.month, self.day, that_year=self.year is not None)
        return language.say("missing_day", missing=missing)


def days_until(match: TemplateMatch, language: Language) -> Reply | None:
    """Counts the days or weeks from today to a date."""
    day, weeks = _day(match), match.values.get("span") == "weeks"
    if day is None:
        return None

    def reply(context: SkillContext) -> str:
        today = context.now.date()
        then = day.after(today)
        if then is None:
            return day.missing(language)
        days = (then - today).days
        if days < 0:
            return _count_sentence(language, "day_was_ago", day.name(then), -days, weeks=weeks)
        answer = {0: "day_is_today", 1: "day_is_tomorrow"}.get(days, "days_until")
        return _count_sentence(language, answer, day.name(then), days, weeks=weeks)

    return reply


def days_since(match: TemplateMatch, language: Language) -> Reply | None:
    """Counts the days or weeks from a date to today."""
    day, weeks = _day(match), match.values.get("span") == "weeks"
    if day is None:
        return None

    def reply(context: SkillContext) -> str:
        today = context.now.date()
        then = day.before(today)
        if then is None:
            return day.missing(language)
        days = (today - then).days
        if days < 0:
            return _count_sentence(language, "day_is_away", day.name(then), -days, weeks=weeks)
        answer = {0: "day_is_today", 1: "day_was_yesterday"}.get(days, "days_since")
        return _count_sentence(language, answer, day.name(then), days, weeks=weeks)

    return reply


def days_between(match: TemplateMatch, language: Language) -> Reply | None:
    """Counts the days or weeks between two dates. The later one is the next such day."""
    first, second, weeks = _day(match), _day(match, "o"), match.values.get("span") == "weeks"
    if first is None or second is None:
        return None

    def reply(context: SkillContext) -> str:
        start = first.after(context.now.date())
        end = second.after(start) if start is not None else None
        if start is None or end is None:
            return first.missing(language) if start is None else second.missing(language)
        if end < start:  # the year of the second date was given
            start, end = end, start
        between = language.phrases.between(first.name(start), second.name(end))
        count = (end - start).days
        days = language.phrases.days(count, weeks=weeks)
        return language.say("days_between", of=count, days=days, between=between)

    return reply


def tell_weekday(match: TemplateMatch, language: Language) -> Reply | None:
    """Returns the past or future weekday of a date, with the date if it was named otherwise."""
    day = _day(match)
    past, this_year = match.values.get("tense") == "past", "this_year" in match.values
    if day is None or day.weekday is not None:
        return None

    def reply(context: SkillContext) -> str:
        today = context.now.date()
        asked = replace(day, year=today.year) if this_year and day.year is None else day
        then = asked.before(today) if past else asked.after(today)
        if then is None:
            return asked.missing(language)
        when = "was" if then < today else "is"
        name, phrases = asked.name(then), language.phrases
        if day.words is not None:
            return language.say(f"holiday_{when}", day=phrases.day(name), on_date=phrases.on_date(then))
        name = replace(name, with_year=name.with_year or then.year != today.year)
        return language.say(f"weekday_{when}", day=phrases.day(name), weekday=phrases.weekday(then.weekday()))

    return reply


def easter_sunday(year: int) -> date:
    """Returns Easter Sunday of the Gregorian calendar, by the algorithm of Meeus, Jones and Butcher."""
    golden, (century, rest) = year % 19, divmod(year, 100)
    quarter, over = divmod(century, 4)
    correction = (century - (century + 8) // 25 + 1) // 3
    epact = (19 * golden + century - quarter - correction + 15) % 30
    leap, years = divmod(rest, 4)
    weekday = (32 + 2 * over + 2 * leap - epact - years) % 7
    late = (golden + 11 * epact + 22 * weekday) // 451
    month, day = divmod(epact + weekday - 7 * late + 114, 31)
    return date(year, month, day + 1)


def tell_whether(match: TemplateMatch, language: Language) -> Reply | None:
    """Tells whether today is this weekday, or on the weekend."""
    asked = {int(day) for day in match.values["is_weekday"]}

    def reply(context: SkillContext) -> str:
        today = context.now.weekday()
        answer = "today_is" if today in asked else "today_is_not"
        return language.say(answer, weekday=language.phrases.weekday(today))

    return reply


def date_ahead(match: TemplateMatch, language: Language) -> Reply | None:
    """Returns the date in a number of days or weeks from today or tomorrow, or of a coming weekday."""
    named = match.values.get("span_ahead")
    if named is not None or "ahead" in match.numbers:
        count = match.numbers.get("ahead", Fraction(0)) * (7 if match.values.get("span") == "weeks" else 1)
        ahead = (count if named is None else Fraction(named)) + int(match.values.get("start", "0"))
        if ahead.denominator > 1 or not 1 <= ahead <= _MAX_AHEAD:
            return None
        days = int(ahead)
        return lambda context: _full_date(language, context.now.date() + timedelta(days=days))
    weekday, in_next_week = int(match.values["coming_weekday"]), match.values.get("coming") == "next week"

    def reply(context: SkillContext) -> str:
        today = context.now.date()
        ahead = 7 - today.weekday() + weekday if in_next_week else (weekday - today.weekday() - 1) % 7 + 1
        return _full_date(language, today + timedelta(days=ahead))

    return reply


def _full_date(language: Language, day: date) -> str:
    return language.say("date_ahead", date=language.phrases.full_date(day), year=language.phrases.year(day.year))


def _count_sentence(language: Language, answer: str, name: DayName, count: int, *, weeks: bool) -> str:
    phrases = language.phrases
    return language.say(
        answer,
        of=count,
        day=phrases.day(name),
        until=phrases.until(name),
        since=phrases.since(name),
        days=phrases.days(count, weeks=weeks),
    )


def _day(match: TemplateMatch, which: str = "") -> _SpokenDate | None:
    """Returns the date in the slots that begin with `which`; None if the numbers are not a date."""
    values, numbers = match.values, match.numbers
    if (weekday := values.get(f"{which}weekday")) is not None:
        return _SpokenDate(weekday=int(weekday))
    if (holiday := values.get(f"{which}holiday")) is not None:
        if holiday.startswith("easter"):
            return _SpokenDate(words=match.words[f"{which}holiday"], after_easter=int(holiday.removeprefix("easter")))
        month, day = holiday.split("-")
        return _SpokenDate(int(month), int(day), words=match.words[f"{which}holiday"])
    number, ordinal = numbers.get(f"{which}d", Fraction(0)), int(values.get(f"{which}o", "0"))
    if ordinal and number and not (number in (20, 30) and ordinal < 10):
        return None
    total = number + ordinal
    year = _year(numbers)
    if total.denominator > 1 or not 1 <= total <= 31 or (year is not None and not 1 <= year <= _LAST_YEAR):
        return None
    return _SpokenDate(int(values[f"{which}m"]), int(total), year)


def _year(numbers: dict[str, Fraction]) -> int | None:
    """Returns the year; "twenty twenty seven" arrives as two numbers, "2027" as one."""
    if "y" not in numbers:
        return None
    first, second = numbers["y"], numbers.get("z")
    year = first if second is None else first * 100 + second
    fits = year.denominator == 1 and (second is None or (10 <= first < 100 and 0 <= second < 100))
    return int(year) if fits else 0
