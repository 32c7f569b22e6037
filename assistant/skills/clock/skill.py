"""Declares the skill clock: the time and the date, here and in other places."""

from datetime import tzinfo

from assistant.skills.answers import Reply
from assistant.skills.clock.replies import (
    date_of_other_day,
    load_zones,
    tell_date,
    tell_month,
    tell_time,
    tell_year,
    time_elsewhere,
)
from assistant.skills.kinds import SentenceSkill, without_match
from assistant.skills.languages.language import LANGUAGES, Language, read_skill
from assistant.skills.languages.sentences import TemplateMatch
from declarations.skill import Skill


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

    def _time_elsewhere(self, found: TemplateMatch, language: Language) -> Reply:
        return time_elsewhere(found, language, self._zones)


SKILL = Skill(
    name="clock",
    make=lambda _request: ClockSkill(),
    about="the time and the date, here and in other places",
    package=__package__,
    languages=LANGUAGES,
    shares_sentences=True,
    order=10,
)
