"""Alarms that ring again on weekdays: their next times, also when the clocks change."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.conversations.loaded_skills import loaded_skills
from support.texts.text_cases import text_cases

from assistant.skills.answers import AlarmState, CancelAlarms, Rung, Running, SetAlarm, SkillAnswer, SkillContext
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
    assert (state.at, state.weekdays) == (FRIDAY + timedelta(days=3), WORK)
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
MONDAY = AlarmState(1, datetime(2026, 11, 23, 7), None, (0,))  # noqa: DTZ001
WORKDAYS = AlarmState(2, datetime(2026, 11, 23, 8), None, WORK)  # noqa: DTZ001
THURSDAY = AlarmState(3, datetime(2026, 11, 26, 9))  # noqa: DTZ001
BINS = AlarmState(4, datetime(2026, 11, 23, 7), "bins", (0,))  # noqa: DTZ001
ANNA = AlarmState(5, datetime(2026, 11, 26, 7), "call Anna")  # noqa: DTZ001


@pytest.fixture(scope="module")
def skills() -> Skills:
    return loaded_skills()


def ask(skills: Skills, said: str, code: str = "en", now: datetime = NOW) -> SkillAnswer | None:
    running = Running(alarms=(MONDAY, WORKDAYS, THURSDAY), reminders=(BINS, ANNA))
    return skills.answer(said, SkillContext(now, language=code, running=running))


@text_cases(
    ("code", "said", "at", "weekdays", "about"),
    [
        ("en", "Remind me on Thursday at nine to call Anna.", "26T09:00", "", "call Anna"),
        ("en", "remind me on Thursday to call Anna at nine", "26T09:00", "", "call Anna"),
        ("en", "remind me to call Anna on Thursday at nine", "26T09:00", "", "call Anna"),
        ("en", "remind me every Monday at nine to take out the bins", "23T09:00", "0", "take out the bins"),
        ("en", "remind me to take out the bins every Monday at nine", "23T09:00", "0", "take out the bins"),
        (
            "en",
            "remind me to take out the bins every Monday and Thursday at 9 pm",
            "23T21:00",
            "03",
            "take out the bins",
        ),
        ("en", "every Monday at nine remind me to take out the bins", "23T09:00", "0", "take out the bins"),
        ("en", "remind me at nine to call Anna every Monday", "23T09:00", "0", "call Anna"),
        ("en", "Wake me every weekday at 7", "23T07:00", "01234", None),
        ("en", "wake me up at seven on weekends", "21T07:00", "56", None),
        ("en", "wake me up every morning at six thirty", "21T06:30", "0123456", None),
        ("en", "wake me up Monday morning at eight", "23T08:00", "", None),
        ("en", "set an alarm for eleven pm on Friday", "20T23:00", "", None),
        ("en", "set an alarm for Friday at nine", "27T09:00", "", None),
        ("en", "set an alarm for every Friday night at one", "21T01:00", "5", None),
        ("de", "Erinnere mich am Donnerstag um neun an den Müll", "26T09:00", "", "den Müll"),
        ("de", "Kannst du mich jeden Montag um acht an den Müll erinnern?", "23T08:00", "0", "den Müll"),
        ("de", "Weck mich werktags um 7 Uhr", "23T07:00", "01234", None),
        ("de", "Stell den Wecker für jeden Montag auf sieben Uhr", "23T07:00", "0", None),
        ("de", "Weck mich Montagmorgen um acht", "23T08:00", "", None),
        ("fr", "Rappelle-moi jeudi à neuf heures d'appeler Anna", "26T09:00", "", "appeler Anna"),
        ("fr", "Rappelle-moi de sortir les poubelles chaque lundi à 9h", "23T09:00", "0", "sortir les poubelles"),
        ("fr", "Réveille-moi du lundi au vendredi à sept heures", "23T07:00", "01234", None),
        ("fr", "Réveille-moi tous les jours à six heures et demie", "21T06:30", "0123456", None),
        ("es", "Recuérdame el jueves a las nueve llamar a Ana", "26T09:00", "", "llamar a Ana"),
        ("es", "Recuérdame sacar la basura los lunes a las nueve", "23T09:00", "0", "sacar la basura"),
        ("es", "Despiértame de lunes a viernes a las siete", "23T07:00", "01234", None),
        ("es", "Despiértame todos los días a las seis y media", "21T06:30", "0123456", None),
    ],
    columns=(0, 1),
)
def test_weekday_is_understood(skills: Skills, code: str, said: str, at: str, weekdays: str, about: str | None) -> None:
    answer = ask(skills, said, code)
    assert answer is not None
    effect = answer.effect
    assert isinstance(effect, SetAlarm)
    assert (effect.at, effect.about) == (datetime.fromisoformat(f"2026-11-{at}"), about)
    assert "".join(map(str, effect.weekdays)) == weekdays


@text_cases(
    ("code", "said", "numbers"),
    [
        ("en", "cancel the Monday alarm", (1,)),
        ("en", "cancel the weekday alarm", (2,)),
        ("en", "cancel the alarm on Thursday", (3,)),
        ("en", "do not wake me on Thursday", (3,)),
        ("en", "cancel the Monday reminder", (4,)),
        ("en", "cancel the reminder for Thursday", (5,)),
        ("de", "Lösche den Wecker am Montag", (1,)),
        ("de", "Lösche den Wecker von Montag bis Freitag", (2,)),
        ("de", "Lösche die Erinnerung am Montag", (4,)),
        ("fr", "Annule l'alarme du lundi", (1,)),
        ("fr", "Annule le rappel du lundi", (4,)),
        ("es", "Cancela la alarma de los lunes", (1,)),
        ("es", "Cancela el recordatorio del lunes", (4,)),
    ],
    columns=(0, 1),
)
def test_alarm_of_a_weekday_is_cancelled(skills: Skills, code: str, said: str, numbers: tuple[int, ...]) -> None:
    answer = ask(skills, said, code)
    assert answer is not None
    assert answer.effect == CancelAlarms(numbers)


def test_alarm_that_rings_on_more_days_is_not_cancelled_by_one_of_them(skills: Skills) -> None:
    answer = ask(skills, "cancel the alarm for Friday")
    assert answer is not None
    assert answer.effect is None
    assert answer.text == (
        "There is no alarm for that time. You have three alarms for seven AM every Monday, eight AM every weekday, and "
        "nine AM on Thursday."
    )


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
    rung = Rung(2, SetAlarm(WORKDAYS.at, "It's eight AM.", weekdays=WORK))
    answer = skills.answer(said, SkillContext(NOW, language=code, running=Running(alarms=(WORKDAYS,), rung=rung)))
    assert answer is not None
    assert answer.effect is None
    assert (
        spoken(load_language(code).phrases.repeated(WORKDAYS.at.time(), WORK), code).replace("A.M", "AM") in answer.text
    )
    named = skills.answer("cancel the weekday alarm", SkillContext(NOW, running=Running(alarms=(WORKDAYS,), rung=rung)))
    assert named is not None
    assert named.effect == CancelAlarms((2,))


@text_cases(
    ("code", "said"),
    [
        ("en", "remind me every other Monday at nine to take out the bins"),
        ("en", "remind me to take out the bins every other Monday at nine"),
        ("en", "remind me to stretch every month on Monday at nine"),
        ("de", "Erinnere mich an den Müll jeden zweiten Montag um neun"),
        ("de", "Weck mich jeden zweiten Montag um sieben"),
        ("fr", "Rappelle-moi de sortir les poubelles un lundi sur deux à neuf heures"),
        ("es", "Recuérdame sacar la basura cada dos semanas el lunes a las nueve"),
    ],
    columns=(0, 1),
)
def test_other_repetitions_are_left_to_a_language_model(skills: Skills, code: str, said: str) -> None:
    answer = ask(skills, said, code)
    assert answer is None or (answer.missing and answer.effect is None)


def test_repeated_hour_uses_its_second_occurrence(skills: Skills) -> None:
    now = datetime(2026, 10, 25, 2, 15, fold=1, tzinfo=BERLIN)
    answer = ask(skills, "set an alarm for 02:30", now=now)
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
