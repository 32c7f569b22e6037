"""Declares the skill unavailable: says what is not connected."""

from assistant.skills.kinds import SentenceSkill
from assistant.skills.languages.language import LANGUAGES
from declarations.skill import Skill

SKILL: Skill = Skill(
    name="unavailable",
    make=lambda _request: SentenceSkill(SKILL, {}),
    about="says what is missing: music, calendar, news, services that are not connected",
    package=__package__,
    languages=LANGUAGES,
    shares_sentences=True,
    order=92,
)
