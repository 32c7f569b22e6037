"""A skill of its own package: it draws a playing card. Its sentences and answers are in `en.yaml` and `de.yaml`.

To use it: `pip install ./examples/skill`, then `repartee talk`, and say "draw a card" or "draw three cards".
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from declarations.settings import KeyInfo
from declarations.skill import Skill

if TYPE_CHECKING:  # the declaration below is read at every start
    from assistant.skills.answers import Reply, SkillContext
    from assistant.skills.kinds import SentenceSkill, SkillRequest
    from assistant.skills.languages.language import Language
    from assistant.skills.languages.sentences import TemplateMatch

SUITS = ("clubs", "diamonds", "hearts", "spades")


@dataclass(frozen=True, slots=True)
class CardSettings:
    """A deck of playing cards."""

    lowest: Annotated[int, KeyInfo("Lowest number in the deck.", low=2, high=10)] = 2


def make(request: "SkillRequest") -> "SentenceSkill":
    """Returns the skill."""
    from assistant.skills.kinds import SentenceSkill

    assert isinstance(request.settings, CardSettings)
    ranks = (*map(str, range(request.settings.lowest, 11)), "jack", "queen", "king", "ace")
    deck = [(suit, rank) for suit in SUITS for rank in ranks]

    def draw(match: "TemplateMatch", language: "Language") -> "Reply | None":
        """Draws cards. Returns None for a number that no deck has: a language model answers it, if there is one."""
        count = match.numbers.get("count", 1)
        if count not in range(1, len(deck) + 1):
            return None

        def reply(context: "SkillContext") -> str:
            drawn = context.rng.sample(deck, int(count))
            cards = [
                language.piece(
                    "card", rank=rank if rank.isdecimal() else language.piece(rank), suit=language.piece(suit)
                )
                for suit, rank in drawn
            ]
            return language.say("drawn", cards=language.phrases.join(cards))

        return reply

    return SentenceSkill(SKILL, {"cards": {"draw": draw}})


SKILL = Skill(
    name="cards",
    make=make,
    about="draws playing cards",
    package=__name__,
    languages=("en", "de"),
    settings=CardSettings,
)
