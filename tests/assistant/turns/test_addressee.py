"""Tests of words that show to whom they are addressed."""

import pytest

from assistant.turns.words.addressee import is_side_talk, reason_to_ignore


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
