"""Stage directions between sentences are separate chunks; marked words inside a sentence are not."""

import pytest
from support.texts.token_boundaries import speakable_results

from assistant.text.chunker import Chunker

CHUNKS = {
    "in asterisks": (
        "Hello! My name is Henry. *Holds out hand* Nice to meet you.",
        ["Hello!", "My name is Henry.", "Holds out hand", "Nice to meet you."],
    ),
    "at the head": ("*smiles warmly* Hello there.", ["smiles warmly", "Hello there."]),
    "at the end": ("It is done now. *bows*", ["It is done now.", "bows"]),
    "before a line end": ("It is done now. *bows*\nNext line.", ["It is done now.", "bows", "Next line."]),
    "two of them": ("It is so. *waves* *smiles* Bye then.", ["It is so.", "waves", "smiles", "Bye then."]),
    "in underscores": ("It is so now. _waves_ How are you?", ["It is so now.", "waves", "How are you?"]),
    "in parentheses": ("It is so now. (laughs) I am fine.", ["It is so now.", "(laughs)", "I am fine."]),
    "in brackets": ("It is so now. [sighs] So be it.", ["It is so now.", "sighs", "So be it."]),
    "German": ("So ist das. *lacht laut* Wie geht es?", ["So ist das.", "lacht laut", "Wie geht es?"]),
    "French": ("C'est comme ça. (rit) Ça va ?", ["C'est comme ça.", "(rit)", "Ça va ?"]),
    "Spanish": ("Así es la vida. [risas] ¿Qué tal?", ["Así es la vida.", "risas", "¿Qué tal?"]),
    "emphasis inside": ("Please do it *now* or never.", ["Please do it now or never."]),
    "emphasis at the head": ("So it is now. *Never* do this.", ["So it is now.", "Never do this."]),
    "no sentence before": ("Well then *laughs* I think so.", ["Well then laughs I think so."]),
    "bold": ("So it is now. **Bold** Text.", ["So it is now.", "Bold Text."]),
    "bullets": ("* two eggs\n* some milk", ["two eggs", "some milk"]),
    "title in a list": ("- *Dune* Frank Herbert\n1. *Emma* Jane Austen", ["Dune Frank Herbert", "1. Emma Jane Austen"]),
    "link": ("It is so now. [The docs](http://x.y) Help you.", ["It is so now.", "The docs Help you."]),
    "remark": ("It is so now. (It was hot.) Then home.", ["It is so now.", "(It was hot.)", "Then home."]),
    "variables": ("It is so now. 2 * 3 * 4 is odd.", ["It is so now.", "2 × 3 × 4 is odd."]),
    "names of code": ("Then Use _private and __init__ here.", ["Then Use private and init here."]),
}


@pytest.mark.parametrize(("text", "chunks"), CHUNKS.values(), ids=CHUNKS)
def test_stage_direction_is_a_separate_chunk(text: str, chunks: list[str]) -> None:
    sentences = Chunker()
    units = [unit for char in text for unit in sentences.feed(char)] + [*sentences.finish()]
    assert [unit.text for unit in units] == chunks
    assert len(speakable_results(text)) == 1
