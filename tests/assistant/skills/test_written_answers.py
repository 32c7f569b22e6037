"""Answers as they are written: on the screen, in the history and in exports. The other tests check what is said."""

from datetime import datetime
from random import Random
from zoneinfo import ZoneInfo

import pytest
from support.conversations.loaded_skills import written_skills
from support.texts.text_cases import text_cases

from assistant.skills.answers import AlarmState, Running, SetAlarm, SetTimer, SkillContext, TimerState
from assistant.skills.home.requests import degrees, measured
from assistant.skills.languages.language import LANGUAGES, language_with, load_language
from assistant.text.chunker import Chunker
from assistant.text.normalization.reading import spoken
from assistant.text.speakable import Speakable

NOW = datetime(2026, 11, 20, 19, 6, tzinfo=ZoneInfo("Europe/Berlin"))
TIMERS = (TimerState(1, None, 600, 262), TimerState(2, None, 1260, 1200))
LOCAL_NOW = NOW.replace(tzinfo=None)
ALARMS = (
    AlarmState(3, LOCAL_NOW.replace(day=21, hour=7, minute=30)),
    AlarmState(4, LOCAL_NOW.replace(month=12, day=25, hour=21, minute=5)),
)


def answer_to(code: str, said: str, *, running: bool = False) -> str:
    set_ = Running(TIMERS, ALARMS) if running else Running()
    answer = written_skills().answer(said, SkillContext(NOW, language=code, running=set_, rng=Random(3)))
    assert answer is not None, said
    return answer.text


def test_lists_of_timers_and_alarms_are_written_in_digits() -> None:
    assert answer_to("en", "how much time is left", running=True) == (
        "You have 4 minutes and 22 seconds on the 10 minute timer and 20 minutes on the 21 minute timer."
    )
    assert answer_to("en", "what alarms do I have", running=True) == (
        "You have 2 alarms for 7:30 AM tomorrow and 9:05 PM on Friday, December 25."
    )


def test_announcements_are_written_in_digits() -> None:
    context = SkillContext(NOW)
    timer, alarm = (written_skills().answer(one, context) for one in ("set a ten minute timer", "wake me at seven"))
    assert timer is not None
    assert alarm is not None
    assert isinstance(timer.effect, SetTimer)
    assert isinstance(alarm.effect, SetAlarm)
    assert timer.effect.announcement == "Your 10 minute timer is done."
    assert alarm.effect.announcement == "It's 7 AM. This is your alarm."


@text_cases(
    ("code", "percent", "warm"),
    [
        ("en", "Lamp at 30%.", "It's 21.5°. It feels like 20."),
        ("de", "Lamp auf 30 %.", "Es hat 21,5°. Gefühlt sind es 20."),
        ("fr", "Lamp à 30 %.", "Il fait 21,5°, 20 en ressenti."),
        ("es", "Lamp al 30 %.", "Hace 21,5°. La sensación es de 20."),
    ],
    columns=(0,),
)
def test_measured_numbers_are_written_with_their_signs(code: str, percent: str, warm: str) -> None:
    home, language = (language_with(f"assistant.skills.{name}", code) for name in ("home", "weather"))
    assert home.say("home_percent", what="Lamp", number=measured(home, 30)) == percent
    told = language.say("weather_degrees_now", degrees=degrees(language, 21.5), place="", felt=measured(language, 20))
    assert told == warm


@pytest.mark.parametrize("code", LANGUAGES)
def test_no_digit_is_left_for_the_voice(code: str) -> None:
    phrases = load_language(code).phrases
    moments = [NOW.replace(hour=hour, minute=minute) for hour in range(24) for minute in (0, 1, 5, 21, 30)]
    written = [
        *(phrases.time_is(at.time()) for at in moments),
        *(phrases.moment(at, 9) for at in moments),
        *(phrases.timer(None, seconds) for seconds in (1, 21, 60, 61, 600, 1260, 3600, 5400, 86_400)),
        *(phrases.days(days, weeks=weeks) for days in (1, 7, 8, 21, 147, 366) for weeks in (False, True)),
    ]
    assert not [text for text in written if any(map(str.isdigit, spoken(text, code)))]


@text_cases(
    ("text",),
    [
        ("That's about 1.84 × 10¹⁹.",),
        ("41.",),
        ("Der Wecker klingelt am Donnerstag, dem 3. Dezember um 7:30 Uhr.",),
        ("It's 21.5° in Paris and clear. Today between 12 and 21°, 30% chance of rain.",),
    ],
    columns=(0,),
)
def test_written_answer_passes_markup_and_chunker_unchanged(text: str) -> None:
    speakable, chunker = Speakable(), Chunker()
    assert speakable.feed(f"{text}\n\n") + speakable.finish() == f"{text}\n\n"
    chunks = [*chunker.feed(f"{text}\n\n"), *chunker.finish()]
    assert " ".join(chunk.text for chunk in chunks) == text
