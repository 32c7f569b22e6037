"""Reminders and snoozing: what is set, listed and cancelled, in each language."""

from datetime import datetime
from zoneinfo import ZoneInfo

from support.texts.text_cases import text_cases

from assistant.skills.answers import (
    AlarmState,
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


def ask(skills: Skills, said: str, code: str = "en", **running: object) -> SkillAnswer:
    answer = skills.answer(said, SkillContext(NOW, language=code, running=Running(**running)))  # type: ignore[arg-type]
    assert answer is not None, said
    return answer


def test_number_of_reminders_is_limited(skills: Skills) -> None:
    answer = ask(skills, "remind me at five to call Anna", reminders=(ANNA,) * MAX_REMINDERS)
    assert (answer.text, answer.effect) == ("You have twenty reminders already. Please cancel one first.", None)
    timers = Timers()
    for _ in range(MAX_REMINDERS + 5):
        timers.apply(SetAlarm(LOCAL, "x", "y"), 0.0)
    assert len(timers.running(0.0).reminders) == MAX_REMINDERS
    timers.apply(SetAlarm(LOCAL, "alarm"), 0.0)
    assert len(timers.running(0.0).alarms) == 1


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
