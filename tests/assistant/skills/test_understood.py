"""Sentences that the skills understand, with slots and answers, and those left to a model, of all languages."""

import json
import random
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from support.conversations.loaded_skills import loaded_skills
from support.texts.text_cases import text_cases

from assistant.skills.answers import SkillContext
from assistant.skills.languages.language import LANGUAGES, load_language
from assistant.skills.languages.sentences import SentenceTemplates
from assistant.skills.skills import Skills

NOW = datetime(2026, 11, 20, 22, 43, tzinfo=ZoneInfo("Europe/Berlin"))
LAST_REPLIES = {
    "en": "Seven times eight is fifty-six.",
    "de": "Sieben mal acht ist sechsundfünfzig.",
    "fr": "Sept fois huit font cinquante-six.",
    "es": "Siete por ocho son cincuenta y seis.",
}
LEAST = {"en": (300, 60), "de": (90, 35), "fr": (90, 35), "es": (90, 35)}
"""Least number of sentences of each language that are understood, and that are left to a model."""


def rows(name: str) -> list[list[str]]:
    lines = (Path(__file__).parent / "tables" / name).read_text(encoding="utf-8").splitlines()
    return [line.split("\t") for line in lines[1:]]


UNDERSTOOD = rows("understood.tsv")
LEFT_TO_A_MODEL = rows("left_to_a_model.tsv")


@pytest.fixture(scope="module")
def skills() -> Skills:
    return loaded_skills()


@pytest.fixture(scope="module")
def sentences() -> dict[str, SentenceTemplates]:
    return {code: SentenceTemplates(load_language(code)) for code in LANGUAGES}


def context(code: str) -> SkillContext:
    return SkillContext(NOW, LAST_REPLIES[code], language=code, rng=random.Random(1))


@text_cases(("code", "skill", "slots", "said", "text"), UNDERSTOOD, columns=(0, 3))
def test_sentence_is_understood_and_answered(
    skills: Skills, sentences: dict[str, SentenceTemplates], code: str, skill: str, slots: str, said: str, text: str
) -> None:
    answer = skills.answer(said, context(code))
    assert answer is not None
    assert (answer.skill, answer.text) == (skill, text)
    if slots != "-":
        found = sentences[code].find(said)  # no template contains a word to spell
        heard = {**{slot: str(number) for slot, number in found.numbers.items()}, **found.values} if found else {}
        assert heard == json.loads(slots)


@text_cases(("code", "said"), LEFT_TO_A_MODEL, columns=(0, 1))
def test_sentence_is_left_to_a_model(skills: Skills, code: str, said: str) -> None:
    assert skills.answer(said, context(code)) is None


@pytest.mark.parametrize("code", LANGUAGES)
def test_tables_are_large_enough(code: str) -> None:
    understood, left = LEAST[code]
    assert len({said for language, _skill, _slots, said, _text in UNDERSTOOD if language == code}) >= understood
    assert len({said for language, said in LEFT_TO_A_MODEL if language == code}) >= left


def test_repeat_without_a_previous_reply(skills: Skills) -> None:
    answer = skills.answer("say that again", SkillContext(NOW))
    assert answer is not None
    assert answer.text == "I haven't said anything yet."


def test_unsupported_language_is_not_understood(skills: Skills) -> None:
    assert skills.answer("what time is it", SkillContext(NOW, language="it")) is None
    assert skills.answer("what time is it", SkillContext(NOW, language="en-GB")) is not None


def test_context_without_time_zone_raises() -> None:
    with pytest.raises(ValueError, match="no time zone"):
        SkillContext(NOW.replace(tzinfo=None))


def test_match_before_load_raises() -> None:
    with pytest.raises(RuntimeError, match="load"):
        Skills().match("what time is it")
