"""The chunker splits streamed text into speakable chunks."""

import re
import time
import timeit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.examples import examples
from support.texts.chunker_cases import BEFORE_DOT, BEHIND_DOT, CASES, EARLY
from support.texts.text_cases import text_cases

from assistant.text.chunker import Chunker, TextChunk
from assistant.text.speakable import speakable

FRAGMENTS = (
    "Mr. |e.g. |U.S. |and |but it |because |Yes. |Hello, |etc. |I |? |! |。|，|สวัสดี|ครับ |(|)|“|”|No. 5|10:30 |1,000 "
    "| — |; |J. |...| |The |word |3.5|.|,|**|[a](b)|\n|\n- |\n1. |```\n|`|<think>|</think>|$x$|😀|https://a.b/c |\"|'"
    "|…|:|!|#|Word|.What |done!Now |foo.Bar |*bows* |(laughs) | - 5 °C|a.k.a. |Rs. 500|<break/>"
).split("|")
texts = st.lists(st.sampled_from(FRAGMENTS), max_size=40).map("".join) | st.text(max_size=80)


def tokens_of(text: str) -> list[str]:
    """Splits text as models do: word pieces with a leading space, and separate punctuation."""
    return re.findall(r" ?[^\W\d_]{1,8}|\d|\n+|[^\S\n]*[^\w\s]|\s|_", text)


def chunks_of(tokens: list[str], first_unit_min_words: int = 3, max_unit_chars: int = 300) -> list[TextChunk]:
    chunker = Chunker(first_unit_min_words, max_unit_chars)
    chunks = [chunk for token in tokens for chunk in chunker.feed(token)]
    return [*chunks, *chunker.finish()]


def letters(text: str) -> str:
    return "".join(char for char in text if char.isalnum())


def words(text: str) -> list[str]:
    return [letters(word) for word in re.split(r"[\s!?—，。]+", text) if letters(word)]


@text_cases(("text", "expected"), CASES)
def test_text_is_split_into_expected_chunks(text: str, expected: list[str]) -> None:
    assert "".join(tokens_of(text)) == text
    chunks = chunks_of(tokens_of(text))
    assert [chunk.text + ("" if chunk.ends_sentence else "~") for chunk in chunks] == expected
    assert [chunk.index for chunk in chunks] == list(range(len(chunks)))


@text_cases(("reply", "token_count", "first"), EARLY)
def test_first_chunk_is_early(reply: str, token_count: int, first: str) -> None:
    chunker = Chunker()
    for number, token in enumerate(tokens_of(reply), start=1):
        chunks = chunker.feed(token)
        if chunks:
            assert (number, chunks[0].text) == (token_count, first)
            return
    pytest.fail("no chunk before the end of the reply")


def test_short_sentence_is_joined_only_with_a_complete_next_one() -> None:
    text = "Yes. I can do that. Next one comes."
    assert [chunk.text for chunk in chunks_of([text])][:1] == ["Yes. I can do that."]
    assert [chunk.text for chunk in chunks_of(tokens_of(text))][:1] == ["Yes."]


@pytest.mark.parametrize("cut", range(1, 12), ids="after {} characters".format)
def test_number_across_tokens_is_not_split(cut: int) -> None:
    text = "It is 3.5 m"
    assert [chunk.text for chunk in chunks_of([text[:cut], text[cut:]])] == [text]


@text_cases("before", BEFORE_DOT)
def test_sentence_end_does_not_depend_on_token_boundaries(before: str) -> None:
    for after in BEHIND_DOT[BEFORE_DOT.index(before) % 3 :: 3]:
        head = f"Here it is now.\nThen we saw {before}"
        text = f"{head} {after} went on and on. So it goes on."
        whole = [chunk.text for chunk in chunks_of([text])]
        for cut in range(len(head) - 2, len(head) + len(after) + 3):
            assert [chunk.text for chunk in chunks_of([text[:cut], text[cut:]])] == whole, text[:cut]
        assert [chunk.text for chunk in chunks_of(list(text))] == whole


def test_chunker_waits_only_for_words_that_can_change_the_decision() -> None:
    head = "We saw it all in the"
    assert [len(Chunker().feed(f"{head} {rest}")) for rest in ("U.S. M", "U.S. Q", "year 5. My", "end. M")] == [
        0,
        0,
        1,
        1,
    ]


def test_long_text_is_cut_between_words() -> None:
    chunks = chunks_of(["word "] * 200, max_unit_chars=100)
    assert {chunk.text for chunk in chunks} == {" ".join(["word"] * 20)}
    assert [chunk.ends_sentence for chunk in chunks] == [False] * 9 + [True]


def test_long_text_is_cut_at_a_comma_if_possible() -> None:
    text = "Okay. " + "Word " + "word " * 12 + "word, " + "word " * 12
    chunks = chunks_of(tokens_of(text), max_unit_chars=100)
    assert chunks[1].text == "Word " + "word " * 12 + "word,"


