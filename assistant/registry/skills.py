"""The installed skills."""

from assistant.registry.entry_points import Registry
from declarations.skill import Skill

SKILLS = Registry("repartee.skills", Skill)


def skills_in_order() -> tuple[Skill, ...]:
    """Returns the skills in the order in which they are asked: those of the program first."""
    return tuple(sorted(SKILLS.all(), key=lambda skill: (not SKILLS.is_of_program(skill.name), skill.order)))


def shared_skills() -> tuple[Skill, ...]:
    """Returns the skills of the program whose sentences are in one table, in order."""
    return tuple(skill for skill in skills_in_order() if skill.shares_sentences and SKILLS.is_of_program(skill.name))
