"""Code and tables are spoken as one sentence, in the conversation's language, as soon as they begin."""

import pytest

from assistant.text.chunker import Chunker
from assistant.text.markup.notes import BlockNotes, block_notes
from assistant.text.speakable import Speakable

TABLE = "| City | Height |\n|---|---:|\n| Rome | 21 m |\n| Bern | 540 m |\n"


def spoken(text: str, notes: BlockNotes, size: int = 3) -> str:
    stream = Speakable(notes)
    pieces = [stream.feed(text[at : at + size]) for at in range(0, len(text), size)]
    return " ".join("".join([*pieces, stream.finish()]).split())


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("en", "Look: Here is a table: City, Height. Here is the Python code. Done."),
        ("en-GB", "Look: Here is a table: City, Height. Here is the Python code. Done."),
        ("de", "Look: Hier ist eine Tabelle: City, Height. Hier ist der Code in Python. Done."),
        ("fr", "Look: Voici un tableau : City, Height. Voici le code en Python. Done."),
        ("es", "Look: Aquí tienes una tabla: City, Height. Aquí está el código en Python. Done."),
        ("nl", "Look: Here is a table: City, Height. Here is the Python code. Done."),
    ],
)
def test_shown_blocks_are_spoken_as_sentences(language: str, said: str, size: int) -> None:
    text = f"Look:\n\n{TABLE}\n```python\nprint(1)\n```\nDone."
    assert spoken(text, block_notes(language, shown=True), size) == said


def test_table_is_read_aloud_without_a_screen() -> None:
    assert spoken(TABLE, block_notes("en", shown=False)) == "City, Height Rome, 21 m Bern, 540 m"
    assert spoken("```\nx\n```", block_notes("de", shown=False)) == "Den Code lasse ich weg."


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("| a | b |\nno table", "a, b no table"),
        ("| a | b |", "a, b"),
        ("| **a** | `b` |\n|--|--|", "Here is a table: a, b."),
        ("| | |\n|--|--|\n| 1 | 2 |\n\nEnd", "Here is a table. End"),
        ("|a|b|\n|-|-|\n|1|2|\nAfter it", "Here is a table: a, b. After it"),
        ("```\nx\n```\nand\n```\ny\n```\nend", "Here is the code. and end"),
        ("```unknown\nx\n```", "Here is the code."),
    ],
)
def test_block_is_recognized(text: str, said: str) -> None:
    for size in (1, 4, 1000):
        assert spoken(text, block_notes("en", shown=True), size) == said


def test_sentence_of_a_block_comes_before_the_block_is_complete() -> None:
    chunker = Chunker(notes=block_notes("en", shown=True))
    assert [chunk.text for chunk in chunker.feed("```python\nx")] == ["Here is the Python code."]
    chunker = Chunker(notes=block_notes("en", shown=True))
    assert [chunk.text for chunk in chunker.feed("| a | b |\n|--|--|\n| 1")] == ["Here is a table: a, b."]


def test_notes_delay_no_other_text() -> None:
    """The first chunk of text without blocks comes with the same token as without notes."""
    text = "Well, it is about noon. The sun | shines | today - and so on.\nMore."
    for size in (1, 3):
        with_notes, without = Chunker(notes=block_notes("en", shown=True)), Chunker()
        for at in range(0, len(text), size):
            assert with_notes.feed(text[at : at + size]) == without.feed(text[at : at + size])


def test_links_and_lists_are_spoken_by_their_words() -> None:
    text = "See [the docs](https://docs.example.org/x):\n- **one**\n- two"
    assert spoken(text, block_notes("en", shown=True)) == "See the docs: one two"
