"""Answers to the assistant's questions, references and several requests, as the effects of committed turns."""

import pytest
from support.conversations.skill_talk import Talk
from support.texts.sentence_table import Section, sentence_cases
from support.texts.text_cases import text_cases

from assistant.skills.dialog.memory import QUESTION_S

TWO_TIMERS = {
    "en": ("set a ten minute timer for pasta", "set a timer for five minutes", "cancel the timer"),
    "de": ("stell einen timer auf zehn minuten für nudeln", "stell einen timer auf fünf minuten", "lösche den timer"),
    "fr": (
        "mets un minuteur de dix minutes pour les pâtes",
        "mets un minuteur de cinq minutes",
        "annule le minuteur",
    ),
    "es": (
        "pon un temporizador de diez minutos para la pasta",
        "pon un temporizador de cinco minutos",
        "cancela el temporizador",
    ),
}


@sentence_cases("dialog of two timers")
def test_answer_chooses_one_of_several_timers(section: Section, row: list[str]) -> None:
    code, said, _ = row
    talk = Talk(code)
    assert talk.say(*TWO_TIMERS[code], *said.split(" > ")) or " > " in said
    left = [timer.name or "five minutes" for timer in talk.effects.timers.running(talk.now_s).timers]
    assert (", ".join(left) or "-") == section.expected(row)["left"]


@sentence_cases("dialog")
def test_follow_up_is_understood(section: Section, row: list[str]) -> None:
    code, said, _ = row
    assert section.expected(row)["contains"] in Talk(code).say(*said.split(" > "))


@text_cases(
    ("code", "said"),
    [
        ("en", "set a timer for ten minutes and cancel it"),
        ("en", "set a timer for ten minutes and then cancel all timers"),
        ("de", "stell einen timer auf zehn minuten und lösche ihn wieder"),
        ("fr", "mets un minuteur de dix minutes et annule-le"),
        ("es", "pon un temporizador de diez minutos y cancélalo"),
    ],
    columns=(0, 1),
)
def test_sentence_that_cancels_what_it_sets_leaves_the_others(code: str, said: str) -> None:
    talk = Talk(code)
    talk.say(TWO_TIMERS[code][0])
    before = () if "all" in said else talk.effects.timers.running(0).timers
    assert talk.say(said)
    assert [one.number for one in talk.effects.timers.running(0).timers] == [one.number for one in before]


def test_other_one_gets_the_action_that_is_said() -> None:
    talk = Talk()
    talk.say(*TWO_TIMERS["en"][:2], "how long is left on the pasta timer")
    assert talk.say("and the other one") == "4 minutes and 50 seconds are left."
    assert talk.say("pause the other one") == "Your timer for pasta is paused."


@pytest.mark.parametrize("said", ["set a timer for ten minutes and write a poem", "salt and pepper", "eggs and ham"])
def test_partly_understood_sentence_goes_to_the_model(said: str) -> None:
    talk = Talk()
    assert talk.say(said) == ""
    assert talk.effects.timers.running(talk.now_s).timers == ()


def test_dropped_attempt_leaves_the_question_open() -> None:
    talk = Talk()
    talk.say(*TWO_TIMERS["en"])
    for said in ("what time is it", "the", "the first one"):
        talk.attempt(said)
    assert talk.say("the first one") == "Your 5 minute timer is cancelled."


def test_retracted_answer_opens_the_question_again() -> None:
    talk = Talk()
    asked = talk.say(*TWO_TIMERS["en"])
    talk.say("the first one")
    talk.retract()
    talk.heard = asked
    assert talk.say("the second one") == "Your timer for pasta is cancelled."


@pytest.mark.parametrize(("heard", "is_open"), [("You have two timers", False), ("…timers. Which one do", True)])
def test_question_is_open_once_its_first_word_was_heard(heard: str, is_open: bool) -> None:
    talk = Talk()
    talk.say(*TWO_TIMERS["en"])
    talk.heard = heard
    assert bool(talk.say("pasta")) is is_open


@pytest.mark.parametrize(
    ("code", "said"), [("en", "the second one"), ("de", "den zweiten"), ("fr", "le deuxième"), ("es", "el segundo")]
)
def test_question_may_be_answered_while_the_choices_are_told(code: str, said: str) -> None:
    talk = Talk(code)
    introduction, _, choices = talk.say(*TWO_TIMERS[code]).partition(":")
    told = choices.partition(".")[0].split()
    for count in range(len(told) + 1):
        talk.heard = f"{introduction}: {' '.join(told[:count])}"
        answer = talk.attempt(said)
        assert (answer is not None and answer.effect is not None) == (count > 0)


def test_question_is_closed_after_another_turn_or_a_minute() -> None:
    other, late = Talk(), Talk()
    for talk in (other, late):
        talk.say(*TWO_TIMERS["en"])
    assert other.say("what time is it") == "It's 3:43 PM."
    assert other.say("pasta") == ""
    late.now_s += QUESTION_S
    assert late.say("pasta") == ""
