"""Declares the skill smalltalk: greetings and thanks, repetition, and what the assistant can do."""

from assistant.skills.answers import Reply, SkillAnswer
from assistant.skills.kinds import Replies, SentenceSkill
from assistant.skills.languages.language import LANGUAGES, Language
from assistant.skills.languages.sentences import TemplateMatch
from declarations.skill import Skill


def repeat(match: TemplateMatch, language: Language) -> Reply | None:
    """Says the last reply again: "say that one more time", but not "five more times"."""
    if match.numbers.get("times", 1) != 1:
        return None
    return lambda context: context.last_reply or language.say("nothing_said")


def tell_abilities(_found: TemplateMatch, language: Language) -> Reply:
    """Tells what the skills can do."""
    text = language.say("abilities", abilities=language.phrases.join(list(language.abilities)))
    return lambda _context: SkillAnswer(text, "help")  # nothing can refer to it


REPLIES: Replies = {"repeat": {"repeat": repeat}, "help": {"help": tell_abilities}}

SKILL: Skill = Skill(
    name="smalltalk",
    make=lambda _request: SentenceSkill(SKILL, REPLIES),
    about="greetings and thanks, repetition, and what the assistant can do",
    package=__package__,
    languages=LANGUAGES,
    shares_sentences=True,
    order=90,
)
