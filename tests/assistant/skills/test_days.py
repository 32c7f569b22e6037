"""Weekday of a past or future date, in each language."""

from datetime import UTC, datetime

import pytest
from support.conversations.loaded_skills import loaded_skills
from support.texts.text_cases import text_cases

from assistant.skills.answers import SkillContext
from assistant.skills.skills import Skills

NOW = datetime(2026, 11, 20, 22, 43, tzinfo=UTC)


@pytest.fixture(scope="module")
def skills() -> Skills:
    return loaded_skills()


@text_cases(
    ("code", "said", "text"),
    [
        # past tense means the latest such day, present and future the next
        ("en", "what day was november nineteenth", "November nineteenth was a Thursday."),
        ("en", "what day was december 25th", "December twenty-fifth, twenty twenty-five was a Thursday."),
        ("en", "on what day of the week was july fourth", "July fourth was a Saturday."),
        ("en", "what day did july fourth fall on", "July fourth was a Saturday."),
        ("en", "what day was christmas", "Christmas was on Thursday, December twenty-fifth."),
        ("en", "what day was february 29th", "February twenty-ninth, twenty twenty-four was a Thursday."),
        ("en", "what day will july fourth fall on", "July fourth, twenty twenty-seven is a Sunday."),
        ("en", "what day was november twentieth", "November twentieth is a Friday."),
        ("de", "Was war der vierte Juli für ein Wochentag?", "Der vierte Juli war ein Samstag."),
        ("de", "Auf welchen Tag fiel der vierte Juli?", "Der vierte Juli war ein Samstag."),
        ("de", "Was ist der vierte Juli für ein Tag?", "Der vierte Juli zweitausendsiebenundzwanzig ist ein Sonntag."),
        ("fr", "Quel jour était le quatorze juillet ?", "Le quatorze juillet était un mardi."),
        ("fr", "Le 14 juillet, c'était quel jour ?", "Le quatorze juillet était un mardi."),
        ("es", "¿Qué día fue el cuatro de julio?", "El cuatro de julio cayó en sábado."),
        ("es", "¿En qué día cayó el cuatro de julio?", "El cuatro de julio cayó en sábado."),
        # "this year" is the current year
        ("en", "what day was july 4th this year", "July fourth, twenty twenty-six was a Saturday."),
        ("en", "what day is july 4th this year", "July fourth, twenty twenty-six was a Saturday."),
        ("en", "when is valentine's day this year", "Valentine's Day was on Saturday, February fourteenth."),
        ("en", "when is christmas this year", "Christmas is on Friday, December twenty-fifth."),
        ("en", "what day was february 29th this year", "There is no February twenty-ninth that year."),
        (
            "de",
            "Welcher Wochentag war der vierte Juli dieses Jahr?",
            "Der vierte Juli zweitausendsechsundzwanzig war ein Samstag.",
        ),
        (
            "fr",
            "Quel jour tombe le 14 juillet cette année ?",
            "Le quatorze juillet deux mille vingt-six était un mardi.",
        ),
        ("es", "¿Cuándo es San Valentín este año?", "San Valentín cayó el sábado, catorce de febrero."),
    ],
    columns=(0, 1),
)
def test_weekday_answer_respects_tense_and_year(skills: Skills, code: str, said: str, text: str) -> None:
    answer = skills.answer(said, SkillContext(NOW, language=code))
    assert answer is not None
    assert (answer.skill, answer.text) == ("days", text)
