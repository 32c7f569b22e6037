"""Declares the skill chance: coins, dice and random numbers."""

from fractions import Fraction

from assistant.skills.answers import Reply, SkillContext
from assistant.skills.kinds import SentenceSkill, without_match
from assistant.skills.languages.language import LANGUAGES, Language
from assistant.skills.languages.sentences import TemplateMatch
from declarations.skill import Skill

_MAX_DICE = 6
_MAX_SIDES = 1000
_MAX_NUMBER = 10**9


def flip_coin(language: Language, context: SkillContext) -> str:
    """Returns heads or tails."""
    return language.say(context.rng.choice(("heads", "tails")))


def roll_dice(match: TemplateMatch, language: Language) -> Reply:
    """Rolls one or more dice and returns their sum."""
    phrases = language.phrases
    count = match.numbers.get("count", Fraction(1))
    sides = match.numbers.get("sides", Fraction(6))
    if count.denominator > 1 or not 1 <= count <= _MAX_DICE:
        return lambda _context: language.say("dice_bounds", count=phrases.count(_MAX_DICE))
    if sides.denominator > 1 or not 2 <= sides <= _MAX_SIDES:
        return lambda _context: language.say("sides_bounds", number=phrases.count(_MAX_SIDES))

    def reply(context: SkillContext) -> str:
        rolls = [context.rng.randint(1, int(sides)) for _ in range(int(count))]
        spoken = [language.number(Fraction(roll)) for roll in rolls]
        if len(rolls) == 1:
            return language.say("rolled", number=spoken[0])
        return language.say("rolled_several", numbers=phrases.join(spoken), sum=language.number(Fraction(sum(rolls))))

    return reply


def pick_number(match: TemplateMatch, language: Language) -> Reply:
    """Picks a whole number between two bounds, both included."""
    low, high = sorted((match.numbers["low"], match.numbers["high"]))
    if low.denominator > 1 or high.denominator > 1:
        return lambda _context: language.say("whole_numbers_only")
    if max(abs(low), abs(high)) > _MAX_NUMBER:
        return lambda _context: language.say("numbers_too_big")

    def reply(context: SkillContext) -> str:
        picked = context.rng.randint(int(low), int(high))
        return language.say("picked", number=language.number(Fraction(picked)))

    return reply


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
