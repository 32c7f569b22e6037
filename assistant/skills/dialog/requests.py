"""The skills as the dialog uses them, and what an answer of theirs leaves to refer to."""

from dataclasses import replace
from typing import Protocol

from assistant.skills.answers import (
    AddTime,
    Asking,
    MoveAlarm,
    PauseTimers,
    RenameTimers,
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

    def reply_to(self, match: TemplateMatch, context: SkillContext) -> SkillAnswer | None:
        """Returns the answer to a request; None if a skill declines it."""
        ...

    def find(self, text: str) -> TemplateMatch | None:
        """Returns the request that `text` is; None if no template matches."""
        ...


def spoken_answer(
    answer: Said,
    skill: str,
    match: TemplateMatch | None,
    *,
    missing: bool = False,
    before_llm: bool = True,
) -> SkillAnswer:
    """Returns what a reply gave as an answer. `match`: the request; None if nothing can refer to it."""
    if isinstance(answer, SkillAnswer):
        return answer if before_llm else replace(answer, before_llm=False)
    if isinstance(answer, Asking):
        text, question = f"{answer.before} {answer.question_text}".strip(), answer.question
        return SkillAnswer(text, skill, question=question, question_text=answer.question_text, before_llm=before_llm)
    text, effect = (answer, None) if isinstance(answer, str) else (answer.text, answer.effect)
    subject = None if match is None or missing else subject_of(match, effect)
    subjects = () if subject is None else (subject,)
    return SkillAnswer(text, skill, effect, missing, subjects=subjects, before_llm=before_llm)


def subject_of(match: TemplateMatch, effect: SkillEffect | None) -> Subject | None:
    """Returns what "it" refers to after a request with this effect."""
    if match.answer is not None or match.intent == "repeat":
        return None
    match next(reversed(each_effect(effect)), None):
        case SetTimer(seconds, name):
            return TimerSet(match, name, seconds)
        case SetAlarm(local_time, about=about):
            return AlarmSet(match, local_time, about)
        case PauseTimers(numbers) | ResumeTimers(numbers) | AddTime(numbers) | RenameTimers(numbers):
            return EntriesNamed(match, numbers)
        case MoveAlarm(number):
            return EntriesNamed(match, (number,))
        case _:
            return EntriesNamed(match) if kind_of(match) is not None else RequestAnswered(match)
