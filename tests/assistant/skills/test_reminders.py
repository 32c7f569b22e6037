"""Reminders and snoozing: what is set, listed and cancelled, in each language."""

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from support.conversations.loaded_skills import loaded_skills
from support.texts.text_cases import text_cases

from assistant.skills.answers import (
    AlarmState,
    CancelAlarms,
    Rung,
    Running,
    SetAlarm,
    SetTimer,
    SkillAnswer,
    SkillContext,
)
from assistant.skills.skills import Skills
from assistant.skills.timers.timers import MAX_REMINDERS, Timers

NOW = datetime(2026, 11, 20, 15, 43, tzinfo=ZoneInfo("Europe/Berlin"))
LOCAL = NOW.replace(tzinfo=None)
ANNA = AlarmState(4, LOCAL.replace(hour=17, minute=0), "call Anna")
TRASH = AlarmState(5, LOCAL.replace(day=21, hour=8, minute=30), "take out the trash")


@pytest.fixture(scope="module")
def skills() -> Skills:
    return loaded_skills()


def ask(skills: Skills, said: str, code: str = "en", **running: object) -> SkillAnswer:
    answer = skills.answer(said, SkillContext(NOW, language=code, running=Running(**running)))  # type: ignore[arg-type]
    assert answer is not None, said
    return answer


@text_cases(
    ("code", "said", "at", "about"),
    [
        ("en", "Remind me to call Anna in ten minutes.", "20T15:53", "call Anna"),
        ("en", "Remind me in an hour and a half to feed the cat", "20T17:13", "feed the cat"),
        ("en", "remind me to call Anna at five", "20T17:00", "call Anna"),
        ("en", "remind me to call Anna at three", "21T15:00", "call Anna"),
        ("en", "remind me at nine to call Anna", "20T21:00", "call Anna"),
        ("en", "remind me tonight at nine to call Anna", "20T21:00", "call Anna"),
        ("en", "Remind me about the three eggs in 5 minutes", "20T15:48", "the three eggs"),
        ("de", "Erinnere mich in zehn Minuten daran, Anna anzurufen.", "20T15:53", "Anna anzurufen"),
        ("de", "Erinnere mich um fünf an den Kuchen", "20T17:00", "den Kuchen"),
        ("de", "Kannst du mich morgen um halb neun an den Müll erinnern?", "21T08:30", "den Müll"),
        ("de", "Erinnere mich an den Kuchen um 17 Uhr", "20T17:00", "den Kuchen"),
        ("fr", "Rappelle-moi d'appeler Anna dans dix minutes", "20T15:53", "appeler Anna"),
        ("fr", "Rappelle-moi à cinq heures d'appeler Anna", "20T17:00", "appeler Anna"),
        ("fr", "Rappelle-moi de sortir les poubelles demain à huit heures", "21T08:00", "sortir les poubelles"),
        ("fr", "Peux-tu me rappeler le gâteau à 17h30 ?", "20T17:30", "le gâteau"),
        ("es", "Recuérdame llamar a Ana en diez minutos", "20T15:53", "llamar a Ana"),
        ("es", "Recuérdame a las cinco llamar a Ana", "20T17:00", "llamar a Ana"),
        ("es", "Recuérdame sacar la basura mañana a las ocho", "21T08:00", "sacar la basura"),
    ],
    columns=(0, 1),
)
def test_reminder_is_set(skills: Skills, code: str, said: str, at: str, about: str) -> None:
    effect = ask(skills, said, code).effect
    assert isinstance(effect, SetAlarm)
    assert (effect.at, effect.about) == (datetime.fromisoformat(f"2026-11-{at}"), about)
    assert about in effect.announcement


@text_cases(
    ("said", "text", "numbers"),
    [
        ("cancel the reminder to call Anna", "The reminder is cancelled: call Anna.", (4,)),
        ("delete my reminder about the trash", "The reminder is cancelled: take out the trash.", (5,)),
        ("cancel all reminders", "Both reminders are cancelled.", (4, 5)),
    ],
)
def test_reminders_are_cancelled(skills: Skills, said: str, text: str, numbers: tuple[int, ...]) -> None:
    answer = ask(skills, said, reminders=(ANNA, TRASH))
    assert (answer.text, answer.effect) == (text, CancelAlarms(numbers))


