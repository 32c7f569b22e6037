"""The skills of all languages, with spoken answers, for the tests of this folder."""

import pytest
from support.conversations.loaded_skills import loaded_skills

from assistant.skills.skills import Skills


@pytest.fixture(scope="session")
def skills() -> Skills:
    return loaded_skills()
