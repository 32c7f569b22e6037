"""Tests of the completeness score of interim transcripts."""

import time
import timeit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.texts.text_cases import text_cases

from assistant.end_of_turn.completeness import NO_EVIDENCE, completeness

UNFINISHED = """
i want to go to the
turn on the light and
could you
could you please tell me
set a timer for
set a timer for twenty
three point
the answer is three point
i was thinking um
um
so
because
it was good but
i would like to order a pizza with
my name is
i want
she said that
it's
the price of
we went to paris and
let me think...
first of all,
remind me to
does
what is
where can i
what is five plus
how much is three times
what is ten divided by
i would like more
""".strip().splitlines()

FINISHED = """
what time is it
turn on the kitchen light
set a timer for five minutes
thank you
yes
stop
what is the capital of france
could you tell me a joke
please play some music
what are you looking for
remind me to call my mother
yes i do
never mind
What's the weather like today?
Turn it up.
tell me more
give me two more
tell me that three times
how many times
what is five plus seven
""".strip().splitlines()


@text_cases("text", UNFINISHED)
def test_incomplete_text_has_low_score(text: str) -> None:
    assert completeness(text) < 0.4


@text_cases("text", FINISHED)
def test_complete_text_has_high_score(text: str) -> None:
    assert completeness(text) > 0.55


@pytest.mark.parametrize(
    "text",
    ["", " ", "...", "?!", "。"],
    ids=["empty", "blank", "ellipsis", "question and exclamation mark", "CJK full stop"],
)
def test_text_without_words_scores_zero(text: str) -> None:
    assert completeness(text) == 0.0


def test_text_without_evidence_scores_in_the_middle() -> None:
    assert completeness("the weather today") == NO_EVIDENCE


@pytest.mark.parametrize("text", ["what time is it", "turn on the light", "i went home early today"])
@pytest.mark.parametrize("tail", ["and", "um", "the", "because", "with the", "of my"])
def test_dangling_word_lowers_score(text: str, tail: str) -> None:
    assert completeness(f"{text} {tail}") < completeness(text)


@text_cases("text", UNFINISHED + FINISHED)
def test_full_stop_never_lowers_score(text: str) -> None:
    bare = text.rstrip(".,?")
    assert completeness(bare + ".") >= completeness(bare)


@text_cases("text", [t for t in UNFINISHED if not t.endswith((".", ","))])
def test_full_stop_does_not_outweigh_dangling_word(text: str) -> None:
    assert completeness(text + ".") < NO_EVIDENCE


def test_case_does_not_matter() -> None:
    assert completeness("Turn On The LIGHT") == completeness("turn on the light")


@given(st.text(max_size=200))
def test_any_text_gets_a_score(text: str) -> None:
    assert 0.0 <= completeness(text) <= 1.0


def test_score_takes_less_than_100_microseconds() -> None:
    text = "could you please tell me what the weather is going to be like in the north of france on sunday and"
    best_s = min(timeit.repeat(lambda: completeness(text), timer=time.thread_time, number=200, repeat=5)) / 200
    assert best_s < 100e-6
