"""Timer and alarm requests: answers while some are set, and effects."""

import random
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from support.conversations.loaded_skills import loaded_skills
from support.texts.text_cases import text_cases

from assistant.skills.answers import (
    AlarmState,
    CancelAlarms,
    CancelTimers,
    ChangeVolume,
    PauseTimers,
    ResumeTimers,
    Running,
    SetAlarm,
    SetTimer,
    SkillAnswer,
    SkillContext,
    SkillEffect,
    TimerState,
)
from assistant.skills.skills import Skills
from assistant.skills.timers.timers import Timers

NOW = datetime(2026, 11, 20, 22, 43, 10, tzinfo=ZoneInfo("Europe/Berlin"))
LOCAL_NOW = NOW.replace(tzinfo=None)
TEN, EGGS = TimerState(3, None, 600, 262), TimerState(5, "eggs", 300, 59.2)
PIZZA = TimerState(6, "pizza", 1200, 1100, paused=True)
SEVEN, EIGHT = (
    AlarmState(7, LOCAL_NOW.replace(day=21, hour=7, minute=0, second=0)),
    AlarmState(9, LOCAL_NOW.replace(day=22, hour=20, minute=15)),
)


@pytest.fixture(scope="module")
def skills() -> Skills:
    return loaded_skills()


def ask(skills: Skills, said: str, *running: TimerState | AlarmState, now: datetime = NOW) -> SkillAnswer:
    timers = tuple(one for one in running if isinstance(one, TimerState))
    alarms = tuple(one for one in running if isinstance(one, AlarmState))
    answer = skills.answer(said, SkillContext(now, running=Running(timers, alarms), rng=random.Random(1)))
    assert answer is not None, said
    return answer


@text_cases(
    ("said", "effect"),
    [
        ("set a timer for ten minutes", SetTimer(600, None, "Your ten minute timer is done.")),
        ("set up timer for ten minutes", SetTimer(600, None, "Your ten minute timer is done.")),
        ("set a warm up timer for ten minutes", SetTimer(600, "warm up", "Your timer for warm up is done.")),
        ("set a ninety second timer", SetTimer(90, None, "Your timer for one minute and thirty seconds is done.")),
        ("set a five minute timer for the eggs", SetTimer(300, "eggs", "Your timer for eggs is done.")),
        (
            "set an alarm for seven",
            SetAlarm(datetime.fromisoformat("2026-11-21T07:00"), "It's seven AM. This is your alarm."),
        ),
        (
            "wake me up in ten minutes",
            SetAlarm(LOCAL_NOW + timedelta(minutes=10), "It's ten fifty-three PM. This is your alarm."),
        ),
        ("louder", ChangeVolume(6.0)),
        ("a bit quieter", ChangeVolume(-3.0)),
    ],
)
def test_request_has_expected_effect(skills: Skills, said: str, effect: SkillEffect) -> None:
    assert ask(skills, said).effect == effect


@text_cases("said", ["set a timer", "set a timer for two days", "cancel the timer", "what time is it"])
def test_refusals_and_lists_have_no_effect(skills: Skills, said: str) -> None:
    assert ask(skills, said).effect is None


@text_cases(
    ("said", "text", "effect"),
    [
        ("cancel the egg timer", "Your timer for eggs is cancelled.", CancelTimers((5,))),
        ("cancel the timer for the eggs", "Your timer for eggs is cancelled.", CancelTimers((5,))),
        ("stop the ten minute timer", "Your ten minute timer is cancelled.", CancelTimers((3,))),
        ("cancel both timers", "Both timers are cancelled.", CancelTimers((3, 5))),
        ("pause all timers", "Both timers are paused.", PauseTimers((3, 5))),
        ("resume the ten minute timer", "Your ten minute timer is running again.", ResumeTimers((3,))),
        (
            "cancel the timer",
            "You have two timers: the ten minute timer and the timer for eggs. Which one do you mean?",
            None,
        ),
        *(
            (
                said,
                "You have two timers: the ten minute timer and the timer for eggs. Which one do you mean?",
                None,
            )
            for said in ("cancel the first timer", "pause the last timer", "resume the longest timer")
        ),
        ("cancel the tea timer", "There is no timer for tea.", None),
        ("cancel the two hour timer", "There is no two hour timer.", None),
        (
            "how much time is left",
            "You have four minutes and twenty-two seconds on the ten minute timer and one minute on the timer for "
            "eggs.",
            None,
        ),
        ("how much time is left on the egg timer", "You have one minute on the timer for eggs.", None),
    ],
)
def test_requests_with_two_timers(skills: Skills, said: str, text: str, effect: SkillEffect | None) -> None:
    answer = ask(skills, said, TEN, EGGS)
    assert (answer.text, answer.effect) == (text, effect)


