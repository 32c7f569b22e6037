"""Declares the skill weather: now, today and the next days."""

from typing import TYPE_CHECKING

from assistant.skills.languages.language import LANGUAGES
from declarations.skill import Skill

if TYPE_CHECKING:
    from assistant.skills.kinds import SkillRequest
    from assistant.skills.weather.replies import WeatherSkill


def make(request: "SkillRequest") -> "WeatherSkill":
    """Returns the skill."""
    from assistant.skills.weather.replies import WeatherSkill  # noqa: PLC0415 - where it is configured only

    assert request.weather is not None, "it is needed"
    return WeatherSkill(request.weather)


SKILL = Skill(
    name="weather",
    make=make,
    about="the weather now, today and on the next days",
    package=__package__,
    languages=LANGUAGES,
    needs=frozenset({"weather"}),
    order=94,
)
