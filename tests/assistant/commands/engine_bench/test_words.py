"""Word errors: one form for what was said and what was heard, and the distance between them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.commands.engine_bench.words import WordErrors, edits, plain_words, word_errors


@pytest.mark.parametrize(
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
def test_what_is_written_becomes_what_is_said(written: str, words: str) -> None:
    assert plain_words(written, "en") == tuple(words.split())


def test_numbers_are_said_in_the_language_and_letters_of_others_kept() -> None:
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
)
def test_edits(said: str, heard: str, count: int) -> None:
    assert edits(said.split(), heard.split()) == count


WORDS = st.lists(st.sampled_from("abc"), max_size=6)


@given(WORDS, WORDS)
def test_edits_are_the_same_both_ways_and_bounded(said: list[str], heard: list[str]) -> None:
    assert edits(said, heard) == edits(heard, said)
    assert abs(len(said) - len(heard)) <= edits(said, heard) <= max(len(said), len(heard))


def test_errors_are_summed_and_transcripts_with_gaps_left_out() -> None:
    pairs = [("what time is it", "What time is it?"), ("the song hey <unk>", "nonsense"), ("Yes", "yes no no")]
    found = word_errors(pairs, "en")
    assert found == WordErrors(errors=2, said=5)
    assert found.rate == pytest.approx(0.4)


def test_without_a_transcript_there_is_no_rate() -> None:
    assert word_errors([], "en").rate is None
