"""Durations and times of day as people say them and recognizers write them."""

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.conversations.loaded_skills import loaded_skills
from support.texts.text_cases import text_cases

from assistant.skills.answers import SetAlarm, SetTimer, SkillContext, SkillEffect
from assistant.skills.languages.language import LANGUAGES

NOW = datetime(2026, 11, 20, 15, 59, tzinfo=ZoneInfo("Europe/Berlin"))
TIMER = {
    "en": "set a timer for {}",
    "de": "stelle einen timer auf {}",
    "fr": "mets un minuteur {}",
    "es": "pon un temporizador de {}",
}

LENGTHS = [
    ("en", "1½ hours", 5400),
    ("en", "1 ½ hours", 5400),
    ("en", "½ an hour", 1800),
    ("en", "½ hour", 1800),
    ("en", "¾ of an hour", 2700),
    ("en", "¼ hour", 900),
    ("en", "3 1/2 minutes", 210),
    ("en", "2 1/2 minutes", 150),
    ("en", "1 1/2 hours", 5400),
    ("en", "1/2 hour", 1800),
    ("en", "1/2 an hour", 1800),
    ("en", "3/4 of an hour", 2700),
    ("en", "1 minute 30", 90),
    ("en", "1 minute 30 seconds", 90),
    ("en", "one minute thirty", 90),
    ("en", "one hour thirty", 5400),
    ("en", "an hour and a quarter", 4500),
    ("en", "an hour and three quarters", 6300),
    ("en", "two and a half hours", 9000),
    ("en", "two and a half minutes", 150),
    ("en", "two and three quarter hours", 9900),
    ("en", "two hours and a half", 9000),
    ("en", "two hours and a quarter", 8100),
    ("en", "a quarter of an hour", 900),
    ("en", "three quarters of an hour", 2700),
    ("en", "three quarter hours", 2700),
    ("en", "one and a half hours", 5400),
    ("en", "a minute and a half", 90),
    ("en", "an hour and thirty", 5400),
    ("en", "1h30", 5400),
    ("en", "1h 30m", 5400),
    ("en", "1h30m", 5400),
    ("en", "1 h 30 min", 5400),
    ("en", "90 s", 90),
    ("en", "90s", 90),
    ("en", "90sec", 90),
    ("en", "10m", 600),
    ("en", "10 m", 600),
    ("en", "2:30 minutes", 150),
    ("en", "1:30 hours", 5400),
    ("en", "1:30:00", 5400),
    ("en", "10 min.", 600),
    ("en", "half a minute", 30),
    ("en", "an hour and a half", 5400),
    ("en", "1.5 hours", 5400),
    ("en", "one and a quarter hours", 4500),
    ("en", "one point five hours", 5400),
    ("en", "a half an hour", 1800),
    ("en", "an hour 30", 5400),
    ("en", "2 hours, 30 minutes, 15", 9015),
    ("en", "1.5h", 5400),
    ("en", "90min", 5400),
    ("en", "1hr30", 5400),
    ("en", "30 seconds", 30),
    ("en", "1 minute 30 minutes", 1860),
    ("en", "an hour and a half hour", 5400),
    ("de", "1½ Stunden", 5400),
    ("de", "1 ½ Stunden", 5400),
    ("de", "1 1/2 Stunden", 5400),
    ("de", "2 1/2 Minuten", 150),
    ("de", "eine Stunde dreißig", 5400),
    ("de", "1 Stunde 30", 5400),
    ("de", "eine Minute dreißig", 90),
    ("de", "eine Dreiviertelstunde", 2700),
    ("de", "eine dreiviertel Stunde", 2700),
    ("de", "3/4 Stunde", 2700),
    ("de", "¾ Stunde", 2700),
    ("de", "½ Stunde", 1800),
    ("de", "¼ Stunde", 900),
    ("de", "anderthalb Stunden", 5400),
    ("de", "eineinhalb Stunden", 5400),
    ("de", "einundeinhalb Stunden", 5400),
    ("de", "ein einhalb Stunden", 5400),
    ("de", "zweieinhalb Minuten", 150),
    ("de", "zwei und eine halbe Stunde", 9000),
    ("de", "eine viertelstunde", 900),
    ("de", "eine Viertel Stunde", 900),
    ("de", "drei viertel Stunden", 2700),
    ("de", "fünf viertelstunden", 4500),
    ("de", "eine und eine halbe Stunde", 5400),
    ("de", "eineinviertel Stunden", 4500),
    ("de", "eindreiviertel Stunden", 6300),
    ("de", "1,5 Stunden", 5400),
    ("de", "1h30", 5400),
    ("de", "1 h 30 min", 5400),
    ("de", "1 Std. 30 Min.", 5400),
    ("de", "90 s", 90),
    ("de", "90 Sek.", 90),
    ("de", "2:30 Minuten", 150),
    ("de", "1:30 Stunden", 5400),
    ("de", "zweidreiviertel Stunden", 9900),
    ("de", "dreiviertel Stunde", 2700),
    ("fr", "de 1h30", 5400),
    ("fr", "de 1 h 30", 5400),
    ("fr", "de 1 heure 30", 5400),
    ("fr", "d'une heure trente", 5400),
    ("fr", "d'une heure et demie", 5400),
    ("fr", "de 1h30min", 5400),
    ("fr", "de 1 h 30 min", 5400),
    ("fr", "de trois quarts d'heure", 2700),
    ("fr", "de 3/4 d'heure", 2700),
    ("fr", "d'un quart d'heure", 900),
    ("fr", "d'1/4 d'heure", 900),
    ("fr", "de ½ heure", 1800),
    ("fr", "d'une demi-heure", 1800),
    ("fr", "de 1½ heure", 5400),
    ("fr", "de 1 ½ heures", 5400),
    ("fr", "de deux heures et quart", 8100),
    ("fr", "d'une heure et quart", 4500),
    ("fr", "d'une heure un quart", 4500),
    ("fr", "de deux minutes et demie", 150),
    ("fr", "de 2 min 30", 150),
    ("fr", "de 2'30", 150),
    ("fr", "de 90 s", 90),
    ("fr", "de 90s", 90),
    ("fr", "de deux heures trois quarts", 9900),
    ("fr", "d'une heure et trois quarts", 6300),
    ("fr", "de 2:30 minutes", 150),
    ("fr", "de 1,5 heure", 5400),
    ("fr", "d'une minute trente", 90),
    ("fr", "de 10mn", 600),
    ("fr", "d’1h30", 5400),
    ("fr", "de 2'30\"", 150),
    ("es", "un cuarto de hora", 900),
    ("es", "cuarto de hora", 900),
    ("es", "una hora y cuarto", 4500),
    ("es", "una hora y un cuarto", 4500),
    ("es", "hora y media", 5400),
    ("es", "una hora y media", 5400),
    ("es", "hora y cuarto", 4500),
    ("es", "tres cuartos de hora", 2700),
    ("es", "media hora", 1800),
    ("es", "1/2 hora", 1800),
    ("es", "½ hora", 1800),
    ("es", "1½ horas", 5400),
    ("es", "1 ½ horas", 5400),
    ("es", "1 1/2 horas", 5400),
    ("es", "3/4 de hora", 2700),
    ("es", "¾ de hora", 2700),
    ("es", "dos horas y media", 9000),
    ("es", "dos minutos y medio", 150),
    ("es", "un minuto y medio", 90),
    ("es", "un minuto treinta", 90),
    ("es", "1 minuto 30", 90),
    ("es", "una hora treinta", 5400),
    ("es", "1 hora 30", 5400),
    ("es", "1h30", 5400),
    ("es", "1 h 30 min", 5400),
    ("es", "90 s", 90),
    ("es", "90 seg", 90),
    ("es", "2:30 minutos", 150),
    ("es", "dos horas y cuarto", 8100),
    ("es", "una hora y tres cuartos", 6300),
    ("es", "medio minuto", 30),
    ("es", "dos horas y treinta", 9000),
    ("de", "eine Stunde und eine Viertelstunde", 4500),
]

