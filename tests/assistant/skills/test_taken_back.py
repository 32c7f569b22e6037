"""Requests that are taken back in the same breath: nothing is done."""

import pytest
from support.conversations.skill_talk import Talk
from support.services.furnished_home import done_by
from support.services.quiet_home import QuietHome, ask_home, home_with

from assistant.home import Device
from assistant.skills.answers import Rung, Running, SetTimer
from assistant.skills.languages.language import LANGUAGES

NAMES = {
    "en": ("Oven", "Kettle"),
    "de": ("Ofen", "Wasserkocher"),
    "fr": ("Four", "Bouilloire"),
    "es": ("Horno", "Hervidor"),
}
ORDERS = {
    "en": ("turn on the oven", "turn on the oven in ten minutes", "turn the oven and the kettle on"),
    "de": ("mach den Ofen an", "schalte den Ofen in zehn Minuten an", "mach den Ofen und den Wasserkocher an"),
    "fr": ("allume le four", "allume le four dans dix minutes", "allume le four et la bouilloire"),
    "es": ("enciende el horno", "enciende el horno en diez minutos", "enciende el horno y el hervidor"),
}
TAKEN_BACK = {
    "en": (
        *(", never mind", ", stop", ", cancel", ", forget it", ". Never mind.", " never mind", "... no, forget it"),
        *(", no.", ", cancel that", " and never mind", ". Oh, wait. Never mind, please.", ", don't", ", actually no"),
    ),
    "de": (", doch nicht", ", vergiss es", ". Nein, doch nicht.", " doch nicht", ", ach nein, lieber nicht", ", stopp"),
    "fr": (", oublie", ", laisse tomber", ". Non, laisse tomber.", ", finalement non", ", annule", " laisse tomber"),
    "es": (", olvídalo", ", no, déjalo", ". Mejor no.", ", cancela", ", para", " olvídalo", ", espera, no lo hagas"),
}


def home(code: str) -> QuietHome:
    names = zip(("switch.oven", "switch.kettle"), NAMES[code], strict=True)
    return home_with(*(Device(key, name, "off", "switch") for key, name in names))


@pytest.mark.parametrize("code", LANGUAGES)
def test_order_that_is_taken_back_is_not_done(code: str) -> None:
    here = home(code)
    for order in ORDERS[code]:
        assert done_by(ask_home(here, order, code)) != "-", order
        for words in TAKEN_BACK[code]:
            answer = ask_home(here, order + words, code)
            assert answer is not None, order + words
            assert (answer.skill, done_by(answer)) == ("dialog", "-"), order + words


@pytest.mark.parametrize(
    ("code", "said", "does"),
    [
        ("en", "turn on the oven, never mind, turn on the kettle", "turn_on switch.kettle"),
        ("en", "turn on the oven, no, the kettle", "turn_on switch.kettle"),
        ("en", "turn on the oven, I mean the kettle", "turn_on switch.kettle"),
        ("en", "turn on the oven, forget it, sing me a song", "-"),
        ("en", "turn the oven on and leave it", "turn_on switch.oven"),
        ("de", "schalte an den Ofen, ich meine den Wasserkocher", "-"),
        ("fr", "allume le four, non, la bouilloire", "turn_on switch.kettle"),
        ("es", "enciende el horno, no, el hervidor", "turn_on switch.kettle"),
    ],
)
def test_only_what_follows_the_taken_back_order_is_done(code: str, said: str, does: str) -> None:
    assert done_by(ask_home(home(code), said, code)) == does


@pytest.mark.parametrize(
    "said",
    ["stop the radio, stop", "sing me a song, never mind", "remind me at five to tell Anna never mind", "never mind"],
)
def test_words_that_take_no_order_back_are_understood_as_before(said: str) -> None:
    answer = ask_home(home("en"), said)
    assert answer is None or answer.text != "All right." or answer.skill != "dialog"


def test_stop_behind_an_order_ends_what_rings() -> None:
    rung = Rung(1, SetTimer(60.0, None, "Your timer is done."))
    answer = ask_home(home("en"), "turn on the oven, stop", running=Running(rung=rung, ringing=(rung,)))
    assert done_by(answer) == "turn_on switch.oven"


@pytest.mark.parametrize(
    "said",
    [
        "remind me tomorrow at five to tell Bob thanks, but no thanks",
        "remind me tomorrow at five to say yes, or no",
        "remind me tomorrow at five to call the bank, and wait",
    ],
)
def test_free_words_of_a_reminder_take_nothing_back(said: str) -> None:
    talk = Talk("en")
    talk.say(said)
    assert talk.effects.timers.any_set


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("en", "set a timer for five minutes, no, eight"),
        ("de", "stell einen Timer auf fünf Minuten, nein, acht"),
        ("fr", "mets un minuteur de cinq minutes, non, huit"),
    ],
)
def test_timer_that_is_corrected_is_set(code: str, said: str) -> None:
    talk = Talk(code)
    talk.say(said)
    assert talk.effects.timers.any_set


def test_timer_that_is_taken_back_is_not_set() -> None:
    talk = Talk("en")
    assert talk.say("set a timer for ten minutes, never mind") == "All right."
    assert not talk.effects.timers.any_set
