"""Tokens to speakable units."""

import re
import time
import timeit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from spoken_cases import BEFORE_DOT, BEHIND_DOT, CASES, EARLY

from assistant.text.chunker import Chunker, TextChunk
from assistant.text.speakable import speakable

PIECES = (
    "Mr. |e.g. |U.S. |and |but it |because |Yes. |Hello, |etc. |I |? |! |。|，|สวัสดี|ครับ |(|)|“|”|No. 5|10:30 |1,000 "
    "| — |; |J. |...| |The |word |3.5|.|,|**|[a](b)|\n|\n- |\n1. |```\n|`|<think>|</think>|$x$|😀|https://a.b/c |\"|'"
    "|…|:|!|#|Word|.What |done!Now |foo.Bar |*bows* |(laughs) | - 5 °C|a.k.a. |Rs. 500|<break/>"
).split("|")
texts = st.lists(st.sampled_from(PIECES), max_size=40).map("".join) | st.text(max_size=80)


def tokens_of(text: str) -> list[str]:
    """Word pieces with a leading space, punctuation apart: how models cut text."""
    return re.findall(r" ?[^\W\d_]{1,8}|\d|\n+|[^\S\n]*[^\w\s]|\s|_", text)


def units_of(tokens: list[str], first_unit_min_words: int = 3, max_unit_chars: int = 300) -> list[TextChunk]:
    sentences = Chunker(first_unit_min_words, max_unit_chars)
    units = [unit for token in tokens for unit in sentences.feed(token)]
    return [*units, *sentences.finish()]


def letters(text: str) -> str:
    return "".join(char for char in text if char.isalnum())


def words(text: str) -> list[str]:
    return [letters(word) for word in re.split(r"[\s!?—，。]+", text) if letters(word)]


@pytest.mark.parametrize(("text", "expected"), CASES)
def test_corpus(text: str, expected: list[str]) -> None:
    assert "".join(tokens_of(text)) == text
    units = units_of(tokens_of(text))
    assert [unit.text + ("" if unit.ends_sentence else "~") for unit in units] == expected
    assert [unit.index for unit in units] == list(range(len(units)))


@pytest.mark.parametrize(("reply", "token_count", "first"), EARLY)
def test_the_first_unit_is_early(reply: str, token_count: int, first: str) -> None:
    sentences = Chunker()
    for number, token in enumerate(tokens_of(reply), start=1):
        units = sentences.feed(token)
        if units:
            assert (number, units[0].text) == (token_count, first)
            return
    pytest.fail("no unit before the end of the reply")


def test_a_short_sentence_takes_the_next_one_along_only_if_it_is_there() -> None:
    text = "Yes. I can do that. Next one comes."
    assert [unit.text for unit in units_of([text])][:1] == ["Yes. I can do that."]
    assert [unit.text for unit in units_of(tokens_of(text))][:1] == ["Yes."]


@pytest.mark.parametrize("cut", range(1, 12))
def test_a_number_over_a_token_boundary_is_not_split(cut: int) -> None:
    text = "It is 3.5 m"
    assert [unit.text for unit in units_of([text[:cut], text[cut:]])] == [text]


@pytest.mark.parametrize("before", BEFORE_DOT)
def test_a_word_over_a_token_boundary_ends_no_sentence_that_it_would_not_end_whole(before: str) -> None:
    for behind in BEHIND_DOT:
        head = f"Here it is now.\nThen we saw {before}"
        text = f"{head} {behind} went on and on. So it goes on."
        whole = [unit.text for unit in units_of([text])]
        for cut in range(len(head) - 2, len(head) + len(behind) + 3):
            assert [unit.text for unit in units_of([text[:cut], text[cut:]])] == whole, text[:cut]
        assert [unit.text for unit in units_of(list(text))] == whole


def test_only_a_word_that_can_change_the_verdict_is_waited_for() -> None:
    head = "We saw it all in the"
    assert [len(Chunker().feed(f"{head} {rest}")) for rest in ("U.S. M", "U.S. Q", "year 5. My", "end. M")] == [
        0,
        0,
        1,
        1,
    ]