IN_OTHER_SENTENCES = [
    ("en", "set a 1½ hour timer", SetTimer(5400, None, "")),
    ("en", "set a 1 1/2 hour timer", SetTimer(5400, None, "")),
    ("en", "start a 2:30 minute timer", SetTimer(150, None, "")),
    ("en", "set a one-and-a-half-hour timer", SetTimer(5400, None, "")),
    ("en", "set a 1h30 timer for the roast", SetTimer(5400, "roast", "")),
    ("en", "can you please set a timer for 1 minute 30 please", SetTimer(90, None, "")),
    ("en", "wake me up in an hour and a quarter", SetAlarm(datetime.fromisoformat("2026-11-20T17:14"), "")),
    ("en", "wake me up in 1½ hours", SetAlarm(datetime.fromisoformat("2026-11-20T17:29"), "")),
    ("de", "weck mich in einer Stunde dreißig", SetAlarm(datetime.fromisoformat("2026-11-20T17:29"), "")),
    ("fr", "réveille-moi dans 1h30", SetAlarm(datetime.fromisoformat("2026-11-20T17:29"), "")),
    ("es", "despiértame en un cuarto de hora", SetAlarm(datetime.fromisoformat("2026-11-20T16:14"), "")),
]

NO_LENGTHS = [
    "set a timer for 1 minute 90",
    "set a timer for 1 second 30",
    "set a timer for two half hours",
    "set a timer for 1/2",
    "set a timer for ½",
    "set a timer for 30",
    "set a timer for 2:30",
    "set a timer for 2:75 minutes",
    "set a timer for 3 an hour",
    "set a timer for 7/8",
    "set a timer for 24/7",
    "set a timer for an hour of yoga",
    "set a timer for 5 minutes 30 apples",
    "set a timer for 1 hour 30 people",
    "set a timer for 1 minute 30 and turn on the lights",
    "what is half an hour",
    "what's 1 hour 30",
    "what is 1½ plus 2",
    "what is 5 km in 1h30",
    "1h30",
    "wake me up at 7 hours",
    "set a timer for two hours and 1 quarter of and half minute",
]

