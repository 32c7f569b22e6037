"""Answers end where they should, wherever a stop sequence is cut."""

from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm.chat import ChatEvent, Finished, Token
from llm.errors import LlmBroken
from llm.stops import StopSequenceFilter, StopSequenceParser

STOPS = ("</s>", "[INST]", "<|im_end|>")


def cut(*pieces: str, stops: tuple[str, ...] = STOPS) -> list[str]:
    stopping = StopSequenceFilter(stops)
    return [*(stopping.feed(piece) for piece in pieces), stopping.rest()]


def test_text_without_stops_goes_straight_through() -> None:
    assert cut("Hi", " there.", stops=()) == ["Hi", " there.", ""]
    assert cut("Hi", " there.") == ["Hi", " there.", ""]


def test_text_ends_at_a_stop() -> None:
    assert cut("Hi.</s>never", "said") == ["Hi.", "", ""]


def test_a_stop_cut_over_tokens_is_never_heard() -> None:
    assert cut("Hi.", "<", "|im", "_end|", ">", "x") == ["Hi.", "", "", "", "", "", ""]


def test_only_what_may_become_a_stop_is_held_back() -> None:
    assert cut("Hi <", "b> [", "1] <") == ["Hi ", "<b> ", "[1] ", "<"]


def test_the_first_of_several_stops_counts() -> None:
    assert cut("a [INST] b </s>") == ["a ", ""]


@given(st.text(alphabet="ab<|/s>[]INTim_end", max_size=40), st.data())
def test_cuts_do_not_matter(text: str, data: st.DataObject) -> None:
    edges = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=6)) | {0, len(text)})
    pieces = [text[start:stop] for start, stop in pairwise(edges)]
    ends = [text.index(stop) for stop in STOPS if stop in text]
    assert "".join(cut(*pieces)) == text[: min(ends, default=len(text))]


class Scripted:
    """A Reading that says one event per fed byte string, and at the end the rest or an error."""

    def __init__(self, *events: ChatEvent, at_end: LlmBroken | None = None) -> None:
        self.finishing = False
        self._events = list(events)
        self._at_end = at_end

    def feed(self, data: bytes) -> Iterator[ChatEvent]:
        for _ in data:
            yield self._events.pop(0)

    def end(self) -> Iterator[ChatEvent]:
        if self._at_end:
            raise self._at_end
        yield from self._events


TORN = LlmBroken("near", "torn", spoken="Torn.", retryable=True)


def test_counts_after_a_stop_are_heard_out() -> None:
    reading = StopSequenceParser(
        "near", Scripted(Token("Hi"), Token("</s>"), Token("x"), Finished("length", 3, 4)), STOPS
    )
    assert list(reading.feed(b"ab")) == [Token("Hi")]
    assert reading.finishing
    assert list(reading.feed(b"cd")) == [Finished("length", 3, 4)]


def test_counts_that_do_not_come_are_done_without() -> None:
    reading = StopSequenceParser("near", Scripted(Token("Hi"), Token("</s>"), at_end=TORN), STOPS)
    assert list(reading.feed(b"ab")) == [Token("Hi")]
    assert list(reading.end()) == [Finished("stop_sequence")]
    assert list(reading.end()) == []


def test_a_service_that_counts_nothing_is_left_at_once() -> None:
    reading = StopSequenceParser("near", Scripted(Token("Hi</s>"), Token("x")), STOPS, read_on=False)
    assert list(reading.feed(b"ab")) == [Token("Hi"), Finished("stop_sequence")]


def test_what_was_held_back_is_said_before_the_end() -> None:
    reading = StopSequenceParser("near", Scripted(Token("a <"), Finished("length")), STOPS)
    assert list(reading.feed(b"ab")) == [Token("a "), Token("<"), Finished("length")]


def test_torn_answer_stays_torn() -> None:
    reading = StopSequenceParser("near", Scripted(Token("Hi <"), at_end=TORN), STOPS)
    assert list(reading.feed(b"a")) == [Token("Hi ")]
    assert not reading.finishing
    with pytest.raises(LlmBroken, match="torn"):
        list(reading.end())


@pytest.mark.parametrize("read_on", [True, False])
def test_answer_that_begins_with_a_stop_is_none(read_on: bool) -> None:
    reading = StopSequenceParser("near", Scripted(Token("</s>"), Finished("stop")), STOPS, read_on=read_on)
    with pytest.raises(LlmBroken, match="'near' began its answer with a stop sequence: check its template"):
        list(reading.feed(b"ab"))
