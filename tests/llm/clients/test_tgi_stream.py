"""Parsing of TGI's native stream, without a network."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.services.generate_events import error, last, token
from support.services.scripted_answers import StreamReading
from support.texts.text_cases import named_cases

from llm.chat import Finished, Token
from llm.errors import LlmBroken, LlmError, LlmRefused
from llm.tgi.chat import TgiStream

STOPS = ("</s>", "[INST]", "<|eot_id|>")


NEAR = StreamReading(lambda: TgiStream("near", stops=STOPS))
read, outcome, failure = NEAR.read, NEAR.outcome, NEAR.failure


def test_answer_has_text_and_token_counts() -> None:
    assert read(token("Hi"), token("."), last()) == [Token("Hi"), Token("."), Finished("eos_token", 12, 3)]


def test_reasoning_is_removed() -> None:
    thought = token("<th"), token("ink>"), token("Hm."), token("</think>"), token("\n\n")
    assert read(*thought, token("Hi"), last()) == [Token("Hi"), Finished("eos_token", 12, 3)]
    assert "without any text (length)" in str(failure(*thought[:3], last("", reason="length")))
    assert [event for event in read(token("<"), last(" 4", special=False)) if isinstance(event, Token)] == [
        Token("< 4")
    ]
    assert read(token("analysis"), last()) == [Token("analysis"), Finished("eos_token", 12, 3)], "and is not said twice"


def test_last_token_may_have_text() -> None:
    body = token("Hi") + last(" there", special=False, reason="length")
    assert read(body) == [Token("Hi"), Token(" there"), Finished("length", 12, 3)]


def test_special_tokens_and_keep_alives_are_ignored() -> None:
    assert read(b": \n\n", token("<s>", special=True), b":\n\n", token(""), token("Hi"), last())[:1] == [Token("Hi")]
    assert not TgiStream("near").finishing


def test_top_tokens_are_ignored() -> None:
    others = [{"id": 8, "text": "No", "logprob": -1.0, "special": False}]
    assert read(token("Hi", top_tokens=others), last())[0] == Token("Hi")


@pytest.mark.parametrize(
    ("details", "counts"),
    [
        ({"input_length": 12}, (12, 3)),
        ({"input_length": None, "prefill": [{"id": 1}, {"id": 2}]}, (2, 3)),
        ({"input_length": None, "prefill": []}, (None, 3)),
        ({"generated_tokens": None}, (12, None)),
    ],
    ids=["input length", "prefill", "no prefill", "no generated count"],
)
def test_token_counts(details: dict[str, Any], counts: tuple[int | None, int | None]) -> None:
    assert read(token("Hi"), last(**details))[-1] == Finished("eos_token", *counts)


def test_end_mark_without_details() -> None:
    assert read(token("Hi"), token("</s>", special=True, generated_text="Hi"))[-1] == Finished("done")


def test_answer_without_streaming_is_read() -> None:
    body = {"generated_text": "Hi.", "details": {"finish_reason": "length", "generated_tokens": 2}}
    assert read(json.dumps(body).encode()) == [Token("Hi."), Finished("length", None, 2)]


def test_stop_sequence_is_removed_and_counts_are_read() -> None:
    body = token("Hi") + token(" [") + token("IN") + last("ST]", special=False, reason="stop_sequence")
    assert read(body) == [Token("Hi"), Token(" "), Finished("stop_sequence", 12, 3)]


def test_text_after_stop_is_ignored() -> None:
    body = token("Hi</s> and") + token(" on") + last("x", special=False, reason="length")
    assert read(body) == [Token("Hi"), Finished("length", 12, 3)]


def test_stop_ends_answer_without_counts() -> None:
    stream = TgiStream("near", stops=STOPS)
    assert list(stream.feed(token("Hi</s>"))) == [Token("Hi")]
    assert stream.finishing
    assert list(stream.end()) == [Finished("stop_sequence")]


def test_incomplete_stop_is_passed_on() -> None:
    assert read(token("a <"), token("b [IN"), last(whole="a <b [IN")) == [
        Token("a "),
        Token("<b "),
        Token("[IN"),
        Finished("eos_token", 12, 3),
    ]


@pytest.mark.parametrize(
    ("kind", "expected", "spoken"),
    [
        ("generation", LlmRefused, "has a problem"),
        ("overloaded", LlmRefused, "too busy"),
        ("validation", LlmRefused, "could not handle the request"),
        ("incomplete_generation", LlmBroken, "gave no answer"),
    ],
    ids=["generation", "overloaded", "validation", "incomplete generation"],
)
def test_errors_inside_stream(kind: str, expected: type[LlmError], spoken: str) -> None:
    fault = failure(error("it went wrong", kind))
    assert type(fault) is expected
    assert fault.retryable
    assert spoken in fault.spoken
    said, fault_later = outcome(token("Hi") + error("it went wrong", kind))
    assert said == [Token("Hi")]
    assert type(fault_later) is expected


def test_errors_do_not_quote_private_text() -> None:
    stream = TgiStream("near", private=("my secret question",))
    with pytest.raises(LlmRefused) as caught:
        list(stream.feed(error("bad input: my secret question", "validation")))
    assert "secret" not in str(caught.value)
    assert 'out of memory"' in str(failure(error("out of memory", "generation")))


@named_cases(
    "body",
    {
        "cut": token("Hi"),
        "comment": token("Hi") + b": keep-alive\n\n",
        "inside": token("Hi") + b'data:{"index":2,"tok',
        "nothing": b"",
        "no word": last("</s>", whole=""),
        "no json": b"data:nonsense\n\n",
        "list": b"data:[1]\n\n",
        "number": b'data:{"token":{"id":1,"text":7}}\n\n',
        "error": token("Hi") + last(reason="error"),
        "html": b"<html>502</html>\n",
        "only a stop": token("</s>") + last(),
    },
)
def test_invalid_answer_is_broken(body: bytes) -> None:
    fault = failure(body)
    assert isinstance(fault, LlmBroken)
    assert fault.retryable
    assert "payload" not in str(fault)  # a setting that does not exist for this service


EVENTS = st.sampled_from(
    [token("Hi"), token(" é😀"), token("\ud83d"), token("\ude00"), token("<s>", special=True), token(" ["),
     token("INST]"), token("<|eot"), b":\n\n", b": ping\r\n\r\n", last(), last("x", special=False, reason="length"),
     error("no", "overloaded"), error("no", "incomplete_generation"), b"<p>\n",
     'data:{"token":{"id":1,"text":"日本","special":false}}\r\n\r\n'.encode()]
)  # fmt: skip


@given(st.lists(EVENTS, max_size=8), st.lists(st.integers(0, 1500), max_size=30))
def test_packet_boundaries_do_not_matter(events: list[bytes], cuts: list[int]) -> None:
    NEAR.check_boundaries(b"".join(events), cuts)