def test_both_does_not_mean_all_three(skills: Skills) -> None:
    three = "You have three timers: the ten minute timer, the timer for eggs, and the timer for pizza."
    for said in ("cancel both timers", "pause both timers"):
        assert ask(skills, said, TEN, EGGS, PIZZA) == SkillAnswer(f"{three} Which one do you mean?", "timers")
    assert ask(skills, "cancel all timers", TEN, EGGS, PIZZA).effect == CancelTimers((3, 5, 6))
    nine = AlarmState(11, LOCAL_NOW.replace(day=23, hour=9, minute=0))
    assert ask(skills, "cancel both alarms", SEVEN, EIGHT, nine).effect is None
    assert ask(skills, "cancel all alarms", SEVEN, EIGHT, nine).effect == CancelAlarms((7, 9, 11))
    assert ask(skills, "cancel both alarms", SEVEN, EIGHT).effect == CancelAlarms((7, 9))


def test_single_timer_needs_no_name(skills: Skills) -> None:
    assert ask(skills, "how much time is left", TEN).text == "Four minutes and twenty-two seconds are left."
    assert ask(skills, "how much time is left on the egg timer", EGGS).text == "One minute is left."
    assert ask(skills, "cancel the timer", PIZZA).effect == CancelTimers((6,))


def test_long_timer_list_is_shortened(skills: Skills) -> None:
    many = [TimerState(number, None, 60 * number, 60 * number) for number in range(1, 8)]
    assert ask(skills, "how much time is left", *many).text.endswith(". And three more.")


def test_more_than_twenty_timers_are_refused(skills: Skills) -> None:
    timers = [TimerState(number, None, 60, 60) for number in range(20)]
    answer = ask(skills, "set a timer for one minute", *timers)
    assert answer == SkillAnswer("You have twenty timers already. Please cancel one first.", "timers")
    alarms = [AlarmState(number, LOCAL_NOW) for number in range(20)]
    answer = ask(skills, "set an alarm for seven", *alarms)
    assert answer == SkillAnswer("You have twenty alarms already. Please cancel one first.", "alarms")


@text_cases(
    ("said", "text", "effect"),
    [
        ("cancel the seven o'clock alarm", "Your alarm for seven AM tomorrow is cancelled.", CancelAlarms((7,))),
        ("cancel the alarm for 8:15", "Your alarm for eight fifteen PM on Sunday is cancelled.", CancelAlarms((9,))),
        ("cancel the alarm for 8:15 am", "There is no alarm for that time.", None),
        ("cancel all alarms", "Both alarms are cancelled.", CancelAlarms((7, 9))),
        (
            "cancel my alarm",
            "You have two alarms for seven AM tomorrow and eight fifteen PM on Sunday. Which one do you mean?",
            None,
        ),
        ("when is my next alarm", "You have two alarms for seven AM tomorrow and eight fifteen PM on Sunday.", None),
    ],
)
def test_requests_with_two_alarms(skills: Skills, said: str, text: str, effect: SkillEffect | None) -> None:
    answer = ask(skills, said, SEVEN, EIGHT)
    assert (answer.text, answer.effect) == (text, effect)


@text_cases(
    "said",
    [
        "cancel the alarm at twenty five",
        "cancel the alarm for 25:70",
        "cancel the alarm for 25.30",
        "cancel the alarm for 7.60",
        "cancel the alarm for 7.3",
        "cancel the alarm at six point three",
    ],
)
def test_no_alarm_is_cancelled_for_an_invalid_time(skills: Skills, said: str) -> None:
    assert ask(skills, said, SEVEN) == SkillAnswer("That is no time of day.", "alarms")