def test_long_text_is_cut_at_a_word() -> None:
    units = units_of(["word "] * 200, max_unit_chars=100)
    assert {unit.text for unit in units} == {" ".join(["word"] * 20)}
    assert [unit.ends_sentence for unit in units] == [False] * 9 + [True]


def test_long_text_is_cut_at_a_comma_rather() -> None:
    text = "Okay. " + "Word " + "word " * 12 + "word, " + "word " * 12
    units = units_of(tokens_of(text), max_unit_chars=100)
    assert units[1].text == "Word " + "word " * 12 + "word,"


def test_text_without_spaces_is_bounded() -> None:
    units = units_of(["ก" * 1000], max_unit_chars=300)
    assert [len(unit.text) for unit in units] == [300, 300, 300, 100]


def test_an_open_quotation_does_not_wait_for_ever() -> None:
    sentences = Chunker()
    units = [unit for token in tokens_of('"' + "This is a sentence. " * 12) for unit in sentences.feed(token)]
    assert len(units) > 3


def test_an_end_mark_decides_at_once() -> None:
    sentences = Chunker()
    assert sentences.feed("Really") == ()
    assert sentences.feed("?") == (TextChunk("Really?", 0, ends_sentence=True),)
    assert sentences.feed("!") == ()
    assert sentences.finish() == ()


@pytest.mark.parametrize(
    ("head", "at_once"),
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
def test_a_comma_behind_a_plain_word_decides_at_once(head: str, *, at_once: bool) -> None:
    """Behind anything else what follows may make it a part of a name, a number or a date."""
    sentences = Chunker()
    assert sentences.feed(head) == ((TextChunk(head, 0, ends_sentence=False),) if at_once else ())


def test_the_minimum_of_the_first_clause_is_a_setting() -> None:
    tokens = tokens_of("Sure, here is a longer answer that takes its time to come to an end at last.")
    assert units_of(tokens, first_unit_min_words=1)[0].text == "Sure,"
    assert units_of(tokens, first_unit_min_words=3)[0].text != "Sure,"


@pytest.mark.parametrize(("first_unit_min_words", "max_unit_chars"), [(0, 300), (3, 19)])
def test_settings_are_checked(first_unit_min_words: int, max_unit_chars: int) -> None:
    with pytest.raises(ValueError, match=f"= {first_unit_min_words} and max_unit_chars = {max_unit_chars}"):
        Chunker(first_unit_min_words, max_unit_chars)


@settings(max_examples=300)
@given(text=texts, data=st.data())
def test_no_word_is_lost_or_said_twice(text: str, data: st.DataObject) -> None:
    sizes = data.draw(st.lists(st.integers(1, 9), min_size=1, max_size=8))
    tokens: list[str] = []
    at = 0
    while at < len(text):
        size = sizes[len(tokens) % len(sizes)]
        tokens.append(text[at : at + size])
        at += size
    units = units_of(tokens)
    whole = speakable(text)
    assert letters(" ".join(unit.text for unit in units)) == letters(whole)
    # Without spaces between words a cut inside a run of letters is meant.
    if max(map(len, whole.split()), default=0) < 200 and not re.search(r"[^\x00-\u02ff\u2010-\u2030]", whole):
        assert [word for unit in units for word in words(unit.text)] == words(whole)


@settings(max_examples=150)
@given(texts, st.integers(20, 80))
def test_units_are_bounded_and_pronounceable(text: str, max_unit_chars: int) -> None:
    for unit in units_of(tokens_of(text), max_unit_chars=max_unit_chars):
        assert 0 < len(unit.text) <= max_unit_chars
        assert letters(unit.text)
        assert "\n" not in unit.text


@pytest.mark.parametrize(
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
@pytest.mark.parametrize("token_chars", [4, 100_000])
def test_the_cost_is_linear(piece: str, token_chars: int) -> None:
    def seconds(chars: int) -> float:
        text = (piece * chars)[:chars]
        tokens = [text[at : at + token_chars] for at in range(0, chars, token_chars)]
        return min(timeit.repeat(lambda: units_of(tokens), timer=time.thread_time, number=1, repeat=5))

    # Ten times the text may cost ten times as much; a quadratic search would cost a hundred times.
    assert seconds(30_000) < 50 * seconds(3_000) + 0.01
