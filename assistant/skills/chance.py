"""Coins, dice and numbers by chance; the luck is in the context."""

from fractions import Fraction

from assistant.skills import Reply, SkillContext
from assistant.skills.durations import join
from assistant.skills.say import say_number
from assistant.skills.sentences import Found

_MOST_DICE = 6
_MOST_SIDES = 1000
_LARGEST = 10**9


def flip_coin(context: SkillContext) -> str:
    """Heads or tails."""
    return f"It's {context.rng.choice(('heads', 'tails'))}."


def roll_dice(found: Found) -> Reply:
    """One die or several, and their sum."""
    count = found.numbers.get("count", Fraction(1))
    sides = found.numbers.get("sides", Fraction(6))
    if count.denominator > 1 or not 1 <= count <= _MOST_DICE:
        return lambda _context: f"I can roll one to {say_number(Fraction(_MOST_DICE))} dice."
    if sides.denominator > 1 or not 2 <= sides <= _MOST_SIDES:
        return lambda _context: f"A die of mine has two to {say_number(Fraction(_MOST_SIDES))} sides."

    def reply(context: SkillContext) -> str:
        rolls = [context.rng.randint(1, int(sides)) for _ in range(int(count))]
        told = join([say_number(Fraction(roll)) for roll in rolls])
        return f"It's {told}." if len(rolls) == 1 else f"{told.capitalize()}: {say_number(Fraction(sum(rolls)))}."

    return reply


def pick_number(found: Found) -> Reply:
    """A whole number within two bounds, both included."""
    low, high = sorted((found.numbers["low"], found.numbers["high"]))
    if low.denominator > 1 or high.denominator > 1:
        return lambda _context: "I can pick whole numbers only."
    if max(abs(low), abs(high)) > _LARGEST:
        return lambda _context: "Those numbers are too big for me."
    return lambda context: f"{say_number(Fraction(context.rng.randint(int(low), int(high)))).capitalize()}."
