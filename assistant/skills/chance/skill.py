"""Declares the skill chance: coins, dice and random numbers."""

from assistant.skills.chance.replies import flip_coin, pick_number, roll_dice
from assistant.skills.kinds import SentenceSkill, without_match
from assistant.skills.languages.language import LANGUAGES
from declarations.skill import Skill

REPLIES = {"chance": {"coin": without_match(flip_coin), "dice": roll_dice, "pick_number": pick_number}}

SKILL: Skill = Skill(
    name="chance",
    make=lambda _request: SentenceSkill(SKILL, REPLIES),
    about="coins, dice and random numbers",
    package=__package__,
    languages=LANGUAGES,
    shares_sentences=True,
    order=80,
)
