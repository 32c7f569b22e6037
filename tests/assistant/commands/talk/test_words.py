"""The word being spoken is found in the text, in whatever order times and text arrive."""

from hypothesis import given
from hypothesis import strategies as st

from assistant.commands.talk.words import MAX_WAITING, PASSAGE_CHARS, HighlightedWord, ReplyWords
from assistant.history.cut_to_heard import TimedWord


def words(text: str, start_ms: float = 0.0) -> list[TimedWord]:
    """Returns words of 100 ms each."""
    return [
        TimedWord(word, start_ms + 100 * at, start_ms + 100 * at + 100, estimated=False)
        for at, word in enumerate(text.split())
    ]


def lit(reply: ReplyWords, played_ms: float) -> str | None:
    place = reply.word_at(played_ms)
    return None if place is None else reply.passages[place.passage][place.start : place.end]


def test_words_are_highlighted_in_order() -> None:
    reply = ReplyWords()
    reply.add_chunk("It's ten past", spaced=True)
    reply.place(words("It's ten past"))
    assert reply.passages == ["It's ten past"]
    assert [lit(reply, ms) for ms in (0, 150, 299)] == ["It's", "ten", "past"]
    assert reply.word_at(300) == HighlightedWord(0, 13, 13)
    assert reply.word_at(-1) == HighlightedWord(0, 0, 0)


def test_words_may_be_timed_before_their_text() -> None:
    reply = ReplyWords()
    reply.place(words("one two three"))
    assert reply.word_at(0) is None
    reply.add_chunk("one two", spaced=True)
    assert lit(reply, 150) == "two"
    reply.add_chunk("three", spaced=True)
    assert lit(reply, 250) == "three"


def test_whole_word_after_the_last_one_is_found() -> None:
    reply = ReplyWords()
    reply.add_chunk("have a cat and a cap", spaced=True)
    reply.place(words("have a cat and a cap"))
    assert [reply.word_at(100 * at) for at in (1, 4)] == [HighlightedWord(0, 5, 6), HighlightedWord(0, 15, 16)]


def test_word_with_another_spelling_is_skipped() -> None:
    reply = ReplyWords()
    reply.add_chunk("it is 12 km away", spaced=True)
    reply.place(words("it is twelve away"))
    assert [lit(reply, ms) for ms in (150, 250, 350)] == ["is", "is", "away"]


def test_text_pieces_have_their_own_blanks() -> None:
    reply = ReplyWords()
    for piece in ("Hel", "lo ", "", " ", "wor", "ld", "\n", "again"):
        reply.add_chunk(piece, spaced=False)
    assert reply.passages == ["Hello world again"]


def test_long_reply_has_passages_with_highlighting() -> None:
    reply = ReplyWords()
    for at in range(20):
        text = f"Sentence {at} has some words in it."
        reply.add_chunk(text, spaced=True)
        reply.place(words(text, 1000.0 * at))
    assert len(reply.passages) > 2
    assert all(len(passage) < 2 * PASSAGE_CHARS for passage in reply.passages)
    assert lit(reply, 19_150) == "19"


def test_unheard_text_position_is_found() -> None:
    reply = ReplyWords()
    reply.add_chunk("one two three", spaced=True)
    assert reply.unheard_position("") == (0, 0)
    assert reply.unheard_position("one two") == (0, 7)
    assert reply.unheard_position("one two three") == (0, 13)
    assert reply.unheard_position("more than there is on the screen")[0] == 1


@given(st.lists(st.text(st.sampled_from("ab \x1b\u0301日"), max_size=8), max_size=12), st.data())
def test_positions_are_within_their_passage(units: list[str], data: st.DataObject) -> None:
    reply = ReplyWords()
    at_ms = 0.0
    for unit in units:
        if data.draw(st.booleans()):
            reply.add_chunk(unit, spaced=data.draw(st.booleans()))
        reply.place(words(unit, at_ms))
        at_ms += 800
    for ms in range(0, int(at_ms) + 100, 90):
        place = reply.word_at(ms)
        if place is not None:
            assert 0 <= place.start <= place.end <= len(reply.passages[place.passage])
    assert len(reply._unplaced) <= MAX_WAITING
