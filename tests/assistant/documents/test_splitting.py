"""Splitting documents into parts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.documents import Document, Part
from assistant.documents.splitting import MAX_HEADING_CHARS, blocks_of, split

GUIDE = """Repartee talks.

# Install

Run the setup. It takes a minute.

## On Windows

Use the other script.

# Use

Speak to it.
"""


def parts_of(text: str, max_chars: int, *, markdown: bool = True) -> tuple[Part, ...]:
    return split([Document("guide.md", text, markdown)], max_chars)


def words(parts: tuple[Part, ...]) -> list[str]:
    return [word for part in parts for word in part.text.split()]


def test_short_document_is_one_part() -> None:
    (part,) = parts_of(GUIDE, 1000)
    assert (part.number, part.count, part.heading) == (1, 1, "")
    assert part.text.split() == GUIDE.split()


def test_parts_begin_at_headings() -> None:
    parts = parts_of(GUIDE, 60)
    assert [part.heading for part in parts] == ["", "Install", "On Windows", "Use"]
    assert [part.number for part in parts] == [1, 2, 3, 4]
    assert {part.count for part in parts} == {4}


def test_text_without_headings_is_split_between_paragraphs() -> None:
    text = "\n\n".join(f"Paragraph {number} has five words." for number in range(6))
    parts = parts_of(text, 70, markdown=False)
    assert [part.text.count("Paragraph") for part in parts] == [2, 2, 2]


def test_long_paragraph_is_split_between_sentences() -> None:
    parts = parts_of("One is short. Two is short too. Three is the last!", 34)
    assert [part.text for part in parts] == ["One is short. Two is short too.", "Three is the last!"]


def test_long_sentence_is_split_between_words() -> None:
    parts = parts_of("one two three four five six", 9)
    assert [part.text for part in parts] == ["one two", "three", "four five", "six"]


def test_text_without_blanks_is_split_between_characters() -> None:
    assert [part.text for part in parts_of("x" * 25, 10)] == ["x" * 10, "x" * 10, "x" * 5]


def test_heading_stays_with_its_text() -> None:
    parts = parts_of("a " * 20 + "\n\n# Title\n\n" + "b " * 20, 48)
    assert [part.text.split()[0] for part in parts] == ["a", "#"]
    assert parts[1].heading == "Title"


def test_later_part_of_a_section_keeps_its_heading() -> None:
    parts = parts_of("# Title\n\n" + "One sentence is here. " * 10, 80)
    assert len(parts) > 2
    assert {part.heading for part in parts} == {"Title"}


def test_number_sign_in_code_is_no_heading() -> None:
    blocks = list(blocks_of("```sh\n# a comment\n\nmake run\n```\n\nText.", markdown=True))
    assert [block.heading for block in blocks] == ["", ""]
    assert "make run" in blocks[0].text


def test_underlined_line_is_a_heading() -> None:
    blocks = list(blocks_of("Title\n=====\n\nText.", markdown=True))
    assert [block.heading for block in blocks] == ["Title", ""]


def test_heading_is_told_without_markup_and_shortened() -> None:
    (block,) = blocks_of("## The `code` and [a link](https://example.org) **bold**", markdown=True)
    assert block.heading == "The code and a link bold"
    (block,) = blocks_of("# " + "long " * 40, markdown=True)
    assert len(block.heading) <= MAX_HEADING_CHARS


def test_each_document_has_its_own_parts() -> None:
    parts = split([Document("a.txt", "Words here."), Document("b.txt", "More words.")], 100)
    assert [(part.document, part.name, part.number) for part in parts] == [(0, "a.txt", 1), (1, "b.txt", 1)]


def test_bound_must_be_positive() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        parts_of("x", 0)


LINES = st.sampled_from(
    [
        "",
        "# Title",
        "## Two",
        "Title",
        "====",
        "---",
        "```",
        "A sentence. And more! Is it?",
        "word " * 9,
        "x" * 40,
        "。好。",
    ]
) | st.text(max_size=30)


@given(st.lists(LINES, max_size=20), st.integers(1, 80), st.booleans())
def test_parts_hold_every_word_once_and_keep_the_bound(lines: list[str], max_chars: int, markdown: bool) -> None:
    text = "\n".join(lines)
    parts = parts_of(text, max_chars, markdown=markdown)
    assert "".join("".join(part.text.split()) for part in parts) == "".join(text.split())
    assert all(0 < len(part.text) <= max_chars and part.text.strip() for part in parts)
    assert [part.number for part in parts] == list(range(1, len(parts) + 1))
