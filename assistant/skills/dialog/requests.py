"""The skills as the dialog uses them, and what an answer of theirs leaves to refer to."""

from dataclasses import replace
from typing import Protocol

from assistant.skills.answers import (
    AddTime,
    Asking,
    PauseTimers,
    ResumeTimers,
    Said,
    SetAlarm,
    SetTimer,
    SkillAnswer,
    SkillContext,
    SkillEffect,
    each_effect,
)
from assistant.skills.dialog.memory import AlarmSet, EntriesNamed, RequestAnswered, Subject, TimerSet
from assistant.skills.dialog.slots import kind_of
from assistant.skills.dialog.words import DialogWords
from assistant.skills.languages.language import Language
from assistant.skills.languages.sentences import TemplateMatch


class Requests(Protocol):
    """The skills in one language."""

    @property
    def language(self) -> Language:
        """The language."""
        ...

    @property
    def words(self) -> DialogWords:
        """Its words around requests."""
        ...

    def reply_to(self, found: TemplateMatch, context: SkillContext) -> SkillAnswer | None:
        """Returns the answer to a request; None if a skill declines it."""
        ...

    def find(self, text: str) -> TemplateMatch | None:
        """Returns the request that `text` is; None if no template matches."""
        ...


def spoken_answer(
    said: Said,
    skill: str,
    found: TemplateMatch | None,
    *,
    missing: bool = False,
    before_llm: bool = True,
) -> SkillAnswer:
    """Returns what a reply gave as an answer. `found`: the request; None if nothing can refer to it."""
    if isinstance(said, SkillAnswer):
        return said if before_llm else replace(said, before_llm=False)
    if isinstance(said, Asking):
        text, question = f"{said.before} {said.question_text}".strip(), said.question
        return SkillAnswer(text, skill, question=question, question_text=said.question_text, before_llm=before_llm)
    text, effect = (said, None) if isinstance(said, str) else (said.text, said.effect)
    subject = None if found is None or missing else subject_of(found, effect)
    subjects = () if subject is None else (subject,)
    return SkillAnswer(text, skill, effect, missing, subjects=subjects, before_llm=before_llm)


def subject_of(found: TemplateMatch, effect: SkillEffect | None) -> Subject | None:
    """Returns what "it" refers to after a request with this effect."""
    if found.answer is not None or found.intent == "repeat":
        return None
    match next(reversed(each_effect(effect)), None):
        case SetTimer(seconds, name):
            return TimerSet(found, name, seconds)
        case SetAlarm(at, about=about):
            return AlarmSet(found, at, about)
        case PauseTimers(numbers) | ResumeTimers(numbers) | AddTime(numbers):
            return EntriesNamed(found, numbers)
        case _:
            return EntriesNamed(found) if kind_of(found) is not None else RequestAnswered(found)
