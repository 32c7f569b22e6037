"""Tests of the text features of interim transcripts."""

from math import isfinite

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.end_of_turn.text_features import SentenceEnds, english, text_features


def test_empty_text_is_incomplete() -> None:
    assert text_features("") == {"completeness": 0.0, "end_log10": 0.0}


def test_punctuation_and_case_do_not_change_expected_sentence_end() -> None:
    assert text_features("what time is it")["end_log10"] == text_features("What time is it?")["end_log10"]


@given(st.text(max_size=60))
def test_any_text_gives_finite_features(text: str) -> None:
    assert all(isfinite(value) for value in text_features(text).values())


SMALL = SentenceEnds(words={"milk": 70, "it": 94}, pairs={"of it": 49}, other=81)


@pytest.mark.parametrize(
    ("words", "log10"),
    [([], 0.0), (["milk"], -0.7), (["it"], -0.94), (["of", "it"], -0.49), (["with", "it"], -0.94), (["xyz"], -0.81)],
    ids=["no words", "known word", "unpaired word", "known pair", "unknown pair", "unknown word"],
)
def test_word_pair_takes_precedence_over_word(words: list[str], log10: float) -> None:
    assert SMALL.log10(words) == log10


@pytest.mark.parametrize(
    ("ends", "goes_on"),
    [("the weather today", "the weather in"), ("tell me about it", "tell me about the"), ("thank you", "are you")],
)
def test_shipped_table_separates_complete_from_incomplete_text(ends: str, goes_on: str) -> None:
    assert english().log10(ends.split()) > english().log10(goes_on.split()) + 0.4


def test_shipped_table_holds_probabilities() -> None:
    table = english()
    assert len(table.words) >= 3000
    assert all(0 < value < 800 for value in (*table.words.values(), *table.pairs.values(), table.other))
    assert all(pair.split()[1] in table.words for pair in table.pairs)
