"""Sentence ends without a following space, and names that contain dots."""

import pytest
from support.texts.text_cases import text_cases
from support.texts.token_boundaries import chunks_of

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
