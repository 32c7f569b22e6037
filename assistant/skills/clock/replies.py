"""The time and the date, here and in other places."""

from datetime import timedelta, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from assistant.skills.answers import Reply, SkillContext
from assistant.skills.languages.language import Language
from assistant.skills.languages.sentences import TemplateMatch


def load_zones(names: set[str]) -> dict[str, tzinfo]:
    """Returns those of the time zones `names` that this machine knows. Reads the time zone database once."""
    zones: dict[str, tzinfo] = {}
    for name in sorted(names):
        try:
            zones[name] = ZoneInfo(name)
        except ZoneInfoNotFoundError:  # a minimal system without tzdata: answered when the user asks
            continue
    return zones


def tell_time(language: Language, context: SkillContext) -> str:
    """Returns the local time."""
    return language.say("time", time=language.phrases.time_is(context.now.time()))


def tell_date(language: Language, context: SkillContext) -> str:
    """Returns today's date."""
    phrases = language.phrases
    return language.say("date", date=phrases.full_date(context.now), year=phrases.year(context.now.year))


def tell_year(language: Language, context: SkillContext) -> str:
    """Returns the current year."""
    return language.say("this_year", year=language.phrases.year(context.now.year))


def tell_month(language: Language, context: SkillContext) -> str:
    """Returns the current month."""
    return language.say("this_month", month=language.phrases.month(context.now.month))


def time_elsewhere(found: TemplateMatch, language: Language, zones: dict[str, tzinfo]) -> Reply:
    """Returns the time in the named city, and the day there if it differs."""
    place, zone = language.phrases.place(found.said["city"]), zones.get(found.values["city"])

    def reply(context: SkillContext) -> str:
        if zone is None:
            return language.say("no_zones", place=place)
        there = context.now.astimezone(zone)
        time = language.phrases.time_is(there.time())
        if there.date() == context.now.date():
            return language.say("time_there", time=time, place=place)
        weekday = language.phrases.weekday(there.weekday())
        return language.say("time_there_on", time=time, weekday=weekday, place=place)

    return reply


def date_of_other_day(found: TemplateMatch, language: Language) -> Reply:
    """Returns the date a number of days from today."""
    days = int(found.values.get("other_day") or found.values["other_day_of"])

    def reply(context: SkillContext) -> str:
        # The calendar's next day, independent of clock changes.
        then = context.now.date() + timedelta(days=days)
        return language.say(f"day_{days}", date=language.phrases.full_date(then))

    return reply
