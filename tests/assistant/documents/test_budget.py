"""Limits of one reading."""

from hypothesis import given
from hypothesis import strategies as st

from assistant.documents import Part
from assistant.documents.budget import INSTRUCTION_TOKENS, ReadingLimits, select, shared


def parts_of(*counts: int, text: str = "words") -> list[Part]:
    """Returns the parts of documents with these numbers of parts."""
    return [
        Part(document, f"{document}.md", number, count, "", text)
        for document, count in enumerate(counts)
        for number in range(1, count + 1)
    ]


def places(parts: tuple[Part, ...]) -> list[tuple[int, int]]:
    return [(part.document, part.number) for part in parts]


def test_everything_within_the_limits_is_asked() -> None:
    selection = select(parts_of(3), ReadingLimits(3))
    assert len(selection.asked) == 3
    assert selection.left_out == ()
    assert selection.price == 0


def test_last_parts_are_left_out() -> None:
    selection = select(parts_of(4), ReadingLimits(3))
    assert places(selection.left_out) == [(0, 4)]


def test_every_document_is_asked_before_the_rest_of_a_long_one() -> None:
    selection = select(parts_of(5, 2, 1), ReadingLimits(4))
    assert places(selection.asked) == [(0, 1), (0, 2), (1, 1), (2, 1)]
    assert places(selection.left_out) == [(0, 3), (0, 4), (0, 5), (1, 2)]


def test_price_bounds_the_number_of_parts() -> None:
    limits = ReadingLimits(10, 0.0, 2.0, 10.0, answer_tokens=100)
    (part,) = parts_of(1, text="x" * 400)
    assert limits.price(part) == ((INSTRUCTION_TOKENS + 100) * 2.0 + 100 * 10.0) / 1_000_000
    priced = ReadingLimits(10, 2.5 * limits.price(part), 2.0, 10.0, answer_tokens=100)
    selection = select(parts_of(5, text="x" * 400), priced)
    assert len(selection.asked) == 2
    assert selection.price == 2 * limits.price(part)


def test_even_the_first_part_may_be_too_expensive() -> None:
    assert select(parts_of(1), ReadingLimits(10, 1e-9, 1.0, 1.0, 1)).asked == ()


@given(st.lists(st.integers(0, 6), max_size=5), st.integers(1, 12), st.floats(0, 0.01))
def test_selection_keeps_order_limits_and_every_part(counts: list[int], max_parts: int, max_price: float) -> None:
    parts = parts_of(*counts)
    selection = select(parts, ReadingLimits(max_parts, max_price, 3.0, 9.0, 200))
    assert sorted([*selection.asked, *selection.left_out], key=parts.index) == parts
    assert list(selection.asked) == sorted(selection.asked, key=parts.index)
    assert len(selection.asked) <= max_parts
    assert not max_price or selection.price <= max_price


def test_short_parts_leave_room_for_long_ones() -> None:
    parts = [Part(0, "a", 1, 2, "", "x" * 10), Part(0, "a", 2, 2, "", "y" * 100)]
    assert [len(text) for text in shared(parts, 60)] == [10, 50]


@given(st.lists(st.text(min_size=1, max_size=50), max_size=8), st.integers(0, 200))
def test_shares_stay_within_the_bound(texts: list[str], max_chars: int) -> None:
    parts = [Part(0, "a", number, len(texts), "", text) for number, text in enumerate(texts, 1)]
    told = shared(parts, max_chars)
    assert sum(map(len, told)) <= max_chars
    assert all(part.text.startswith(text) for part, text in zip(parts, told, strict=True))
    if sum(map(len, texts)) <= max_chars:
        assert list(told) == texts
