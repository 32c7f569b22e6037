"""Tests of the text features of interim transcripts."""

from math import isfinite

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.texts.text_cases import text_cases

from assistant.end_of_turn.text_features import SentenceEnds, english, text_shape


def test_empty_text_has_no_words() -> None:
    assert (text_shape("").wordless, text_shape("").words, text_shape("").completeness) == (1.0, 0.0, 0.0)


@text_cases(
    ("text", "name"),
    [
        ("i want um", "filler"),
        ("turn off the", "dangling"),
        ("a small coffee with", "preposition"),
        ("set a timer for twenty", "number"),
        ("do you think it is", "open_verb"),
        ("can i get a coffee", "request"),
        ("Never mind.", "short_answer"),
    ],
    columns=(1,),
)
def test_last_word_sets_its_feature(text: str, name: str) -> None:
    shape = text_shape(text)
    assert getattr(shape, name) == 1.0
    kinds = ("filler", "dangling", "preposition", "number", "open_verb")
    assert sum(getattr(shape, kind) for kind in kinds) == float(name in kinds)


def test_punctuation_and_case_do_not_change_word_features() -> None:
    plain, written = text_shape("what time is it"), text_shape("What time is it?")
    assert (plain.words, plain.end_log10, plain.request) == (written.words, written.end_log10, written.request)


@given(st.text(max_size=60))
def test_any_text_gives_finite_features(text: str) -> None:
    assert all(isfinite(value) for value in text_shape(text).named().values())


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
