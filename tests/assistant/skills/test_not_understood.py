"""A partly understood sentence is not understood, and any text may be said."""

import time
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.clocks.stopwatch import slowness
from support.conversations.loaded_skills import loaded_skills

from assistant.skills.answers import SkillContext

CONTEXT = SkillContext(datetime(2026, 11, 20, 22, 43, tzinfo=UTC), "Hello.")

SKILLS = loaded_skills()


@pytest.mark.parametrize(
    "said", ["what time is it", "turn on the lights", "two plus two", "set a timer for five minutes"]
)
@pytest.mark.parametrize("more", ["on mars", "and then tell me a joke", "if you were me", "because"])
def test_additional_words_prevent_a_match(said: str, more: str) -> None:
    assert SKILLS.answer(said, CONTEXT) is not None
    assert SKILLS.answer(f"{said} {more}", CONTEXT) is None


@pytest.mark.parametrize(
    "said",
    ["", "   ", "?!", "👍", "what time is it " * 50, "two plus " * 100],
    ids=["empty", "blank", "punctuation", "emoji", "repeated question", "long sum"],
)
def test_empty_and_overlong_text_is_not_understood(said: str) -> None:
    assert SKILLS.answer(said, CONTEXT) is None


@given(st.text(max_size=500))
def test_any_text_never_raises(said: str) -> None:
    answer = SKILLS.answer(said, CONTEXT)
    assert answer is None or answer.text


RANDOM_WORDS = (
    "what is the time in london two hundred and point five minus plus divided by zero percent of square root "
    "convert miles feet to how many a half million thousand 7 3.5 1,000 - / ^ % degrees celsius the power"
)


@given(st.lists(st.sampled_from(RANDOM_WORDS.split()), max_size=14).map(" ".join))
def test_random_words_never_raise(said: str) -> None:
    answer = SKILLS.answer(said, CONTEXT)
    assert answer is None or answer.text


def test_answer_without_a_model_names_the_remedy() -> None:
    assert SKILLS.refusal("tell me a story", CONTEXT).text == "I can't do that yet: no language model is connected."
    assert SKILLS.refusal(" ", CONTEXT).text == "I didn't hear any words."


def test_long_text_is_no_request_and_costs_nothing() -> None:
    text = "word 12 " * 100_000
    began_s = time.thread_time()
    assert SKILLS.match(text) is None
    assert SKILLS.answer(text, CONTEXT) is None
    SKILLS.refusal(text, CONTEXT)
    assert time.thread_time() - began_s < 0.05 * max(1.0, slowness())
