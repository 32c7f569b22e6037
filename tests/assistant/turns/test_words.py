"""Tests of what short texts mean: backchannels, echoes, questions, and words to somebody else."""

import pytest
from support.texts.text_cases import text_cases

from assistant.turns.words.addressee import is_side_talk, reason_to_ignore
from assistant.turns.words.backchannel import (
    ends_with_question,
    ignorable_probability,
    is_backchannel,
    is_echo,
    may_become_backchannel,
)
from audio.stt import NO_WORD, FirstWord


@pytest.mark.parametrize(
    ("text", "said", "echo"),
    [
        ("Fossil fuels", "The fossil fuels include coal.", True),
        ("include coal", "The fossil fuels include - coal.", True),
        ("fuels coal", "The fossil fuels include coal.", False),
        ("fuel", "The fossil fuels include coal.", False),
        ("", "The fossil fuels include - coal.", False),
        ("...", "", False),
    ],
    ids=["two words", "across a dash", "skipped word", "part of a word", "empty", "no words"],
)
def test_echo_is_a_run_of_words_of_the_reply(text: str, said: str, *, echo: bool) -> None:
    assert is_echo(text, said) is echo


@text_cases(
    ("text", "expected"),
    [
        *[(text, True) for text in ("Uh-huh, right.", "Mhm", "Yeah.", "mm hmm", "Genau!", "D’accord.", "¡Vale!", "OK")],
        *[(text, False) for text in ("Right, stop", "Stop.", "No.", "Wait", "Yeah but why", "Nein", "Non", "Espera")],
    ],
)
def test_backchannel_has_only_backchannel_words(text: str, *, expected: bool) -> None:
    assert is_backchannel(text) is expected


@text_cases(
    ("text", "expected"),
    [
        *[(text, True) for text in ("Yea", "exac", "That makes", "mhm rig")],
        *[(text, True) for text in ("Gena", "stim", "ja kla", "alles")],
        *[(text, True) for text in ("Oua", "d’acc", "voil", "oui je")],
        *[(text, True) for text in ("Val", "clar", "sí ya v")],
        *[(text, False) for text in ("Yeah", "Genau", "oui", "vale", "")],
        *[(text, False) for text in ("Stop", "yeah but", "Nein", "genau aber", "non", "espera", "val si")],
    ],
)
def test_beginning_of_a_backchannel_in_any_language_is_recognized(text: str, *, expected: bool) -> None:
    assert may_become_backchannel(text) is expected


@text_cases(
    ("heard", "expected"),
    [
        ("Shall I go on?", True),
        ("Ten. Shall I go on?", True),
        ("Shall I go on? I could", True),
        ("Shall I? I will.", False),
        ("It is ten.", False),
        ("", False),
    ],
)
def test_reply_asks_if_its_last_complete_sentence_is_a_question(heard: str, *, expected: bool) -> None:
    assert ends_with_question(heard) is expected


@pytest.mark.parametrize(
    ("beginnings", "said", "probability"),
    [
        ((("turn", 0.7), ("What", 0.2)), "", 0.0),
        ((("Yeah", 0.5), ("turn", 0.4), ("Oh", 0.1)), "", 0.6),
        ((("M", 0.5), ("I", 0.2), ("stim", 0.1), ("Stop", 0.2)), "", 0.8),
        ((("(", 0.5), ("...", 0.2), ("Stop", 0.3)), "", 0.7),
        ((("ten", 0.8), ("Stop", 0.2)), "It is ten o'clock.", 0.8),
        ((("Two", 0.8),), "It is ten o'clock.", 0.0),
        (NO_WORD.beginnings, "", 1.0),
    ],
)
def test_first_word_that_may_be_ignored(
    beginnings: tuple[tuple[str, float], ...], said: str, probability: float
) -> None:
    assert ignorable_probability(FirstWord(beginnings), said) == pytest.approx(probability)


def test_only_no_word_may_be_ignored_after_a_question() -> None:
    first = FirstWord((("Yeah", 0.6), ("", 0.3), ("ten", 0.1)))
    assert ignorable_probability(first, "Is it ten?", after_question=True) == pytest.approx(0.4)


@pytest.mark.parametrize(
    "text",
    [
        "Mom, I'm on the phone.",
        "Mom I'm busy",
        "No, not you, I'm talking to the computer.",
        "Be there in a second, honey.",
        "One second, guys, I'm on a call.",
        "I’m coming!",
        "I wasn't talking to you.",
        "Hold on. Sweetie, wait.",
    ],
)
def test_words_to_somebody_else_are_side_talk(text: str) -> None:
    assert is_side_talk(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Call mom.",
        "Text mom, I'll be there in a minute.",
        "Remind me to call mom, dad.",
        "How much honey do I need?",
        "Mom's birthday is in May.",
        "Put him on the phone.",
        "No, stop.",
        "Not that one, the other one.",
        "Who was talking to the computer?",
        "Wait a second.",
        "I'm coming home at five, turn on the heating.",
    ],
)
def test_words_for_the_assistant_are_no_side_talk(text: str) -> None:
    assert not is_side_talk(text)


@pytest.mark.parametrize(
    ("text", "was_question", "reason"),
    [
        ("Yeah.", False, "backchannel"),
        ("Yeah.", True, ""),
        ("Mom, I'm on the phone.", True, "overheard"),
        ("Stop.", False, ""),
        ("", False, ""),
    ],
)
def test_words_that_interrupted_are_ignored_for_a_reason(text: str, *, was_question: bool, reason: str) -> None:
    assert reason_to_ignore(text, reply_was_question=was_question) == reason
