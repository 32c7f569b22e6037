"""Every sentence of sentences.txt is understood as the table says, in its language and situation."""

import json
import random
import re
from collections.abc import Callable
from dataclasses import fields
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from support.conversations.loaded_skills import loaded_skills, sentence_templates, written_skills
from support.conversations.skill_talk import Talk
from support.texts import sentence_table
from support.texts.sentence_table import Section, sections, sentence_cases

from assistant.skills.answers import (
    AlarmState,
    Rung,
    Running,
    SetAlarm,
    SetTimer,
    SkillAnswer,
    SkillContext,
    SkillEffect,
    TimerState,
)
from assistant.skills.languages.language import LANGUAGES

NOW = "2026-11-20T22:43:10"  # a Friday
LAST_REPLIES = {
    "en": "Seven times eight is fifty-six.",
    "de": "Sieben mal acht ist sechsundfünfzig.",
    "fr": "Sept fois huit font cinquante-six.",
    "es": "Siete por ocho son cincuenta y seis.",
}
LEAST = {"en": (450, 60), "de": (150, 35), "fr": (150, 35), "es": (150, 35)}
"""Least number of sentences of each language that are understood, and that are left to a model."""


def at(day: int, hour: int, minute: int = 0) -> datetime:
    return datetime(2026, 11, day, hour, minute)  # noqa: DTZ001 - the wall clock has no zone


WORKDAYS = (0, 1, 2, 3, 4)
SET: dict[str, TimerState | AlarmState] = {
    "ten minutes": TimerState(3, None, 600, 262),
    "pasta": TimerState(2, "pasta", 600, 400),
    "pizza": TimerState(5, "pizza", 300, 59.2),
    "eggs": TimerState(5, "eggs", 300, 59.2),
    "paused pizza": TimerState(6, "pizza", 1200, 1100, paused=True),
    "paused hour": TimerState(8, None, 5400, 3590, paused=True),
    "five minutes left": TimerState(1, None, 600, 300.0),
    "three of ten minutes left": TimerState(1, None, 600, 180.0),
    "seven of ten minutes left": TimerState(2, None, 600, 420.0),
    "alarm at seven": AlarmState(7, at(21, 7)),
    "alarm at a quarter past eight": AlarmState(9, at(22, 20, 15)),
    "alarm at nine": AlarmState(11, at(23, 9)),
    "every Monday": AlarmState(1, at(23, 7), None, (0,)),
    "every weekday": AlarmState(2, at(23, 8), None, WORKDAYS),
    "alarm on Thursday": AlarmState(3, at(26, 9)),
    "call Anna": AlarmState(4, at(20, 17), "call Anna"),
    "take out the trash": AlarmState(5, at(21, 8, 30), "take out the trash"),
    "call Anna tomorrow": AlarmState(6, at(21, 17), "call Anna"),
    "bins every Monday": AlarmState(4, at(23, 7), "bins", (0,)),
    "call Anna on Thursday": AlarmState(5, at(26, 7), "call Anna"),
}
"""Timers, alarms and reminders that the table names."""

PASTA = Rung(3, SetTimer(600, "pasta", "Your timer for pasta is done."))


def running(section: Section) -> Running:
    """Returns what is set, rings, or has just rung."""
    names = section.situation.get("set", "")
    entries = [SET[name] for name in names.split(", ")] if names else []
    alarms = [entry for entry in entries if isinstance(entry, AlarmState)]
    rings = "rings" in section.situation
    return Running(
        tuple(entry for entry in entries if isinstance(entry, TimerState)),
        tuple(entry for entry in alarms if entry.about is None),
        tuple(entry for entry in alarms if entry.about is not None),
        PASTA if rings or "rang" in section.situation else None,
        (PASTA,) if rings else (),
    )


def answer_to(section: Section, row: list[str]) -> SkillAnswer | None:
    code, said, *_ = row
    now = section.expected(row).get("now") or section.situation.get("now", NOW)
    context = SkillContext(
        datetime.fromisoformat(now).replace(tzinfo=ZoneInfo("Europe/Berlin")),
        LAST_REPLIES[code],
        code,
        running(section),
        random.Random(1),
    )
    skills = written_skills() if "written" in section.columns else loaded_skills()
    return skills.answer(said, context)


