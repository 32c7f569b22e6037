"""All skills in all languages, loaded once for the test files of a process: loading takes a second."""

from functools import cache

from assistant.skills.language import LANGUAGES
from assistant.skills.skills import Skills


@cache
def loaded_skills() -> Skills:
    """Returns the skills. They only remember their latest match, so files may share them."""
    skills = Skills()
    for code in LANGUAGES:
        skills.load(code)
    return skills
