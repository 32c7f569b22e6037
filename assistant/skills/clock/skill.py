"""Declares the skill clock: the time and the date, here and in other places."""

from datetime import timedelta, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from assistant.skills.answers import Reply, SkillContext
from assistant.skills.kinds import SentenceSkill, without_match
from assistant.skills.languages.language import LANGUAGES, Language, read_skill
from assistant.skills.languages.sentences import TemplateMatch
from declarations.skill import Skill


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


def time_elsewhere(match: TemplateMatch, language: Language, zones: dict[str, tzinfo]) -> Reply:
    """Returns the time in the named city, and the day there if it differs."""
    place, zone = language.phrases.place(match.words["city"]), zones.get(match.values["city"])

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


def date_of_other_day(match: TemplateMatch, language: Language) -> Reply:
    """Returns the date a number of days from today."""
    days = int(match.values.get("other_day") or match.values["other_day_of"])

    def reply(context: SkillContext) -> str:
        # The calendar's next day, independent of clock changes.
        then = context.now.date() + timedelta(days=days)
        return language.say(f"day_{days}", date=language.phrases.full_date(then))

    return reply


def zone_names(code: str) -> set[str]:
    """Returns the time zones of all places that the skill knows in a language."""
    return {city["out"] for city in read_skill(SKILL.package, code)["lists"]["city"]["values"]}


class ClockSkill(SentenceSkill):
    """Knows the time zones of places."""

    def __init__(self) -> None:
        dates = {"year": tell_year, "month": tell_month, "date": tell_date}
        super().__init__(
            SKILL,
            {
                "time": {"time": without_match(tell_time), "time_in_city": self._time_elsewhere},
                "date": {
                    **{intent: without_match(tell) for intent, tell in dates.items()},
                    "date_of_other_day": date_of_other_day,
                },
            },
        )
        self._zones: dict[str, tzinfo] = {}

    def load(self, code: str) -> None:
        """Reads the time zones, which blocks."""
        self._zones |= load_zones(zone_names(code) - self._zones.keys())

    def _time_elsewhere(self, match: TemplateMatch, language: Language) -> Reply:
        return time_elsewhere(match, language, self._zones)


SKILL = Skill(
    name="clock",
    make=lambda _request: ClockSkill(),
    about="the time and the date, here and in other places",
    package=__package__,
    languages=LANGUAGES,
    shares_sentences=True,
    order=10,
)
