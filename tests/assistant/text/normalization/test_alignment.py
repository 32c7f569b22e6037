"""From what was spoken back to what was written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.text.normalization.alignment import align


def heard(written: str, spoken: str, words: int) -> str:
    """What was written of the first so many spoken words."""
    end = len(" ".join(spoken.split()[:words]))
    return written[: align(written, spoken).written(end)]


@pytest.mark.parametrize(
    ("words", "written"),
    [(0, ""), (1, "It"), (2, "It is"), (3, "It is"), (4, "It is 12 km"), (5, "It is 12 km away.")],
)
def test_an_expression_counts_when_all_of_it_was_spoken(words: int, written: str) -> None:
    assert heard("It is 12 km away.", "It is twelve kilometers away.", words) == written


def test_equal_texts_answer_each_other_word_by_word() -> None:
    text = "It is ten o'clock and all is well."
    assert [heard(text, text, count) for count in range(1, 9)] == [
        " ".join(text.split()[:count]) for count in range(1, 9)
    ]


words = st.lists(st.sampled_from(["a", "b", "12", "km", "it"]), min_size=1, max_size=8).map(" ".join)


@given(words, words)
def test_it_never_goes_back_and_ends_at_the_end(written: str, spoken: str) -> None:
    alignment = align(written, spoken)
    places = [alignment.written(end) for end in range(len(spoken) + 1)]
    assert places == sorted(places)
    assert places[-1] == len(written)
