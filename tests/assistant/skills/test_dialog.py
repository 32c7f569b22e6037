"""Answers to the assistant's questions, references and several requests, as the effects of committed turns."""

import pytest
from support.conversations.skill_talk import Talk
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


@text_cases(
    ("code", "said", "left"),
    [
        *[("en", said, ["pasta"]) for said in ("the first one", "uh, the 1st one, please", "The five minute timer.")],
        *[
            ("en", said, ["pasta"])
            for said in ("5 minute timer", "the one with five minutes", "number one", "shortest")
        ],
        *[("en", said, [None]) for said in ("pasta", "the pasta one", "the second", "the last", "the 2nd one, thanks")],
        *[("en", said, []) for said in ("both", "all of them", "both of them please")],
        *[("en", said, [None, "pasta"]) for said in ("none", "no", "never mind", "forget it", "the third one")],
        *[("de", said, ["nudeln"]) for said in ("den ersten", "den mit fünf minuten, bitte", "nummer eins")],
        *[("de", said, [None]) for said in ("nudeln", "äh den nudeltimer", "den letzten", "die zweite")],
        *[("de", said, []) for said in ("beide", "alle")],
        *[("fr", said, ["pâtes"]) for said in ("le premier", "celui de cinq minutes, merci")],
        *[("fr", said, [None]) for said in ("les pâtes", "le dernier", "le deuxième")],
        *[("fr", said, []) for said in ("les deux", "tous")],
        *[("es", said, ["pasta"]) for said in ("el primero", "eh, el de cinco minutos, por favor")],
        *[("es", said, [None]) for said in ("la pasta", "el último", "el segundo")],
        *[("es", said, []) for said in ("los dos", "todos")],
    ],
    columns=(0, 1),
)
def test_answer_chooses_one_of_several_timers(code: str, said: str, left: list[str | None]) -> None:
    talk = Talk(code)
    assert talk.say(*TWO_TIMERS[code], said)
    assert [timer.name for timer in talk.effects.timers.running(talk.now_s).timers] == left


@text_cases(
    ("code", "said", "text"),
    [
        ("en", "set an alarm|at seven", "Your alarm is set for 7 PM."),
        ("en", "set an alarm for noon|set an alarm for 7 pm|cancel the alarm|the noon one", "cancelled"),
        ("en", "remind me|to call Anna|in an hour", "I'll remind you at 4:43 PM: call Anna."),
        ("en", "remind me to buy milk|at five", "I'll remind you at 5 PM: buy milk."),
        ("en", "set an alarm for nine am today|yes", "Your alarm is set for 9 AM tomorrow."),
        ("en", "set an alarm for nine am today|no", "All right."),
        ("en", "set a timer for five minutes|no, eight", "Your 8 minute timer is set."),
        ("en", "set an alarm for seven|no, half past eight|cancel it", "Your alarm for 8:30 PM is cancelled."),
        ("en", "set a timer for ten minutes|what time is it|cancel it", "Your 10 minute timer is cancelled."),
        ("en", "what time is it|and in Paris?", "It's 3:43 PM in Paris."),
        ("en", "what is 7 times 8|plus five", "That's 61."),
        ("en", "cancel the timer and start one for five minutes", "There is no timer. Your 5 minute timer is set."),
        ("en", "set a 5 minute timer for macaroni and cheese", "Your 5 minute timer for macaroni and cheese is set."),
        ("en", "set a timer for five minutes and an alarm for seven", "Your alarm is set for 7 PM."),
        ("en", "set an alarm for seven pm|make it half an hour later", "Your alarm is set for 7:30 PM."),
        ("en", "set an alarm for seven pm|push it back by ten minutes", "Your alarm is set for 7:10 PM."),
        ("en", "remind me at five to call Anna|ten minutes earlier", "I'll remind you at 4:50 PM: call Anna."),
        ("en", "set an alarm for seven pm|make it an hour later|make it an hour later", "Your alarm is set for 9 PM."),
        ("en", "set a timer for ten minutes|make it two minutes later", "All right, 2 minutes more."),
        (
            "en",
            "set a timer for ten minutes|call it pasta|cancel the pasta timer",
            "Your timer for pasta is cancelled.",
        ),
        ("en", "set a timer for ten minutes|take an hour off", "That is more than is left: 9 minutes and 55 seconds."),
        ("en", "set an alarm for noon|set an alarm for 7 am|make my alarm an hour later|the first one", "for 8 AM"),
        ("en", "set a timer for ten minutes and another for twenty|cancel it", "Your 20 minute timer is cancelled."),
        ("en", "set two alarms for six and seven|cancel all alarms", "Both alarms are cancelled."),
        ("en", "set alarms for six and six thirty pm|cancel all alarms", "Both alarms are cancelled."),
        ("de", "stell einen wecker auf sieben|mach ihn eine halbe stunde später", "klingelt heute um 19:30 Uhr."),
        (
            "de",
            "stell einen timer auf zehn minuten|nenn ihn pasta|lösch den pasta timer",
            "Timer für Pasta ist gelöscht.",
        ),
        ("de", "stell wecker für sechs und halb sieben|lösche alle wecker", "Beide Wecker sind gelöscht."),
        ("fr", "mets une alarme à 19 heures|décale la d'une demi-heure", "L'alarme sonnera aujourd'hui à 19 h 30."),
        ("fr", "mets un minuteur de dix minutes|appelle-le pâtes|annule le minuteur pâtes", "pâtes est annulé."),
        ("fr", "mets des alarmes à 18 heures et à 19 heures|annule toutes les alarmes", "annulées."),
        ("es", "pon una alarma a las siete de la tarde|ponla media hora más tarde", "a las 7:30 de la tarde."),
        ("es", "pon un temporizador de diez minutos|llámalo pasta|cancela el temporizador de pasta", "está cancelado."),
        ("es", "pon alarmas a las seis y a las seis y media|cancela todas las alarmas", "canceladas."),
        ("de", "stell einen wecker|um sieben|lösche ihn", "ist gelöscht."),
        ("fr", "mets une alarme|à sept heures|annule-la", "est annulée."),
        ("es", "pon una alarma|a las siete|cancélala", "está cancelada."),
        ("en", "what time is it and what's the date", "It's 3:43 PM. It's Friday, November 20, 2026."),
        ("en", "set an alarm for 7 and move it to 8|cancel all alarms", "Your alarm for 8 PM is cancelled."),
        ("en", "set a timer for ten minutes and how long is left", "10 minutes are left."),
        ("en", "set an alarm for noon|set an alarm for 7 am|cancel the noon alarm|the other one too", "for 7 AM"),
    ],
    columns=(0, 1),
)
def test_follow_up_is_understood(code: str, said: str, text: str) -> None:
    assert text in Talk(code).say(*said.split("|"))


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


@text_cases(
    ("code", "first", "other", "left"),
    [
        ("en", "pasta", "and the other one", []),
        ("en", "the first one", "the other one too", []),
        ("en", "the other one", "the other one", [None, "pasta"]),
        ("de", "den ersten", "und den anderen", []),
        ("fr", "la première", "l'autre aussi", []),
        ("es", "el primero", "y el otro también", []),
    ],
    columns=(0, 1, 2),
)
def test_other_one_is_the_entry_that_was_not_meant(code: str, first: str, other: str, left: list[str | None]) -> None:
    talk = Talk(code)
    talk.say(*TWO_TIMERS[code], first, other)
    assert [timer.name for timer in talk.effects.timers.running(talk.now_s).timers] == left


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
