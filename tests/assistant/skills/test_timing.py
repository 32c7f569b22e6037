"""Timer and alarm requests: answers while some are set, and effects."""

import random
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from support.texts.text_cases import text_cases

from assistant.skills.answers import (
    AlarmState,
    Running,
    SetAlarm,
    SkillAnswer,
    SkillContext,
    TimerState,
)
from assistant.skills.skills import Skills
from assistant.skills.timers.timers import Timers

NOW = datetime(2026, 11, 20, 22, 43, 10, tzinfo=ZoneInfo("Europe/Berlin"))
LOCAL_NOW = NOW.replace(tzinfo=None)


def ask(skills: Skills, said: str, *running: TimerState | AlarmState, now: datetime = NOW) -> SkillAnswer:
    timers = tuple(one for one in running if isinstance(one, TimerState))
    alarms = tuple(one for one in running if isinstance(one, AlarmState))
    answer = skills.answer(said, SkillContext(now, running=Running(timers, alarms), rng=random.Random(1)))
    assert answer is not None, said
    return answer


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


def test_random_results_come_from_the_context(skills: Skills) -> None:
    context = SkillContext(NOW, rng=random.Random(4))
    texts = {answer.text for _ in range(40) if (answer := skills.answer("flip a coin", context))}
    assert texts == {"It's heads.", "It's tails."}
    rolled = {answer.text for _ in range(200) if (answer := skills.answer("roll a die", context))}
    assert rolled == {f"It's {number}." for number in ("one", "two", "three", "four", "five", "six")}
