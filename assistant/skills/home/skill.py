"""Declares the skill home: switches lights, heating, scenes and media."""

from typing import TYPE_CHECKING

from assistant.skills.languages.language import LANGUAGES
from declarations.skill import Skill

if TYPE_CHECKING:
    from assistant.skills.home.replies import HomeSkill
    from assistant.skills.kinds import SkillRequest


def make(request: "SkillRequest") -> "HomeSkill":
    """Returns the skill. The home is read in the background from now on."""
    from assistant.skills.home.replies import HomeSkill  # noqa: PLC0415 - where it is configured only

    assert request.home is not None, "it is needed"
    skill = HomeSkill(request.home)
    request.home.on_state = skill.prepare
    request.home.start()
    return skill


SKILL = Skill(
    name="home",
    make=make,
    about="lights, heating, scenes and media of Home Assistant",
    package=__package__,
    languages=LANGUAGES,
    needs=frozenset({"home"}),
    order=93,
)
