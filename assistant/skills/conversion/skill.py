"""Declares the skill conversion: units of measurement."""

from assistant.skills.conversion.replies import CONVERSION, convert_units
from assistant.skills.kinds import SentenceSkill
from assistant.skills.languages.language import LANGUAGES
from declarations.skill import Skill

REPLIES = {"conversion": dict.fromkeys(CONVERSION, convert_units)}

SKILL: Skill = Skill(
    name="conversion",
    make=lambda _request: SentenceSkill(SKILL, REPLIES),
    about="units of measurement",
    package=__package__,
    languages=LANGUAGES,
    shares_sentences=True,
    order=50,
)
