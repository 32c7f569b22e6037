"""The time and the date, here and elsewhere."""

from datetime import timedelta, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from assistant.skills import Reply, SkillContext
from assistant.skills.say import say_date, say_month, say_time, say_weekday, say_year
from assistant.skills.sentences import Found

_DAY_NAMES = {1: "Tomorrow is", -1: "Yesterday was", 2: "The day after tomorrow is", -2: "The day before yesterday was"}


def load_zones(names: set[str]) -> dict[str, tzinfo]:
    """The zones this machine knows among `names`; reads the time zone database once."""
    zones: dict[str, tzinfo] = {}
    for name in sorted(names):
        try:
            zones[name] = ZoneInfo(name)
        except ZoneInfoNotFoundError:  # a slim system without tzdata: said when somebody asks
            continue
    return zones


def tell_time(context: SkillContext) -> str:
    """The local time."""
    return f"It's {say_time(context.now.timetz())}."


def tell_date(context: SkillContext) -> str:
    """Today's date."""
    return f"It's {say_date(context.now)}, {say_year(context.now.year)}."


def tell_year(context: SkillContext) -> str:
    """This year."""
    return f"It's {say_year(context.now.year)}."


def tell_month(context: SkillContext) -> str:
    """This month."""
    return f"It's {say_month(context.now)}."


def time_elsewhere(found: Found, zones: dict[str, tzinfo]) -> Reply:
    """The time in the city that was named, and the day if it is another one there."""
    city, zone = found.said["city"].title(), zones.get(found.values["city"])

    def reply(context: SkillContext) -> str:
        if zone is None:
            return f"I don't know the time in {city}: this machine has no time zone database."
        there = context.now.astimezone(zone)
        day = "" if there.date() == context.now.date() else f" on {say_weekday(there)}"
        return f"It's {say_time(there.timetz())}{day} in {city}."

    return reply


def date_of_other_day(found: Found) -> Reply:
    """The date some days away from today."""
    days = int(found.values.get("other_day") or found.values["other_day_of"])

    def reply(context: SkillContext) -> str:
        # The calendar's next day, whatever the clock change in between does to its hours.
        return f"{_DAY_NAMES[days]} {say_date(context.now.date() + timedelta(days=days))}."

    return reply
