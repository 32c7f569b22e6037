"""A partly understood sentence is not understood, and any text may be said."""

import time
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.clocks.stopwatch import slowness
from support.conversations.loaded_skills import loaded_skills
from support.texts.text_cases import named_cases

from assistant.skills.answers import SkillContext
from assistant.skills.languages.language import LANGUAGES
from assistant.skills.skills import Skills

CONTEXT = SkillContext(datetime(2026, 11, 20, 22, 43, tzinfo=UTC), "Hello.")

SKILLS = loaded_skills()


@pytest.mark.parametrize(
    "said", ["what time is it", "turn on the lights", "two plus two", "set a timer for five minutes"]
)
@pytest.mark.parametrize("more", ["on mars", "and then tell me a joke", "if you were me", "because"])
def test_additional_words_prevent_a_match(said: str, more: str) -> None:
    assert SKILLS.answer(said, CONTEXT) is not None
    assert SKILLS.answer(f"{said} {more}", CONTEXT) is None


@named_cases(
    "said",
    {
        "empty": "",
        "blank": "   ",
        "punctuation": "?!",
        "emoji": "👍",
        "repeated question": "what time is it " * 50,
        "long sum": "two plus " * 100,
    },
)
def test_empty_and_overlong_text_is_not_understood(said: str) -> None:
    assert SKILLS.answer(said, CONTEXT) is None


@given(st.sampled_from(LANGUAGES), st.text(max_size=500))
def test_any_text_never_raises(code: str, said: str) -> None:
    answer = SKILLS.answer(said, replace(CONTEXT, language=code))
    assert answer is None or answer.text


RANDOM_WORDS = (
    "what is the time in london two hundred and point five minus plus divided by zero percent of square root "
    "convert miles feet to how many a half million thousand 7 3.5 1,000 - / ^ % degrees celsius the power"
)


@given(st.lists(st.sampled_from(RANDOM_WORDS.split()), max_size=14).map(" ".join))
def test_random_words_never_raise(said: str) -> None:
    answer = SKILLS.answer(said, CONTEXT)
    assert answer is None or answer.text


TIMER = {
    "en": "set a timer for {}",
    "de": "stelle einen timer auf {}",
    "fr": "mets un minuteur {}",
    "es": "pon un temporizador de {}",
}
DURATION_WORDS = (
    "1 ½ 1/2 :30 h ' oh zero null un una ein a and et y und half demi media halbe hour heure hora stunde minutes 0700 "
    "hours ∶ 3⁄0 1⁄2 90 quarter medio cuarto de of"
)


@given(st.sampled_from(LANGUAGES), st.lists(st.sampled_from(DURATION_WORDS.split()), max_size=12).map(" ".join))
def test_random_duration_words_never_raise(code: str, words: str) -> None:
    for said in (TIMER[code].format(words), words):
        answer = SKILLS.answer(said, replace(CONTEXT, language=code))
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


def test_repeat_without_a_previous_reply() -> None:
    answer = SKILLS.answer("say that again", SkillContext(CONTEXT.now))
    assert answer is not None
    assert answer.text == "I haven't said anything yet."


def test_unsupported_language_is_not_understood() -> None:
    assert SKILLS.answer("what time is it", replace(CONTEXT, language="it")) is None
    assert SKILLS.answer("what time is it", replace(CONTEXT, language="en-GB")) is not None


def test_context_without_time_zone_raises() -> None:
    with pytest.raises(ValueError, match="no time zone"):
        SkillContext(CONTEXT.now.replace(tzinfo=None))


def test_match_before_load_raises() -> None:
    with pytest.raises(RuntimeError, match="load"):
        Skills().match("what time is it")
