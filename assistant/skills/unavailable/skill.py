"""Declares the skill unavailable: says what is not connected."""

from assistant.skills.kinds import SentenceSkill
from assistant.skills.languages.language import LANGUAGES
from declarations.skill import Skill

WITHOUT_HOME = frozenset({"lights", "devices"})
"""Names in traces of the answers that no home is connected."""

SKILL: Skill = Skill(
    name="unavailable",
    make=lambda _request: SentenceSkill(SKILL, {}),
    about="says what is missing: music, calendar, news, services that are not connected",
    package=__package__,
    languages=LANGUAGES,
    shares_sentences=True,
    order=92,
)
