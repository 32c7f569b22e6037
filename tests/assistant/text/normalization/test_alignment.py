"""Mapping of spoken text to written text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.text.normalization.alignment import align


def written_part(written: str, spoken: str, words: int) -> str:
    """Returns the written text for the first `words` spoken words."""
    end = len(" ".join(spoken.split()[:words]))
    return written[: align(written, spoken).written(end)]


@pytest.mark.parametrize(
    ("words", "written"),
    [(0, ""), (1, "It"), (2, "It is"), (3, "It is"), (4, "It is 12 km"), (5, "It is 12 km away.")],
    ids=["no words", "1 word", "2 words", "3 words", "4 words", "5 words"],
)
def test_expression_is_included_only_when_completely_spoken(words: int, written: str) -> None:
    assert written_part("It is 12 km away.", "It is twelve kilometers away.", words) == written


def test_equal_texts_are_aligned_word_by_word() -> None:
    text = "It is ten o'clock and all is well."
    assert [written_part(text, text, count) for count in range(1, 9)] == [
        " ".join(text.split()[:count]) for count in range(1, 9)
    ]


words = st.lists(st.sampled_from(["a", "b", "12", "km", "it"]), min_size=1, max_size=8).map(" ".join)


@given(words, words)
def test_alignment_is_monotonic_and_ends_at_the_end(written: str, spoken: str) -> None:
    alignment = align(written, spoken)
    positions = [alignment.written(end) for end in range(len(spoken) + 1)]
    assert positions == sorted(positions)
    assert positions[-1] == len(written)
