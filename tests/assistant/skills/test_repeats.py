"""Alarms that ring again on weekdays: their next times, also when the clocks change."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.texts.text_cases import text_cases

from assistant.skills.answers import AlarmState, CancelAlarms, Rung, Running, SetAlarm, SkillContext
from assistant.skills.languages.language import load_language
from assistant.skills.skills import Skills
from assistant.skills.timers.timers import Timers, latest_occurrence, next_occurrence
from assistant.text.normalization.reading import spoken

BERLIN = ZoneInfo("Europe/Berlin")
WORK = (0, 1, 2, 3, 4)
EVERY_DAY = tuple(range(7))
FRIDAY = datetime(2026, 11, 20, 7, 0)  # noqa: DTZ001


def rings(effect: SetAlarm, start: str, hours: int) -> list[str]:
    """Returns the UTC times at which it rings, by a clock that ticks every minute."""
    timers = Timers()
    timers.apply(effect, 0.0)
    began = datetime.fromisoformat(start).replace(tzinfo=UTC)
    moments = (began + timedelta(minutes=minute) for minute in range(hours * 60))
    return [one.strftime("%d %H:%M") for one in moments if timers.due(0.0, one.astimezone(BERLIN))]


def test_workday_alarm_skips_the_weekend() -> None:
    assert rings(SetAlarm(FRIDAY, "x", weekdays=WORK), "2026-11-20T05:00", 5 * 24) == [
        "20 06:00",
        "23 06:00",
        "24 06:00",
    ]


@pytest.mark.parametrize(
    ("at", "start", "expected"),
    [
        # six stays six: an hour earlier in UTC from the Sunday on which the clocks go forward
        ("2026-03-28T06:00", "2026-03-28T00:00", ["28 05:00", "29 04:00", "30 04:00"]),
        ("2026-10-24T06:00", "2026-10-24T00:00", ["24 04:00", "25 05:00", "26 05:00"]),
        # two thirty does not exist on that Sunday: it rings when the clocks go from two to three
        ("2026-03-28T02:30", "2026-03-28T00:00", ["28 01:30", "29 01:00", "30 00:30"]),
        # two thirty comes twice: it rings at the first
        ("2026-10-24T02:30", "2026-10-24T00:00", ["24 00:30", "25 00:30", "26 01:30"]),
    ],
)
def test_repeating_alarm_keeps_its_local_time_when_the_clocks_change(at: str, start: str, expected: list[str]) -> None:
    assert rings(SetAlarm(datetime.fromisoformat(at), "x", weekdays=EVERY_DAY), start, 72) == expected


def test_repeating_alarm_keeps_its_number_and_can_be_cancelled_and_restored() -> None:
    timers = Timers()
    timers.apply(SetAlarm(FRIDAY, "x", weekdays=WORK), 0.0)
    assert timers.due(0.0, FRIDAY.replace(tzinfo=BERLIN)) == ("x",)
    (state,) = timers.running(0.0).alarms
    assert (state.local_time, state.weekdays) == (FRIDAY + timedelta(days=3), WORK)
    timers.apply(CancelAlarms((state.number,)), 0.0)
    assert timers.running(0.0).alarms == ()
    timers.undo()
    assert timers.running(0.0).alarms == (state,)


@given(
    st.datetimes(datetime(2020, 1, 1), datetime(2030, 1, 1)),  # noqa: DTZ001
    st.sets(st.integers(0, 6), min_size=1),
    st.timedeltas(timedelta(days=-3), timedelta(days=400)),
)
def test_next_and_latest_occurrence_enclose_now(at: datetime, weekdays: set[int], later: timedelta) -> None:
    days, now = tuple(sorted(weekdays)), at + later
    following = next_occurrence(at, days, now)
    assert following > max(at, now)
    assert following.weekday() in weekdays
    assert following.time() == at.time()
    assert following - max(at, now) <= timedelta(days=8)
    if now >= at:
        latest = latest_occurrence(at, days, now)
        assert at <= latest <= now
        assert next_occurrence(latest, days, latest) > now


# ---- what is said ----

NOW = datetime(2026, 11, 20, 22, 43, tzinfo=BERLIN)  # a Friday
WORKDAYS = AlarmState(2, datetime(2026, 11, 23, 8), None, WORK)  # noqa: DTZ001


@text_cases(
    ("code", "said"),
    [
        ("en", "stop the alarm"),
        ("en", "cancel the alarm"),
        ("de", "Schalte den Wecker aus"),
        ("fr", "Arrête l'alarme"),
        ("es", "Apaga la alarma"),
    ],
    columns=(0, 1),
)
def test_repeating_alarm_that_has_just_rung_is_not_cancelled_for_good(skills: Skills, code: str, said: str) -> None:
    rung = Rung(2, SetAlarm(WORKDAYS.local_time, "It's eight AM.", weekdays=WORK))
    answer = skills.answer(said, SkillContext(NOW, language=code, running=Running(alarms=(WORKDAYS,), rung=rung)))
    assert answer is not None
    assert answer.effect is None
    assert (
        spoken(load_language(code).phrases.repeated(WORKDAYS.local_time.time(), WORK), code).replace("A.M", "AM")
        in answer.text
    )
    named = skills.answer("cancel the weekday alarm", SkillContext(NOW, running=Running(alarms=(WORKDAYS,), rung=rung)))
    assert named is not None
    assert named.effect == CancelAlarms((2,))


def test_repeated_hour_uses_its_second_occurrence(skills: Skills) -> None:
    now = datetime(2026, 10, 25, 2, 15, fold=1, tzinfo=BERLIN)
    answer = skills.answer("set an alarm for 02:30", SkillContext(now))
    assert answer is not None
    assert isinstance(answer.effect, SetAlarm)
    timers = Timers()
    timers.apply(answer.effect, 0.0)
    assert timers.due(0.0, now) == ()
    assert timers.due(0.0, now.replace(minute=30)) != ()


@pytest.mark.parametrize("code", ["en", "de", "fr", "es"])
def test_day_a_week_away_is_said_with_its_date(code: str) -> None:
    phrases = load_language(code).phrases
    at = datetime(2026, 11, 27, 9)  # noqa: DTZ001
    assert phrases.moment(at, 7) != phrases.moment(at, 6)
    assert phrases.month(11) in phrases.moment(at, 7)