def test_text_without_spaces_is_cut_at_maximum_length() -> None:
    chunks = chunks_of(["ก" * 1000], max_unit_chars=300)
    assert [len(chunk.text) for chunk in chunks] == [300, 300, 300, 100]


def test_open_quotation_does_not_delay_chunks_forever() -> None:
    chunker = Chunker()
    chunks = [chunk for token in tokens_of('"' + "This is a sentence. " * 12) for chunk in chunker.feed(token)]
    assert len(chunks) > 3


def test_end_mark_completes_the_chunk_immediately() -> None:
    chunker = Chunker()
    assert chunker.feed("Really") == ()
    assert chunker.feed("?") == (TextChunk("Really?", 0, ends_sentence=True),)
    assert chunker.feed("!") == ()
    assert chunker.finish() == ()


@text_cases(
    ("head", "immediately"),
    [
        ("It is open in the morning,", True),
        ("Well, that isn't,", True),
        ("Das ist ja schön,", True),
        ("Ask for mother-in-law,", True),
        ("We are going to,", True),
        ("It was Mr. Smith,", False),  # Jr.
        ("It belongs to eBay,", False),  # Inc.
        ("It was 1,", False),  # 000
        ("We meet on Sat.,", False),  # Dec. 5
        ("Take both x,", False),
        ("That is model a4,", False),
        ("It is open,", True),
        ("Then,", False),  # too few words
    ],
)
def test_comma_after_a_plain_word_ends_first_chunk_immediately(head: str, *, immediately: bool) -> None:
    """After any other word, the following text may make the comma part of a name, a number or a date."""
    chunker = Chunker()
    assert chunker.feed(head) == ((TextChunk(head, 0, ends_sentence=False),) if immediately else ())


def test_minimum_words_of_first_clause_is_configurable() -> None:
    tokens = tokens_of("Sure, here is a longer answer that takes its time to come to an end at last.")
    assert chunks_of(tokens, first_unit_min_words=1)[0].text == "Sure,"
    assert chunks_of(tokens, first_unit_min_words=3)[0].text != "Sure,"


@pytest.mark.parametrize(
    ("first_unit_min_words", "max_unit_chars"), [(0, 300), (3, 19)], ids=["no minimum words", "short maximum length"]
)
def test_invalid_settings_are_rejected(first_unit_min_words: int, max_unit_chars: int) -> None:
    with pytest.raises(ValueError, match=f"= {first_unit_min_words} and max_unit_chars = {max_unit_chars}"):
        Chunker(first_unit_min_words, max_unit_chars)


@settings(max_examples=examples(75))
@given(text=texts, data=st.data())
def test_no_word_is_lost_or_repeated(text: str, data: st.DataObject) -> None:
    sizes = data.draw(st.lists(st.integers(1, 9), min_size=1, max_size=8))
    tokens: list[str] = []
    at = 0
    while at < len(text):
        size = sizes[len(tokens) % len(sizes)]
        tokens.append(text[at : at + size])
        at += size
    chunks = chunks_of(tokens)
    whole = speakable(text)
    assert letters(" ".join(chunk.text for chunk in chunks)) == letters(whole)
    # In text without spaces between words, cuts inside a run of letters are intended.
    if max(map(len, whole.split()), default=0) < 200 and not re.search(r"[^\x00-\u02ff\u2010-\u2030]", whole):
        assert [word for chunk in chunks for word in words(chunk.text)] == words(whole)


@settings(max_examples=examples(60))
@given(texts, st.integers(20, 80))
def test_chunks_are_bounded_and_speakable(text: str, max_unit_chars: int) -> None:
    for chunk in chunks_of(tokens_of(text), max_unit_chars=max_unit_chars):
        assert 0 < len(chunk.text) <= max_unit_chars
        assert letters(chunk.text)
        assert "\n" not in chunk.text


@text_cases(
    "piece",
    [
        "Here is a **list**, as I said. ",
        "Mr. ",
        '"a. ',
        "(a. ",
        "A! ",
        "word ",
        "a",
        "你好，",
        "ก ",
        "one.What ",
        "is - 5 ",
        "(laughs) ",
    ],
)
@pytest.mark.parametrize("token_chars", [4, 100_000], ids=["short tokens", "one token"])
def test_cost_is_linear_in_text_length(piece: str, token_chars: int) -> None:
    def seconds(chars: int) -> float:
        text = (piece * chars)[:chars]
        tokens = [text[at : at + token_chars] for at in range(0, chars, token_chars)]
        return timeit.timeit(lambda: chunks_of(tokens), timer=time.thread_time, number=1)

    # Ten times the text may take ten times as long; a quadratic search would take a hundred times as long. The fastest
    # of five runs counts, so the first one that is fast enough decides.
    limit_s = 50 * min(seconds(3_000) for _ in range(5)) + 0.01
    assert any(seconds(30_000) < limit_s for _ in range(5))
