"""Declares the skill arithmetic: calculations, percentages and tips."""

from assistant.skills.arithmetic.expressions import calculate_expression, expression_in
from assistant.skills.arithmetic.replies import ARITHMETIC, calculate
from assistant.skills.arithmetic.tips import PERCENTAGES, calculate_percent, calculate_tip, split_sum
from assistant.skills.kinds import LEFT_TO_MODEL, Match, SentenceSkill
from assistant.skills.languages.language import LANGUAGES, Language
from assistant.skills.languages.sentences import SentenceTemplates, TemplateMatch
from declarations.skill import Skill

_BRACKETS = frozenset("()")

REPLIES = {
    "arithmetic": {**dict.fromkeys(ARITHMETIC, calculate), **dict.fromkeys(PERCENTAGES, calculate_percent)},
    "tip": {"tip": calculate_tip, "split_sum": split_sum},
}


class ArithmeticSkill(SentenceSkill):
    """Calculates typed expressions, too."""

    def recognize(self, text: str, sentences: SentenceTemplates, language: Language) -> Match | None:
        """See `SentenceSkill`: "2 * (3 + 4)"."""
        wording = sentences.wording
        expression = expression_in(text, wording.expression_frame, wording.thousands, wording.decimal)
        if expression is None:
            return None
        reply = calculate_expression(expression, language)
        return LEFT_TO_MODEL if reply is None else Match("arithmetic", reply)

    def accepts(self, found: TemplateMatch, text: str) -> bool:
        """Returns False for brackets: they change the order of operations, which no template supports."""
        return found.intent not in ARITHMETIC or _BRACKETS.isdisjoint(text)


SKILL: Skill = Skill(
    name="arithmetic",
    make=lambda _request: ArithmeticSkill(SKILL, REPLIES),
    about="calculations, percentages and tips",
    package=__package__,
    languages=LANGUAGES,
    shares_sentences=True,
    order=40,
)
