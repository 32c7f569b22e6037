"""Declares the skill voice: the volume and the speed of the voice."""

from assistant.skills.kinds import SentenceSkill
from assistant.skills.languages.language import LANGUAGES
from assistant.skills.voice.replies import change_voice, set_volume
from declarations.skill import Skill

REPLIES = {
    "voice": {**dict.fromkeys(("louder", "quieter", "faster", "slower"), change_voice), "volume_set": set_volume}
}

SKILL: Skill = Skill(
    name="voice",
    make=lambda _request: SentenceSkill(SKILL, REPLIES),
    about="volume and speed of the voice",
    package=__package__,
    languages=LANGUAGES,
    shares_sentences=True,
    order=91,
)
