"""All skills in all languages, loaded once for the test files of a process: loading takes a second."""

import re
from dataclasses import replace
from functools import cache

from assistant.skills.answers import SetAlarm, SetTimer, SkillAnswer, SkillContext
from assistant.skills.languages.language import LANGUAGES
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
def loaded_skills() -> Skills:
    """Returns the skills, with spoken answers. They only remember their latest match, so files may share them."""
    return _loaded(SpokenSkills())


@cache
def written_skills() -> Skills:
    """Returns the skills as the program uses them: their answers are written."""
    return _loaded(Skills())


def _loaded(skills: Skills) -> Skills:
    for code in LANGUAGES:
        skills.load(code)
    return skills
