"""Tests of backchannels, echoes and questions in short texts."""

import pytest
from text_cases import text_cases

from assistant.turns.backchannel import ends_with_question, is_backchannel, is_echo


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
