"""Parsing of streamed responses, without a network: Triton's own messages in, events out."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as some
from support.services.grpc_server import LAST, Part, response_of
from support.texts.text_cases import named_cases

from llm.chat import ChatEvent, Finished, Token
from llm.errors import LlmBroken, LlmRefused
from llm.text_pieces import MoreText
from llm.triton.kserve_stream import KserveStream

ASKED = "what is the tallest mountain"


def parser() -> KserveStream:
    return KserveStream("near", where="grpc://h:8001", model="m7", request_id="1", private=(ASKED,))


def events_of(*parts: Part, stream: KserveStream | None = None) -> list[ChatEvent | MoreText]:
    """Returns the events of these responses and of the end of the call."""
    stream = stream or parser()
    events: list[ChatEvent | MoreText] = []
    for part in parts:
        events += stream.feed(response_of(part, "1").SerializeToString())
    events += stream.end()
    return events


def text_of(events: list[ChatEvent | MoreText]) -> str:
    return "".join(event.text for event in events if isinstance(event, Token))


@given(text=some.text(min_size=1), cuts=some.lists(some.integers(0, 60), max_size=6))
def test_message_boundaries_do_not_matter(text: str, cuts: list[int]) -> None:
    text = f".{text}"  # so that it does not begin with reasoning
    data = text.encode()
    borders = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    parts = [Part(data[start:end]) for start, end in pairwise(borders)]
    events = events_of(*parts, LAST)
    assert text_of(events) == text
    assert events[-1] == Finished("done")


def test_last_text_may_carry_end_mark() -> None:
    assert events_of(Part(b"Hi"), Part(b"!", final=True)) == [Token("Hi"), Token("!"), Finished("done")]


def test_reasoning_is_removed() -> None:
    parts = [Part(b"<think>Hm."), Part(b"</think>"), Part(b"\nHi")]
    assert events_of(*parts, LAST) == [Token("Hi"), Finished("done")]
    assert events_of(Part(b"<"), LAST) == [Token("<"), Finished("done")]


def test_nothing_follows_end_mark() -> None:
    assert events_of(Part(b"Hi", final=True), Part(b"more"), Part(error="late")) == [Token("Hi"), Finished("done")]


def test_stream_without_marks_ends_with_call() -> None:
    assert events_of(Part(b"Hi", final=None)) == [Token("Hi"), Finished("done")]


def test_stream_is_finishing_after_finish_reason() -> None:
    stream = parser()
    assert not stream.finishing
    going_on, over = (Part(b"x", more=(("finish_reason", reason),)) for reason in (b"None", b"stop"))
    assert list(stream.feed(response_of(going_on, "1").SerializeToString())) == [Token("x")]
    assert not stream.finishing
    assert events_of(over, stream=stream) == [Token("x"), Finished("stop")]
    assert stream.finishing


def test_first_of_several_texts_is_used() -> None:
    message = response_of(Part(b"one", final=True), "1")
    message.infer_response.raw_output_contents[0] += b"\3\0\0\0two"
    assert list(parser().feed(message.SerializeToString())) == [Token("one"), Finished("done")]


def test_text_before_error_is_passed_on() -> None:
    stream = parser()
    assert list(stream.feed(response_of(Part(b"Hi"), "1").SerializeToString())) == [Token("Hi")]
    with pytest.raises(LlmRefused, match="see the log of its model server") as caught:
        list(stream.feed(response_of(Part(error=f"cannot: {ASKED}"), "1").SerializeToString()))
    assert ASKED not in str(caught.value)


@named_cases(
    ("parts", "expected_text"),
    {
        "nothing": ((), "without any text"),
        "end mark only": ((LAST,), "without any text"),
        "no text at the limit": (
            (Part(b"", more=(("finish_reason", b"length"),), final=True),),
            "raise llm.max_tokens",
        ),
        "no end mark": ((Part(b"x"),), "without marking the last response"),
        "other request": ((Part(b"x", request_id="2"),), "another request"),
        "aborted": ((Part(b"x", more=(("finish_reason", b"abort"),)),), "abort"),
        "endless": ((Part(b"x" * 300_000),), "set max_tokens"),
    },
)
def test_invalid_answer(parts: tuple[Part, ...], expected_text: str) -> None:
    with pytest.raises(LlmBroken, match=expected_text) as caught:
        events_of(*parts)
    assert caught.value.retryable


def test_invalid_message_bytes_are_broken() -> None:
    with pytest.raises(LlmBroken, match="check that its url leads to a Triton server"):
        list(parser().feed(b"<!doctype html>"))