MORNING, NIGHT = "2026-11-21T06:30", "2026-11-21T00:15"
ALARMS = [
    ("en", "set an alarm for 0630", MORNING),
    ("en", "set an alarm for 06:30", MORNING),
    ("en", "set an alarm for 06.30", MORNING),
    ("en", "set a 06:30 alarm", MORNING),
    ("en", "set an alarm for 0630 hours", MORNING),
    ("en", "set an alarm for 06:30 hours", MORNING),
    ("en", "set an alarm for oh six thirty", MORNING),
    ("en", "wake me up at oh six thirty", MORNING),
    ("en", "wake me up at zero six thirty", MORNING),
    ("en", "set an alarm for 06:30 tomorrow", MORNING),
    ("en", "wake me up at 07:00", "2026-11-21T07:00"),
    ("en", "set an alarm for 07:00", "2026-11-21T07:00"),
    ("en", "wake me at 0700 hours", "2026-11-21T07:00"),
    ("en", "wake me up at oh seven hundred hours", "2026-11-21T07:00"),
    ("en", "set an alarm for 1130 hours", "2026-11-21T11:30"),
    ("en", "set an alarm for 1830 hours", "2026-11-20T18:30"),
    ("en", "set an alarm for 02:00 tomorrow", "2026-11-21T02:00"),
    ("en", "set an alarm for 0015", NIGHT),
    ("en", "set an alarm for 00:15", NIGHT),
    ("en", "set an alarm for 0000", "2026-11-21T00:00"),
    ("en", "set an alarm for 03:30", "2026-11-21T03:30"),
    ("de", "stell den wecker auf 06:30 Uhr", MORNING),
    ("de", "stell den wecker auf 06:45 Uhr", "2026-11-21T06:45"),
    ("de", "stell den wecker auf 06.30 Uhr", MORNING),
    ("de", "stell den wecker auf 0630", MORNING),
    ("de", "stell den wecker auf 07 Uhr", "2026-11-21T07:00"),
    ("de", "stell den wecker auf null sechs dreißig", MORNING),
    ("de", "stell den wecker auf 00:15 Uhr", NIGHT),
    ("fr", "mets une alarme à 06h30", MORNING),
    ("fr", "mets une alarme à 07h30", "2026-11-21T07:30"),
    ("fr", "mets un réveil à 06:30", MORNING),
    ("fr", "mets un réveil à 0630", MORNING),
    ("fr", "mets un réveil à 06 heures 30", MORNING),
    ("fr", "mets un réveil à zéro six heures trente", MORNING),
    ("fr", "mets un réveil à 00h15", NIGHT),
    ("es", "pon una alarma a las 06:30", MORNING),
    ("es", "pon una alarma a las 07:00", "2026-11-21T07:00"),
    ("es", "pon una alarma a las 0630", MORNING),
    ("es", "pon una alarma a las 06:30 horas", MORNING),
    ("es", "pon una alarma a las 0630 horas", MORNING),
    ("es", "pon una alarma a las cero seis treinta", MORNING),
    ("es", "pon una alarma a las 00:15", NIGHT),
]

