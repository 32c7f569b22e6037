"""Tests of the text features of interim transcripts."""

from math import isfinite

from hypothesis import given
from hypothesis import strategies as st
from support.texts.text_cases import text_cases

from assistant.end_of_turn.text_features import text_shape


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
