"""All skills in all languages, loaded once for the test files of a process: it takes 3 s."""

import re
from dataclasses import replace
from functools import cache
from typing import TypeVar

from assistant.skills.answers import SetAlarm, SetTimer, SkillAnswer, SkillContext
from assistant.skills.languages.language import LANGUAGES
from assistant.skills.languages.sentences import SentenceTemplates
from assistant.skills.skills import Skills
from assistant.text.normalization.reading import spoken

_SENTENCE_START = re.compile(r"(?:\A|(?<=[.?!] ))[^\W\d_]")


class SpokenSkills(Skills):
    """The skills, with their answers and announcements in spoken form, as the voice gets them."""

    def answer(self, text: str, context: SkillContext) -> SkillAnswer | None:
        """See `Skills`."""
        answer = super().answer(text, context)
        if answer is None:
            return None
        effect = answer.effect
        if isinstance(effect, SetTimer | SetAlarm):
            effect = replace(effect, announcement=spoken_form(effect.announcement, context.language))
        return replace(answer, text=spoken_form(answer.text, context.language), effect=effect)


def spoken_form(text: str, language: str = "en") -> str:
    """Returns the spoken form of an answer. Sentences begin with a capital letter, and "A.M" is "AM"."""
    said = spoken(text, language).replace("A.M", "AM")
    return said if text[:1].islower() else _SENTENCE_START.sub(lambda found: found[0].upper(), said)


@cache
def written_skills() -> Skills:
    """Returns the skills as the program uses them: their answers are written.

    They only remember their latest match, so test files may share them.
    """
    skills = Skills()
    for code in LANGUAGES:
        skills.load(code)
    return skills


@cache
def loaded_skills() -> Skills:
    """Returns the skills with spoken answers."""
    return with_shared_tables(SpokenSkills())


S = TypeVar("S", bound=Skills)


def with_shared_tables(skills: S, language: str = "en") -> S:
    """Gives skills the tables of `written_skills`, and loads only their services. Returns the skills."""
    skills._tables = written_skills()._tables
    for service in skills.services:
        service.load(language)
    return skills


def sentence_templates(code: str) -> SentenceTemplates:
    """Returns the sentences of all skills in a language."""
    return written_skills()._tables[code].sentences
