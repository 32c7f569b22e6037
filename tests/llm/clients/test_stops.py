"""Stop sequences end an answer, wherever they are split."""

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


def test_text_without_stop_is_not_delayed() -> None:
    assert cut("Hi", " there.", stops=()) == ["Hi", " there.", ""]
    assert cut("Hi", " there.") == ["Hi", " there.", ""]


def test_text_is_cut_at_stop_sequence() -> None:
    assert cut("Hi.</s>never", "said") == ["Hi.", "", ""]


def test_stop_split_over_tokens_is_removed() -> None:
    assert cut("Hi.", "<", "|im", "_end|", ">", "x") == ["Hi.", "", "", "", "", "", ""]


def test_only_possible_stop_prefix_is_held_back() -> None:
    assert cut("Hi <", "b> [", "1] <") == ["Hi ", "<b> ", "[1] ", "<"]


def test_first_of_several_stops_applies() -> None:
    assert cut("a [INST] b </s>") == ["a ", ""]


@given(st.text(alphabet="ab<|/s>[]INTim_end", max_size=40), st.data())
def test_token_boundaries_do_not_matter(text: str, data: st.DataObject) -> None:
    edges = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=6)) | {0, len(text)})
    pieces = [text[start:stop] for start, stop in pairwise(edges)]
    ends = [text.index(stop) for stop in STOPS if stop in text]
    assert "".join(cut(*pieces)) == text[: min(ends, default=len(text))]


class Scripted:
    """A stream parser that emits one event per byte string and, at the end, the rest or an error."""

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


def test_token_counts_after_stop_are_read() -> None:
    reading = StopSequenceParser(
        "near", Scripted(Token("Hi"), Token("</s>"), Token("x"), Finished("length", 3, 4)), STOPS
    )
    assert list(reading.feed(b"ab")) == [Token("Hi")]
    assert reading.finishing
    assert list(reading.feed(b"cd")) == [Finished("length", 3, 4)]


def test_missing_token_counts_after_stop_are_tolerated() -> None:
    reading = StopSequenceParser("near", Scripted(Token("Hi"), Token("</s>"), at_end=TORN), STOPS)
    assert list(reading.feed(b"ab")) == [Token("Hi")]
    assert list(reading.end()) == [Finished("stop_sequence")]
    assert list(reading.end()) == []


def test_stream_finishes_at_stop_without_read_on() -> None:
    reading = StopSequenceParser("near", Scripted(Token("Hi</s>"), Token("x")), STOPS, read_on=False)
    assert list(reading.feed(b"ab")) == [Token("Hi"), Finished("stop_sequence")]


def test_held_text_is_passed_on_before_end() -> None:
    reading = StopSequenceParser("near", Scripted(Token("a <"), Finished("length")), STOPS)
    assert list(reading.feed(b"ab")) == [Token("a "), Token("<"), Finished("length")]


def test_broken_answer_stays_broken() -> None:
    reading = StopSequenceParser("near", Scripted(Token("Hi <"), at_end=TORN), STOPS)
    assert list(reading.feed(b"a")) == [Token("Hi ")]
    assert not reading.finishing
    with pytest.raises(LlmBroken, match="torn"):
        list(reading.end())


@pytest.mark.parametrize("read_on", [True, False], ids=["read on", "not read on"])
def test_answer_that_begins_with_stop_is_broken(read_on: bool) -> None:
    reading = StopSequenceParser("near", Scripted(Token("</s>"), Finished("stop")), STOPS, read_on=read_on)
    with pytest.raises(LlmBroken, match="'near' began its answer with a stop sequence: check its template"):
        list(reading.feed(b"ab"))
