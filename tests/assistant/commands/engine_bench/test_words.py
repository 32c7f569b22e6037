"""Word errors: normalization of both texts, and the distance between them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.texts.text_cases import text_cases

from assistant.commands.engine_bench.words import WordErrors, edits, plain_words, word_errors


@text_cases(
    ("written", "words"),
    [
        ("What time is it?", "what time is it"),
        ("It's ten o'clock, isn’t it", "it's ten o'clock isn't it"),
        ("an ill-disposed man.", "an ill disposed man"),
        ("Set a timer for 10 minutes", "set a timer for ten minutes"),
        ("  'quoted' -- and_joined ", "quoted and joined"),
        ("...", ""),
    ],
)
def test_written_text_is_normalized_to_spoken_words(written: str, words: str) -> None:
    assert plain_words(written, "en") == tuple(words.split())


def test_numbers_are_normalized_in_the_given_language() -> None:
    assert plain_words("Um 3 Uhr, schöne Grüße", "de") == ("um", "drei", "uhr", "schöne", "grüße")


@pytest.mark.parametrize(
    ("said", "heard", "count"),
    [
        ("a b c", "a b c", 0),
        ("a b c", "a c", 1),
        ("a c", "a b c", 1),
        ("a b c", "a x c", 1),
        ("", "a b", 2),
        ("a", "", 1),
    ],
    ids=["equal", "one deleted", "one inserted", "one replaced", "all inserted", "all deleted"],
)
def test_edit_distance_is_the_least_number_of_edits(said: str, heard: str, count: int) -> None:
    assert edits(said.split(), heard.split()) == count


WORDS = st.lists(st.sampled_from("abc"), max_size=6)


@given(WORDS, WORDS)
def test_edit_distance_is_symmetric_and_bounded(said: list[str], heard: list[str]) -> None:
    assert edits(said, heard) == edits(heard, said)
    assert abs(len(said) - len(heard)) <= edits(said, heard) <= max(len(said), len(heard))


def test_word_errors_are_summed_without_incomplete_transcripts() -> None:
    pairs = [("what time is it", "What time is it?"), ("the song hey <unk>", "nonsense"), ("Yes", "yes no no")]
    found = word_errors(pairs, "en")
    assert found == WordErrors(errors=2, reference_words=5)
    assert found.rate == pytest.approx(0.4)


def test_word_error_rate_needs_a_transcript() -> None:
    assert word_errors([], "en").rate is None
