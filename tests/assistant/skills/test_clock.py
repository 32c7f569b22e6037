"""Times of day and dates in words."""

from datetime import date, time

from support.conversations.loaded_skills import spoken_form
from support.texts.text_cases import text_cases

from assistant.skills.languages.en.phrases import PHRASES, write_time


@text_cases(
    ("moment", "words"),
    [
        (time(0, 0), "midnight"),
        (time(0, 1), "twelve oh one AM"),
        (time(1, 0), "one AM"),
        (time(9, 5), "nine oh five AM"),
        (time(11, 59), "eleven fifty-nine AM"),
        (time(12, 0), "noon"),
        (time(12, 30), "twelve thirty PM"),
        (time(15, 40), "three forty PM"),
        (time(23, 10), "eleven ten PM"),
    ],
    columns=(1,),
)
def test_time_of_day_in_words(moment: time, words: str) -> None:
    assert spoken_form(write_time(moment)).lower() == words.lower()


@text_cases(
    ("day", "words"),
    [
        (date(2026, 11, 20), "Friday, November twentieth"),
        (date(2024, 2, 29), "Thursday, February twenty-ninth"),
        (date(2027, 1, 1), "Friday, January first"),
    ],
    columns=(1,),
)
def test_date_in_words(day: date, words: str) -> None:
    assert spoken_form(PHRASES.full_date(day)) == words


def test_years_in_words() -> None:
    assert spoken_form(PHRASES.year(2026)) == "Twenty twenty-six"
    assert spoken_form(PHRASES.year(2000)) == "Two thousand"
