"""docs/skills.md says what is true: each of its examples is asked, and no intent is missing."""

import random
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from assistant.skills import SkillContext
from assistant.skills.sentences import Sentences
from assistant.skills.skills import Skills, no_model_answer

PAGE = (Path(__file__).parents[2] / "docs" / "skills.md").read_text(encoding="utf-8")
ROWS = [
    tuple(cell.strip() for cell in line.strip("|").split("|"))
    for line in PAGE.splitlines()
    if line.startswith("| ") and not line.startswith("| skill ")
]
NOW = datetime(2026, 11, 20, 22, 43, tzinfo=ZoneInfo("Europe/Berlin"))


@pytest.fixture(scope="module")
def skills() -> Skills:
    loaded = Skills()
    loaded.load()
    return loaded


@pytest.mark.parametrize(("skill", "said", "text"), ROWS)
def test_the_example_is_true(skills: Skills, skill: str, said: str, text: str) -> None:
    answer = skills.answer(said, SkillContext(NOW, "Seven times eight is fifty-six.", rng=random.Random(1)))
    assert answer is not None
    assert (answer.skill, answer.text) == (skill, text)


def test_no_intent_is_missing() -> None:
    sentences = Sentences()
    shown = {found.intent for _skill, said, _text in ROWS if (found := sentences.find(said))}
    assert shown == set(sentences.intents.intents)


def test_the_answer_without_a_model_is_quoted() -> None:
    assert no_model_answer("tell me a story") in " ".join(PAGE.split())
