"""The pages about skills are correct: each example is asked in each language, and every intent is documented."""

import random
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from support.conversations.loaded_skills import sentence_templates
from support.texts.text_cases import text_cases

from assistant.skills.answers import SkillContext
from assistant.skills.languages.language import LANGUAGES, load_language
from assistant.skills.skills import Skills

DOCS = Path(__file__).parents[3] / "docs"
GUIDE = (DOCS / "skills.md").read_text(encoding="utf-8")
LAST_REPLIES = {
    "en": "Seven times eight is fifty-six.",
    "de": "Sieben mal acht ist sechsundfünfzig.",
    "fr": "Sept fois huit font cinquante-six.",
    "es": "Siete por ocho son cincuenta y seis.",
}
NOW = datetime(2026, 11, 20, 22, 43, tzinfo=ZoneInfo("Europe/Berlin"))


def rows(page: str, title: str) -> list[tuple[str, str, str]]:
    section = page.split(f"## {title}\n")[1].split("\n## ", maxsplit=1)[0]
    cells = [
        tuple(cell.strip() for cell in line.strip("|").split("|"))
        for line in section.splitlines()
        if line.startswith("| ") and not line.startswith("| skill ")
    ]
    return [(skill, said, text) for skill, said, text in cells]


GUIDE_ROWS = rows(GUIDE, "What skills understand")
ROWS = [
    (code, skill, said, text)
    for line in (DOCS / "data" / "skills-examples.tsv").read_text(encoding="utf-8").splitlines()[1:]
    for code, skill, said, text in [line.split("\t")]
]


@text_cases(("code", "skill", "said", "text"), [*ROWS, *(("en", *row) for row in GUIDE_ROWS)], columns=(0, 2))
def test_example_in_docs_is_true(skills: Skills, code: str, skill: str, said: str, text: str) -> None:
    answer = skills.answer(said, SkillContext(NOW, LAST_REPLIES[code], language=code, rng=random.Random(1)))
    assert answer is not None
    assert (answer.skill, answer.text) == (skill, text)


@pytest.mark.parametrize("code", LANGUAGES)
def test_docs_cover_every_intent(code: str) -> None:
    sentences = sentence_templates(code)
    said_in_code = [said for language, _skill, said, _text in ROWS if language == code]
    shown = {found.intent for said in said_in_code if (found := sentences.find(said))}
    assert shown == set(sentences.intents.intents)


def test_docs_quote_the_answer_without_a_model() -> None:
    assert load_language("en").say("no_model") in " ".join(GUIDE.split())
