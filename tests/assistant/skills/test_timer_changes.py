"""Timers, alarms and reminders that are changed: on the right day, at the right time, with everything undone."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.conversations.loaded_skills import loaded_skills
from support.conversations.skill_talk import Talk

from assistant.skills.answers import AlarmState, MoveAlarm, Running, SetAlarm, SkillContext
from assistant.skills.languages.language import LANGUAGES, load_language
from assistant.skills.timers.durations import later

BERLIN = ZoneInfo("Europe/Berlin")


def wall(year: int, month: int, day: int, hour: int = 0, minute: int = 0) -> datetime:
    return datetime(year, month, day, hour, minute)  # noqa: DTZ001 - the wall clock has no zone


AT_NINE = {
    "en": {"this": "set an alarm this {} at nine am", "next": "set an alarm next {} at nine am"},
    "de": {"this": "stell den wecker diesen {} um neun", "next": "stell den wecker nächsten {} um neun"},
    "fr": {"this": "mets une alarme ce {} à neuf heures", "next": "mets une alarme {} prochain à neuf heures"},
    "es": {"this": "pon una alarma este {} a las nueve", "next": "pon una alarma el próximo {} a las nueve"},
}
IN_A_WEEK = {
    "en": "remind me in a week to water the plants",
    "de": "erinnere mich in einer woche an die blumen",
    "fr": "rappelle-moi dans une semaine d'arroser les plantes",
    "es": "recuérdame en una semana regar las plantas",
}
LATER = {
    "en": "make my alarm an hour later",
    "de": "stell den wecker eine stunde später",
    "fr": "retarde l'alarme d'une heure",
    "es": "retrasa la alarma una hora",
}
SOME_DAYS = st.datetimes(wall(2023, 1, 1), wall(2033, 1, 1)) | st.sampled_from(
    [
        wall(2024, 2, 28, 12),  # a leap year
        wall(2026, 2, 28, 23, 59),
        wall(2026, 12, 31, 8),
        wall(2026, 3, 28, 22),  # the clocks change in the night
        wall(2026, 10, 24, 22),
    ]
)


def local(moment: datetime) -> datetime:
    return moment.replace(microsecond=0, tzinfo=BERLIN)


@given(SOME_DAYS, st.sampled_from(LANGUAGES), st.integers(0, 6), st.sampled_from(["this", "next"]))
def test_weekday_is_the_first_after_now(moment: datetime, code: str, weekday: int, coming: str) -> None:
    now = local(moment)
    said = AT_NINE[code][coming].format(load_language(code).phrases.weekdays[weekday].lower())
    answer = loaded_skills().answer(said, SkillContext(now, language=code))
    assert answer is not None
    assert isinstance(answer.effect, SetAlarm)
    day = answer.effect.local_time.date()
    assert (day.weekday(), answer.effect.local_time.hour) == (weekday, 9)
    ahead = (day - now.date()).days
    today_counts = coming == "this" and now.hour < 9
    assert ahead in range(0 if today_counts else 1, 8)


@given(SOME_DAYS, st.sampled_from(LANGUAGES))
def test_in_a_week_is_the_same_time_of_day(moment: datetime, code: str) -> None:
    now = local(moment)
    answer = loaded_skills().answer(IN_A_WEEK[code], SkillContext(now, language=code))
    assert answer is not None
    assert isinstance(answer.effect, SetAlarm)
    assert answer.effect.local_time == now.replace(tzinfo=None) + timedelta(days=7)


@given(SOME_DAYS, st.integers(1, 2000))
def test_later_by_minutes_is_elapsed_time(moment: datetime, minutes: int) -> None:
    now = local(moment)
    after = timedelta(minutes=minutes)
    moved = later(now, after).replace(tzinfo=BERLIN)
    if after % timedelta(days=1):
        assert moved.astimezone(UTC) - now.astimezone(UTC) == after
    else:
        assert moved.replace(tzinfo=None) - now.replace(tzinfo=None) == after


@pytest.mark.parametrize("code", LANGUAGES)
@pytest.mark.parametrize(
    ("day", "hour", "expected_hour", "fold"),
    [
        (wall(2026, 3, 29), 1, 3, 0),  # two o'clock does not exist
        (wall(2026, 10, 25), 1, 2, 0),
        (wall(2026, 10, 25), 2, 2, 1),  # two o'clock exists twice
    ],
)
def test_hour_later_when_the_clocks_change(code: str, day: datetime, hour: int, expected_hour: int, fold: int) -> None:
    now = local(day - timedelta(hours=3))
    running = Running(alarms=(AlarmState(1, day.replace(hour=hour)),))
    answer = loaded_skills().answer(LATER[code], SkillContext(now, language=code, running=running))
    assert answer is not None
    assert isinstance(answer.effect, MoveAlarm)
    moved = answer.effect.set_to.local_time
    assert (moved.hour, moved.fold) == (expected_hour, fold)


def test_alarm_that_repeats_moves_on_all_its_days() -> None:
    running = Running(alarms=(AlarmState(1, wall(2026, 11, 23, 23, 30), None, (0, 6)),))
    context = SkillContext(local(wall(2026, 11, 20, 12)), running=running)
    answer = loaded_skills().answer("make my alarm an hour later", context)
    assert answer is not None
    assert isinstance(answer.effect, MoveAlarm)
    assert answer.effect.set_to.local_time == wall(2026, 11, 24, 0, 30)
    assert answer.effect.set_to.weekdays == (0, 1)


def test_alarm_is_not_moved_into_the_past() -> None:
    running = Running(alarms=(AlarmState(1, wall(2026, 11, 20, 12, 30)),))
    context = SkillContext(local(wall(2026, 11, 20, 12)), running=running)
    answer = loaded_skills().answer("make my alarm an hour earlier", context)
    assert answer is not None
    assert (answer.text, answer.effect) == ("That time has passed already.", None)


def test_retracted_rename_gives_the_name_back() -> None:
    talk = Talk("en")
    talk.say("set a ten minute timer for pasta")
    talk.say("rename the timer to eggs")
    (timer,) = talk.effects.timers.running(talk.now_s).timers
    assert timer.name == "eggs"
    talk.effects.timers.undo()
    (timer,) = talk.effects.timers.running(talk.now_s).timers
    assert timer.name == "pasta"


def test_renamed_timer_rings_with_its_new_name() -> None:
    talk = Talk("en")
    talk.say("set a ten minute timer for pasta")
    talk.say("call it eggs")
    (entry,) = talk.effects.timers.entries  # type: ignore[union-attr]
    assert entry.set_to.announcement == "Your timer for eggs is done."


TIMER_SET = {
    "en": "set a timer for ten minutes",
    "de": "stell einen timer auf zehn minuten",
    "fr": "mets un minuteur de dix minutes",
    "es": "pon un temporizador de diez minutos",
}


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("de", "Nenne den höchsten Berg der Welt"),
        ("de", "Nenne den Bundeskanzler"),
        ("de", "Benenne den Fluss"),
        ("de", "Nenne es beim Namen und erkläre mir alles"),
        ("de", "Der Timer soll fünf Minuten länger laufen"),
        ("de", "Der Timer soll leiser klingeln"),
        ("de", "Dieser Timer soll aufhören"),
        ("fr", "Nomme la capitale de l'Italie"),
        ("fr", "Nomme le président"),
        ("fr", "Appelle le médecin"),
        ("fr", "Appelle la police"),
        ("fr", "Renomme le fichier"),
        ("en", "call it a day and tell me a story"),
        ("en", "call it a day"),
        ("en", "Name the highest mountain of the world"),
        ("en", "call that number"),
        ("es", "Nombra la capital de Italia"),
        ("es", "llámalo por teléfono"),
        ("es", "llámala pronto"),
        ("es", "llama al médico"),
    ],
)
def test_other_request_does_not_rename_the_timer(code: str, said: str) -> None:
    talk = Talk(code)
    talk.say(TIMER_SET[code], said)
    assert [timer.name for timer in talk.effects.timers.running(talk.now_s).timers] == [None]


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("de", "nenn ihn pasta"),
        ("de", "der timer soll pasta heißen"),
        ("de", "der timer heißt jetzt pasta"),
        ("fr", "appelle-le pasta"),
        ("fr", "renomme-le en pasta"),
        ("en", "call it pasta"),
        ("es", "llámalo pasta"),
    ],
)
def test_timer_is_renamed(code: str, said: str) -> None:
    talk = Talk(code)
    talk.say(TIMER_SET[code], said)
    assert [timer.name for timer in talk.effects.timers.running(talk.now_s).timers] == ["pasta"]


@pytest.mark.parametrize(
    ("said", "local_time"),
    [
        ("remind me at 4 pm to call Anna|move it to tomorrow at nine", wall(2026, 11, 21, 9)),
        ("set an alarm for 7 am|move my alarm to Saturday at three", wall(2026, 11, 21, 15)),
        ("set an alarm for 7 am|move my alarm to eight", wall(2026, 11, 21, 8)),
        ("set an alarm for 7 am|move it to Monday", wall(2026, 11, 23, 7)),
    ],
)
def test_half_of_the_day_is_kept_only_on_the_same_day(said: str, local_time: datetime) -> None:
    talk = Talk()
    talk.say(*said.split("|"))
    running = talk.effects.timers.running(talk.now_s)
    assert [entry.local_time for entry in (*running.alarms, *running.reminders)] == [local_time]


@pytest.mark.parametrize(("old", "hour"), [("19 uhr", 7), ("7 uhr", 8)])
def test_old_time_in_24_hours_means_that_hour(old: str, hour: int) -> None:
    talk = Talk("de")
    talk.say("stell den wecker auf 7 uhr morgens", f"ändere den wecker von {old} auf 8 uhr")
    assert [entry.local_time.hour for entry in talk.effects.timers.running(talk.now_s).alarms] == [hour]


def test_own_alarm_is_moved_in_french() -> None:
    talk = Talk("fr")
    talk.say("mets mon alarme à 7 heures du matin", "mets mon alarme à 8 heures")
    assert [entry.local_time.hour for entry in talk.effects.timers.running(talk.now_s).alarms] == [8]
    talk.say("mets une alarme à 9 heures du matin")
    assert [entry.local_time.hour for entry in talk.effects.timers.running(talk.now_s).alarms] == [8, 9]