# Without a leading zero, or with a half of the day, the meaning does not change.
OTHER_ALARMS = [
    ("en", "set an alarm for 6:30", "2026-11-20T18:30"),
    ("en", "set an alarm for 630", "2026-11-20T18:30"),
    ("en", "wake me up at six thirty", MORNING),
    ("en", "set an alarm for 06:30 pm", "2026-11-20T18:30"),
    ("en", "set an alarm for 06:30 tonight", "2026-11-20T18:30"),
    ("en", "set an alarm for quarter past 07", "2026-11-20T19:15"),
    ("en", "set an alarm for 7 hours", "2026-11-20T22:59"),
    ("de", "weck mich heute abend um 07:00", "2026-11-20T19:00"),
    ("fr", "mets un réveil à 7h30", "2026-11-20T19:30"),
    ("es", "pon una alarma a las 7:30 horas", "2026-11-20T19:30"),
]


SKILLS = loaded_skills()


def effect_of(code: str, said: str) -> SkillEffect | None:
    answer = SKILLS.answer(said, SkillContext(NOW, language=code))
    return None if answer is None else answer.effect


@text_cases(("code", "length", "seconds"), LENGTHS, columns=(0, 1))
def test_timer_is_set_for_every_duration_form(code: str, length: str, seconds: int) -> None:
    effect = effect_of(code, TIMER[code].format(length))
    assert isinstance(effect, SetTimer)
    assert (effect.seconds, effect.name) == (seconds, None)


@text_cases(("code", "said", "expected"), IN_OTHER_SENTENCES, columns=(0, 1))
def test_duration_is_understood_in_other_sentences(code: str, said: str, expected: SetTimer | SetAlarm) -> None:
    effect = effect_of(code, said)
    if isinstance(expected, SetTimer):
        assert isinstance(effect, SetTimer)
        assert (effect.seconds, effect.name) == (expected.seconds, expected.name)
    else:
        assert isinstance(effect, SetAlarm)
        assert effect.at == expected.at


@text_cases("said", NO_LENGTHS)
def test_other_words_are_not_a_duration(said: str) -> None:
    assert SKILLS.answer(said, SkillContext(NOW)) is None


@text_cases(("code", "said", "at"), ALARMS, columns=(0, 1))
def test_leading_zero_means_24_hour_time(code: str, said: str, at: str) -> None:
    effect = effect_of(code, said)
    assert isinstance(effect, SetAlarm)
    assert effect.at == datetime.fromisoformat(at)


@text_cases(("code", "said", "at"), OTHER_ALARMS, columns=(0, 1))
def test_hour_without_leading_zero_is_not_24_hour_time(code: str, said: str, at: str) -> None:
    effect = effect_of(code, said)
    assert isinstance(effect, SetAlarm)
    assert effect.at == datetime.fromisoformat(at)


@pytest.mark.parametrize("code", LANGUAGES)
@given(st.lists(st.sampled_from(("1", "½", "1/2", ":30", "h", "'", "oh", "zero", "null", "un", "una", "ein", "a", "and",
    "et", "y", "und", "half", "demi", "media", "halbe", "hour", "heure", "hora", "stunde", "minutes", "0700", "hours",
    "∶", "3⁄0", "1⁄2", "90", "quarter", "medio", "cuarto", "de", "of")), max_size=12).map(" ".join))  # fmt: skip
def test_random_duration_words_never_raise(code: str, words: str) -> None:
    SKILLS.answer(TIMER[code].format(words), SkillContext(NOW, language=code))
    SKILLS.answer(words, SkillContext(NOW, language=code))
