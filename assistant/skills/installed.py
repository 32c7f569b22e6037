"""Makes the installed skills from their declarations."""

from collections.abc import Callable

from assistant.registry.skills import SKILLS, shared_skills, skills_in_order
from assistant.skills.kinds import MatchingSkill, SentenceSkill, SkillRequest
from assistant.skills.languages.language import LANGUAGES
from assistant.skills.tables import SeparateSentences
from declarations.settings import NoSettings
from declarations.skill import Skill


def sentence_skills() -> tuple[SentenceSkill, ...]:
    """Returns the skills of the program that share their sentences, in order."""
    made = [declared.make(SkillRequest(NoSettings(), {})) for declared in shared_skills()]
    return tuple(skill for skill in made if isinstance(skill, SentenceSkill))


def matching_skills(request_of: Callable[[Skill], SkillRequest | None]) -> list[MatchingSkill]:
    """Returns the other skills, in order. One of another package that cannot be made is reported and left out.

    `request_of`: returns the settings and services of a skill; None if a service that it needs is not configured.
    """
    made: list[MatchingSkill] = []
    for declared in _separate_skills():
        request = request_of(declared)
        if request is None:
            continue
        if SKILLS.is_of_program(declared.name):
            own = declared.make(request)
            assert isinstance(own, MatchingSkill)
            made.append(own)
            continue
        try:
            made.append(_foreign_skill(declared, request))
        except Exception as error:  # noqa: BLE001 - a foreign package may raise anything; the others must work
            SKILLS.reject(declared.name, error)
    return made


def check_skills(request_of: Callable[[Skill], SkillRequest | None]) -> None:
    """Makes the skills of other packages and builds their tables. Those that fail are reported to the registry."""
    for declared in _separate_skills():
        request = None if SKILLS.is_of_program(declared.name) else request_of(declared)
        if request is None:
            continue
        try:
            skill = _foreign_skill(declared, request)
            for code in LANGUAGES:
                if code in declared.languages:
                    skill.build(code)
        except Exception as error:  # noqa: BLE001 - as above
            SKILLS.reject(declared.name, error)


def _separate_skills() -> tuple[Skill, ...]:
    shared = shared_skills()
    return tuple(declared for declared in skills_in_order() if declared not in shared)


def _foreign_skill(declared: Skill, request: SkillRequest) -> SeparateSentences:
    made = declared.make(request)
    if not isinstance(made, SentenceSkill):
        raise TypeError(f"its `make` returns no SentenceSkill, but a {type(made).__name__}")
    return SeparateSentences(made)
