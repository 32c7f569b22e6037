"""Sentence ends without a following space, names with dots, and stage directions, for any token boundary."""

import pytest
from support.texts.text_cases import text_cases
from support.texts.token_boundaries import chunks_of, speakable_results

from assistant.text.chunker import Chunker

ENDED = {
    "dot": ("Let me think of another one.What do you call that?", "Let me think of another one."),
    "exclamation mark": ("That is all done!Now we go.", "That is all done!"),
    "question mark": ("Is that so really?Yes it is.", "Is that so really?"),
    "apostrophe": ("I like it so much.It's good.", "I like it so much."),
    "pronoun": ("Then he came home.I saw him.", "Then he came home."),
    "article": ("We got another one.A dog came.", "We got another one."),
    "year": ("It ended in 2024.The end is near.", "It ended in 2024."),
    "ellipsis": ("We wait for it...Then we go.", "We wait for it..."),
    "German": ("Das ist jetzt fertig.Was nun?", "Das ist jetzt fertig."),
    "French": ("C'est enfin fini.Qu'est-ce que tu veux ?", "C'est enfin fini."),
    "Spanish": ("Ya está todo hecho.¿Qué quieres?", "Ya está todo hecho."),
}
GOES_ON = (
    "We see foo.Bar in it.|We see Node.js in it.|We see the U.S.A in it.|We see e.g.Foo in it.|We see v1.2.Beta in it.|"
    "We see example.Com in it.|We call obj.Method() in it.|We call obj.Is() in it.|We see System.Out in it.|"
    "We see x.I in it."
).split("|")


@pytest.mark.parametrize(("text", "first"), ENDED.values(), ids=ENDED)
def test_sentence_ends_at_mark_without_following_space(text: str, first: str) -> None:
    for tokens in ([text], list(text), [text[at : at + 4] for at in range(0, len(text), 4)]):
        assert chunks_of(tokens) == [first, text.removeprefix(first)]


@text_cases("text", GOES_ON)
def test_dot_inside_a_name_does_not_end_a_sentence(text: str) -> None:
    for tokens in ([text], list(text), [text[at : at + 4] for at in range(0, len(text), 4)]):
        assert chunks_of(tokens) == [text]


def test_question_mark_inside_an_address_does_not_end_a_sentence() -> None:
    assert chunks_of(["We open page?Name=Bob in it."]) == ["We open page?Name=Bob in it."]


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