@text_cases(
    ("now", "said", "at"),
    [
        ("2026-11-20T10:00", "set an alarm for seven thirty", "2026-11-20T19:30"),
        ("2026-11-20T10:00", "wake me up at seven thirty", "2026-11-21T07:30"),
        ("2026-11-20T10:00", "set an alarm for tomorrow at two", "2026-11-21T14:00"),
        ("2026-11-20T10:00", "wake me up tomorrow at four", "2026-11-21T04:00"),
        ("2026-11-20T07:30", "set an alarm for seven thirty am", "2026-11-21T07:30"),
        ("2026-11-20T23:30", "set an alarm for twelve thirty", "2026-11-21T00:30"),
        ("2026-11-20T10:00", "set an alarm for ten tonight", "2026-11-20T22:00"),
        ("2026-11-20T10:00", "set an alarm for one tonight", "2026-11-21T01:00"),
        ("2026-11-20T10:00", "set an alarm for twelve tonight", "2026-11-21T00:00"),
        ("2026-11-20T10:00", "set an alarm for tomorrow night at twelve", "2026-11-22T00:00"),
        ("2026-11-20T10:00", "set an alarm for half past one tomorrow night", "2026-11-22T01:30"),
        ("2026-11-20T10:00", "set an alarm for ten tomorrow night", "2026-11-21T22:00"),
        ("2026-11-20T10:00", "set an alarm for midnight tomorrow night", "2026-11-22T00:00"),
        ("2026-11-20T10:00", "set an alarm for midnight this evening", "2026-11-21T00:00"),
        ("2026-11-20T10:00", "set an alarm for one tomorrow evening", "2026-11-21T13:00"),
        ("2026-11-20T10:00", "set an alarm for tomorrow at two at night", "2026-11-21T02:00"),
        ("2026-11-20T10:00", "set an alarm for ten to six in the evening", "2026-11-20T17:50"),
        ("2026-11-20T10:00", "set an alarm for a quarter to one", "2026-11-20T12:45"),
        ("2026-12-31T10:00", "set an alarm for 9:05", "2026-12-31T21:05"),
        ("2026-12-31T10:00", "set an alarm for 9.05", "2026-12-31T21:05"),
        ("2026-11-20T10:00", "set an alarm for 6.30 pm", "2026-11-20T18:30"),
        ("2026-11-20T10:00", "wake me up at 6.45", "2026-11-21T06:45"),
        ("2026-11-20T10:00", "set a 10.00 alarm", "2026-11-20T22:00"),
        # the clocks go forward in this night; six stays six
        ("2026-03-28T22:00", "wake me up at six", "2026-03-29T06:00"),
    ],
    columns=(1,),
)
def test_alarm_time_is_interpreted(skills: Skills, now: str, said: str, at: str) -> None:
    moment = datetime.fromisoformat(now).replace(tzinfo=ZoneInfo("Europe/Berlin"))
    effect = ask(skills, said, now=moment).effect
    assert isinstance(effect, SetAlarm)
    assert effect.at == datetime.fromisoformat(at)


@text_cases(
    ("now", "said", "text", "minutes"),
    [
        ("2026-10-25T00:50", "wake me up in twenty minutes", "Your alarm is set for two ten AM.", 20),
        ("2026-10-24T23:50", "wake me up in two hours", "Your alarm is set for two fifty AM.", 120),
        ("2026-10-24T23:50", "wake me up in one hour", "Your alarm is set for two fifty AM.", 60),
        ("2026-10-25T01:20", "wake me up in ten minutes", "Your alarm is set for two thirty AM.", 10),
        ("2026-10-24T20:00", "wake me up in eight hours", "Your alarm is set for five AM tomorrow.", 480),
        ("2027-03-28T00:50", "wake me up in twenty minutes", "Your alarm is set for three ten AM.", 20),
        ("2027-03-27T21:00", "set an alarm in eight hours", "Your alarm is set for seven AM tomorrow.", 480),
    ],
    columns=(0, 1),
)
def test_alarm_after_a_duration_ignores_clock_changes(
    skills: Skills, now: str, said: str, text: str, minutes: int
) -> None:
    def wall(minute: int) -> datetime:
        moment = datetime.fromisoformat(now).replace(tzinfo=UTC) + timedelta(minutes=minute)
        return moment.astimezone(ZoneInfo("Europe/Berlin"))

    answer = ask(skills, said, now=wall(0))
    assert answer.text == text
    assert isinstance(answer.effect, SetAlarm)
    timers = Timers()
    timers.apply(answer.effect, 0.0)
    assert next(minute for minute in range(600) if timers.due(0.0, wall(minute))) == minutes


def test_tonight_is_not_tomorrow_night(skills: Skills) -> None:
    passed = SkillAnswer("That time has passed already. Do you mean tomorrow?", "alarms")
    for said in ("set an alarm for ten tonight", "wake me up at ten tonight", "set an alarm for ten this evening"):
        assert ask(skills, said) == passed
    assert ask(skills, "set an alarm for eleven tonight").text == "Your alarm is set for eleven PM."
    assert ask(skills, "set an alarm for two tonight").text == "Your alarm is set for two AM tomorrow."
    assert ask(skills, "set an alarm for ten at night").text == "Your alarm is set for ten PM tomorrow."


def test_random_results_come_from_the_context(skills: Skills) -> None:
    context = SkillContext(NOW, rng=random.Random(4))
    texts = {answer.text for _ in range(40) if (answer := skills.answer("flip a coin", context))}
    assert texts == {"It's heads.", "It's tails."}
    rolled = {answer.text for _ in range(200) if (answer := skills.answer("roll a die", context))}
    assert rolled == {f"It's {number}." for number in ("one", "two", "three", "four", "five", "six")}