def test_reminders_are_listed(skills: Skills) -> None:
    both = "You have two reminders: at five PM: call Anna and at eight thirty AM tomorrow: take out the trash."
    assert ask(skills, "what reminders do I have", reminders=(ANNA, TRASH)).text == both
    assert ask(skills, "what are my reminders", reminders=(ANNA,)).text == "You have a reminder at five PM: call Anna."
    asked = ask(skills, "cancel the reminder", reminders=(ANNA, TRASH))
    assert (asked.text, asked.effect) == (f"{both} Which one do you mean?", None)


def test_reminders_are_no_alarms(skills: Skills) -> None:
    assert ask(skills, "what alarms do I have", reminders=(ANNA,)).text == "There is no alarm."
    assert ask(skills, "cancel the reminder to call Bob", reminders=(ANNA,)).text == "There is no such reminder."


def test_number_of_reminders_is_limited(skills: Skills) -> None:
    answer = ask(skills, "remind me at five to call Anna", reminders=(ANNA,) * MAX_REMINDERS)
    assert (answer.text, answer.effect) == ("You have twenty reminders already. Please cancel one first.", None)
    timers = Timers()
    for _ in range(MAX_REMINDERS + 5):
        timers.apply(SetAlarm(LOCAL, "x", "y"), 0.0)
    assert len(timers.running(0.0).reminders) == MAX_REMINDERS
    timers.apply(SetAlarm(LOCAL, "alarm"), 0.0)
    assert len(timers.running(0.0).alarms) == 1


@text_cases(
    ("code", "said"),
    [("en", "snooze"), ("de", "Schlummern"), ("fr", "Snooze"), ("es", "Pospón la alarma")],
    columns=(0, 1),
)
def test_snoozed_timer_rings_again_after_five_minutes(skills: Skills, code: str, said: str) -> None:
    pasta = SetTimer(600, "pasta", "Your timer for pasta is done.")
    effect = ask(skills, said, code, rung=Rung(3, pasta)).effect
    assert effect == SetTimer(300, "pasta", pasta.announcement, snoozes=3)


@text_cases(
    ("code", "said"),
    [
        ("en", "seven more minutes"),
        ("en", "Another seven minutes, please"),
        ("en", "snooze for 7 minutes"),
        ("de", "Noch sieben Minuten"),
        ("de", "Weck mich in sieben Minuten noch einmal"),
        ("fr", "Encore sept minutes"),
        ("es", "Siete minutos más"),
    ],
    columns=(0, 1),
)
def test_snooze_takes_a_duration(skills: Skills, code: str, said: str) -> None:
    effect = ask(skills, said, code, rung=Rung(3, SetTimer(600, None, "done"))).effect
    assert effect == SetTimer(420, None, "done", snoozes=3)


def test_snoozed_alarm_says_the_new_time_and_a_reminder_what_it_is_about(skills: Skills) -> None:
    later = LOCAL.replace(minute=48)
    alarm = ask(skills, "snooze", rung=Rung(3, SetAlarm(LOCAL, "It's three forty-three PM. This is your alarm.")))
    assert alarm.effect == SetAlarm(later, "It's three forty-eight PM. This is your alarm.", snoozes=3)
    reminder = ask(skills, "five more minutes", rung=Rung(3, SetAlarm(LOCAL, "Reminder.", "call Anna")))
    assert reminder.effect == SetAlarm(later, "Reminder.", "call Anna", snoozes=3)


def test_ring_is_snoozed_once_and_again_if_the_turn_is_retracted() -> None:
    timers = Timers()
    timers.apply(SetTimer(10, "pasta", "done"), 0.0)
    assert timers.due(10.0, NOW) == ("done",)
    rung = timers.running(11.0).rung
    assert rung is not None
    timers.apply(SetTimer(300, "pasta", "done", snoozes=rung.number), 11.0)
    assert timers.running(12.0).rung is None
    timers.undo()
    assert timers.running(12.0).rung == rung
    assert timers.running(12.0).timers == ()


@text_cases(
    ("said", "open_ended"),
    [
        ("remind me at five to call", True),
        ("remind me to call Anna", True),
        ("remind me to call Anna at five", False),
        ("cancel the reminder to call", True),
        ("what time is it", False),
    ],
)
def test_sentence_that_ends_with_what_to_remind_of_may_go_on(skills: Skills, said: str, open_ended: bool) -> None:
    match = skills.match(said)
    assert match is not None
    assert match.open_ended == open_ended