def alarm_of(answer: SkillAnswer) -> SetAlarm:
    assert isinstance(answer.effect, SetAlarm)
    return answer.effect


def timer_of(answer: SkillAnswer) -> SetTimer:
    assert isinstance(answer.effect, SetTimer)
    return answer.effect


def about(answer: SkillAnswer) -> str:
    what = alarm_of(answer).about
    assert what is None or what in alarm_of(answer).announcement
    return what or "-"


def described(effect: SkillEffect | None) -> str:
    """Returns the name of an effect and its values, without those that are usual."""
    if effect is None:
        return "-"
    values = [getattr(effect, entry.name) for entry in fields(effect)]
    shown = [as_text(value) for value, entry in zip(values, fields(effect), strict=True) if value != entry.default]
    return f"{type(effect).__name__} {', '.join(shown)}"


def as_text(value: object) -> str:
    if isinstance(value, tuple):
        return " ".join(map(str, value))
    if isinstance(value, datetime):
        return value.isoformat(timespec="minutes")
    return f"{value:g}" if isinstance(value, float) else str(value)


COLUMNS: dict[str, Callable[[SkillAnswer], str]] = {
    "skill": lambda answer: answer.skill,
    "text": lambda answer: answer.text,
    "written": lambda answer: answer.text,
    "kind": lambda answer: type(answer.effect).__name__,
    "effect": lambda answer: described(answer.effect),
    "timer": lambda answer: f"{timer_of(answer).seconds:g}",
    "name": lambda answer: timer_of(answer).name or "-",
    "alarm": lambda answer: alarm_of(answer).local_time.isoformat(timespec="minutes"),
    "clock": lambda answer: f"{alarm_of(answer).local_time:%H:%M}",
    "weekdays": lambda answer: "".join(map(str, alarm_of(answer).weekdays)) or "-",
    "about": about,
}
"""Texts that the columns of the table show of an answer."""


@sentence_cases()
def test_sentence_is_understood(section: Section, row: list[str]) -> None:
    answer = answer_to(section, row)
    assert answer is not None
    expected = section.expected(row)
    slots_text = expected.pop("slots", "-")
    expected.pop("now", None)  # when it is asked
    assert {column: COLUMNS[column](answer) for column in expected} == expected
    if slots_text != "-":
        match = sentence_templates(row[0]).find(row[1])  # no template contains a word to spell
        slots = {**{slot: str(number) for slot, number in match.numbers.items()}, **match.values} if match else {}
        assert slots == json.loads(slots_text)


@pytest.mark.parametrize(
    "line", ["in: wheather", "en set a timer", "nwo: 2026-11-20T22:43:10", "en | set a timer | timers | extra"]
)
def test_line_that_no_test_would_read_is_an_error(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = tmp_path / "sentences.txt"
    table.write_text(f"== a section\ncolumns: skill\n{line}\n")
    monkeypatch.setattr(sentence_table, "TABLE", table)
    with pytest.raises(ValueError, match=re.escape(line)):
        sections()


@sentence_cases(answered=False)
def test_sentence_is_left_to_a_model(section: Section, row: list[str]) -> None:
    answer = answer_to(section, row)
    assert answer is None


@pytest.mark.parametrize("section", sections("lists"), ids=lambda section: section.rows[0][0])
def test_conversation_about_lists(section: Section) -> None:
    talk = Talk(section.rows[0][0])
    assert [talk.say(said) for _, said, _ in section.rows] == [answer for *_, answer in section.rows]
    assert (talk.on(), len(talk.on("notes"))) == ([], 1)


@pytest.mark.parametrize("code", LANGUAGES)
def test_table_is_large_enough(code: str) -> None:
    for has_columns, least in zip((True, False), LEAST[code], strict=True):
        rows = [row for section in sections() if bool(section.columns) == has_columns for row in section.rows]
        assert len({said for language, said, *_ in rows if language == code}) >= least
