"""Everyday requests in four languages, in the spellings of recognizers, one table for all skills."""

from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from assistant.skills.answers import AlarmState, Rung, Running, SetTimer, SkillContext, TimerState
from assistant.skills.skills import Skills

NOW = datetime(2026, 11, 20, 14, 10, tzinfo=ZoneInfo("Europe/Berlin"))
RUNNING = Running(
    (TimerState(1, None, 600, 300.0),),
    (AlarmState(5, datetime(2026, 11, 21, 7, 0)),),  # noqa: DTZ001
    (AlarmState(6, datetime(2026, 11, 21, 17, 0), "call Anna"),),  # noqa: DTZ001
)
RUNG = Rung(9, SetTimer(600, "pasta", "Your pasta timer is done."))
TABLE = Path(__file__).with_name("everyday_requests.txt")


def cases() -> list[tuple[str, str, list[str]]]:
    """Returns (language, sentence, [skill, answer, effect])."""
    language, found = "", []
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            language = line.strip("[]")
        elif line and not line.startswith("#"):
            said, *rest = line.split(" | ")
            found.append((language, said, rest))
    return found


@pytest.fixture(scope="module")
def skills() -> Skills:
    loaded = Skills()
    for language in ("en", "de", "fr", "es"):
        loaded.load(language)
    return loaded


@pytest.mark.parametrize(
    ("language", "said", "expected"), cases(), ids=lambda value: value if isinstance(value, str) else ""
)
def test_everyday_request_is_understood(skills: Skills, language: str, said: str, expected: list[str]) -> None:
    answer = skills.answer(said, SkillContext(NOW, language=language, running=RUNNING))
    assert answer is not None
    effect = [] if answer.effect is None else [type(answer.effect).__name__]
    assert [answer.skill, answer.text, *effect] == expected


def test_table_has_many_requests_of_each_language() -> None:
    languages = [language for language, _, _ in cases()]
    assert languages.count("en") >= 150
    assert all(languages.count(language) >= 60 for language in ("de", "fr", "es"))


@pytest.mark.parametrize(
    ("language", "said"),
    [("en", one) for one in ("stop", "okay", "thanks", "turn it off", "enough", "got it", "stop the timer", "shut up")]
    + [("de", one) for one in ("stopp", "okay", "danke", "mach aus", "genug", "ja ist gut")]
    + [("fr", one) for one in ("stop", "d'accord", "merci", "ça suffit", "éteins ça")]
    + [("es", one) for one in ("para", "vale", "gracias", "apágalo", "basta ya")],
)
def test_short_words_stop_what_rings(skills: Skills, language: str, said: str) -> None:
    running = Running(rung=RUNG, ringing=(RUNG,))
    answer = skills.answer(said, SkillContext(NOW, language=language, running=running))
    assert answer is not None
    assert answer.text in {"Okay.", "D'accord.", "Vale."}


@pytest.mark.parametrize(
    ("said", "skill"),
    [
        ("snooze", "snooze"),
        ("five more minutes", "snooze"),
        ("what time is it", "time"),
        ("set a timer for 5 minutes", "timers"),
    ],
)
def test_other_requests_into_a_ring_are_answered(skills: Skills, said: str, skill: str) -> None:
    running = Running(rung=RUNG, ringing=(RUNG,))
    answer = skills.answer(said, SkillContext(NOW, running=running))
    assert answer is not None
    assert answer.skill == skill
    assert answer.text != "Okay."


def test_equal_timers_are_told_apart_by_the_time_that_is_left(skills: Skills) -> None:
    running = Running((TimerState(1, None, 600, 180.0), TimerState(2, None, 600, 420.0)))
    counted = skills.answer("how many timers do I have", SkillContext(NOW, running=running))
    assert counted is not None
    assert counted.text.startswith("You have 2 timers.")
    asked = skills.answer("cancel the timer", SkillContext(NOW, running=running))
    assert asked is not None
    assert "the 10 minute timer with 3 minutes left and the 10 minute timer with 7 minutes left" in asked.text
