"""Declares the skill voice: the volume and the speed of the voice."""

import math
from fractions import Fraction

from assistant.skills.answers import (
    LOUDEST_DB,
    QUIETEST_DB,
    SILENT_DB,
    AnswerWithEffect,
    ChangeSpeed,
    ChangeVolume,
    Reply,
    SetVolume,
)
from assistant.skills.kinds import SentenceSkill
from assistant.skills.languages.language import LANGUAGES, Language
from assistant.skills.languages.sentences import TemplateMatch
from declarations.skill import Skill

_VOLUME_STEP_DB = {"little": 3.0, "some": 6.0, "much": 10.0}
_SPEED_STEPS = {"little": 1, "some": 2, "much": 4}

_TENTHS = 10
"""The volume up to this number counts tenths, unless it is said in percent."""


def set_volume(match: TemplateMatch, language: Language) -> Reply | None:
    """Sets the volume to a percentage, or to one of ten steps. 50 percent is about the normal volume; 0 is silent."""
    share = match.numbers["to"] if "to" in match.numbers else Fraction(match.values["level"])
    if not 0 <= share <= 100:
        return lambda _context: language.say("volume_range")
    if "to" in match.numbers and share <= _TENTHS and "percent" not in match.values:
        share *= 100 // _TENTHS
    # Ten decibels are about twice as loud.
    db = SILENT_DB if share == 0 else max(LOUDEST_DB + 10 * math.log2(share / 100), QUIETEST_DB)
    deed = AnswerWithEffect(language.say("volume_set", percent=language.number(share)), SetVolume(db))
    return lambda _context: deed


def change_voice(match: TemplateMatch, language: Language) -> Reply:
    """Makes the voice louder, quieter, faster or slower, as the intent says, by a little or a lot."""
    how_much = match.values.get("how_much", "some")
    effect: ChangeVolume | ChangeSpeed
    if match.intent in ("louder", "quieter"):
        step_db = _VOLUME_STEP_DB[how_much]
        effect = ChangeVolume(step_db if match.intent == "louder" else -step_db)
    else:
        steps = _SPEED_STEPS[how_much]
        effect = ChangeSpeed(steps if match.intent == "faster" else -steps)
    deed = AnswerWithEffect(language.say(match.intent), effect)
    return lambda _context: deed


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
