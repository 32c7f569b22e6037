"""Declares the skill arithmetic: calculations, percentages and tips."""

from fractions import Fraction

from assistant.skills.answers import Reply
from assistant.skills.arithmetic.expressions import calculate_expression, expression_in
from assistant.skills.arithmetic.replies import ARITHMETIC, UnanswerableError, calculate, divide
from assistant.skills.kinds import LEFT_TO_MODEL, Match, SentenceSkill
from assistant.skills.languages.language import LANGUAGES, Language
from assistant.skills.languages.sentences import SentenceTemplates, TemplateMatch
from declarations.skill import Skill

PERCENTAGES = frozenset(("percent_on", "percent_off", "percent_share"))
"""The intents that `calculate_percent` answers."""

_MAX_PEOPLE = 1000


def calculate_percent(match: TemplateMatch, language: Language) -> Reply | None:
    """Adds or takes off a percentage, or tells which percentage one number is of another."""
    first, second = match.numbers["a"], match.numbers["b"]
    try:
        if match.intent == "percent_share":
            text = language.say("percent_share", number=language.number(divide(100 * first, second)))
        else:
            sign = 1 if match.intent == "percent_on" else -1
            number = _with_currency(language, second * (1 + sign * first / 100), match)
            text = language.say("result", number=number)
    except UnanswerableError as reason:
        text = language.say(str(reason))
    return lambda _context: text


def calculate_tip(match: TemplateMatch, language: Language) -> Reply | None:
    """Tells the tip, the sum with it, and the share of each person if several pay."""
    percent, bill = match.numbers["a"], match.numbers["b"]
    people = match.numbers.get("people", Fraction(1))
    if bill <= 0 or percent < 0 or not _is_number_of_people(people):
        return None
    tip = bill * percent / 100
    text = language.say(
        "tip", tip=_with_currency(language, tip, match), total=_with_currency(language, bill + tip, match)
    )
    if people > 1:
        text = f"{text} {_share(language, bill + tip, people, match)}"
    return lambda _context: text


def split_sum(match: TemplateMatch, language: Language) -> Reply | None:
    """Tells the share of each person."""
    bill, people = match.numbers["b"], match.numbers["people"]
    if bill <= 0 or not _is_number_of_people(people):
        return None
    text = _share(language, bill, people, match)
    return lambda _context: text


def _is_number_of_people(people: Fraction) -> bool:
    return people.denominator == 1 and 1 <= people <= _MAX_PEOPLE


def _share(language: Language, total: Fraction, people: Fraction, match: TemplateMatch) -> str:
    return language.say("each_pays", each=_with_currency(language, total / people, match))


def _with_currency(language: Language, amount: Fraction, match: TemplateMatch) -> str:
    number = language.number(round(amount, 2))
    currency = match.values.get("currency")
    return number if currency is None else f"{number} {currency}"


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

    def accepts(self, match: TemplateMatch, text: str) -> bool:
        """Returns False for brackets: they change the order of operations, which no template supports."""
        return match.intent not in ARITHMETIC or _BRACKETS.isdisjoint(text)


SKILL: Skill = Skill(
    name="arithmetic",
    make=lambda _request: ArithmeticSkill(SKILL, REPLIES),
    about="calculations, percentages and tips",
    package=__package__,
    languages=LANGUAGES,
    shares_sentences=True,
    order=40,
)
