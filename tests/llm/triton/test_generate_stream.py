"""Parsing of Triton's generate stream, without a network."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.services.generate_events import output
from support.services.scripted_answers import StreamReading
from support.texts.text_cases import named_cases

from llm.chat import Finished, Token
from llm.errors import LlmBroken, LlmRefused
from llm.triton.generate_stream import TritonStream

FAULT = b'data: {"error":"the engine died"}\n\n'


PROMPT = "[INST] q? [/INST]"
NEAR = StreamReading(lambda: TritonStream("near"))
ECHOING = StreamReading(lambda: TritonStream("near", echo=PROMPT))
read, outcome, failure = NEAR.read, NEAR.outcome, NEAR.failure


def test_end_of_body_ends_answer() -> None:
    stream = TritonStream("near")
    assert list(stream.feed(output("Hi") + output(" there.") + output(""))) == [Token("Hi"), Token(" there.")]
    assert not stream.finishing
    assert list(stream.end()) == [Finished("done")]


def test_done_event_is_ignored() -> None:
    assert read(output("Hi"), b"data: [DONE]\n\n") == [Token("Hi"), Finished("done")]


def test_single_response_without_streaming() -> None:
    assert read(b'{"model_name":"m7","text_output":"Hi."}') == [Token("Hi."), Finished("done")]


def test_other_outputs_are_ignored() -> None:
    body = output("Hi", context_logits=0.0, sequence_end=False, cum_log_probs=[0.0])
    assert read(body) == [Token("Hi"), Finished("done")]


def test_first_of_several_answers_is_used() -> None:
    assert read(output(["Hi", "Ho"]), output([["."]]), output([])) == [Token("Hi"), Token("."), Finished("done")]


def test_custom_output_name() -> None:
    stream = TritonStream("near", text_output="OUT")
    assert list(stream.feed(b'data: {"OUT":"Hi","text_output":"no"}\n\n')) == [Token("Hi")]


def test_finish_reason_and_counts_are_read() -> None:
    body = output("Hi", finish_reason="None", num_input_tokens=9, num_output_tokens=1)
    body += output(".", finish_reason=["length"], num_input_tokens=9, num_output_tokens=[2])
    stream = TritonStream("near")
    assert list(stream.feed(body)) == [Token("Hi"), Token(".")]
    assert stream.finishing
    assert list(stream.end()) == [Finished("length", 9, 3)]


def test_aborted_answer_is_broken() -> None:
    assert isinstance(failure(output("Hi"), output("", finish_reason="abort")), LlmBroken)


@pytest.mark.parametrize("before", [b"", output("Hi")], ids=["first", "later"])
def test_errors_with_status_200(before: bytes) -> None:
    said, fault = outcome(before + FAULT)
    assert isinstance(fault, LlmRefused)
    assert fault.retryable
    assert "the engine died" in str(fault)
    assert len(said) == (1 if before else 0)


@pytest.mark.parametrize(
    "pieces",
    [(output("[INST] q? [/INST]Hi"),), (output("[INST] q"), output("? [/INST]"), output("Hi"))],
    ids=["one event", "several events"],
)
def test_echoed_prompt_is_removed(pieces: tuple[bytes, ...]) -> None:
    assert ECHOING.read(*pieces) == [Token("Hi"), Finished("done")]


def test_missing_echo_is_broken() -> None:
    fault = ECHOING.failure(output("Hi"))
    assert isinstance(fault, LlmBroken)
    assert "set echo = false" in str(fault)
    assert isinstance(ECHOING.failure(output("[INST] q")), LlmBroken)


@named_cases(
    "body",
    {
        "nothing": b"",
        "no word": output(""),
        "comment": b": ping\n\n",
        "no text": b"data: {}\n\n",
        "number": output(7),
        "no json": b"data: nonsense\n\n",
        "list": b"data: [1]\n\n",
        "inside": output("Hi") + b'data: {"text_out',
        "html": b"<html>502</html>\n",
    },
)
def test_invalid_answer_is_broken(body: bytes) -> None:
    fault = failure(body)
    assert isinstance(fault, LlmBroken)
    assert fault.retryable


EVENTS = st.sampled_from(
    [output("Hi"), output(" é😀"), output("\ud83d"), output("\ude00"), output(""), output(["a", "b"]), FAULT,
     output(".", finish_reason="stop", num_output_tokens=1), output("", finish_reason="abort"), b": ping\r\n\r\n",
     json.dumps({"text_output": "日本"}, ensure_ascii=False).encode() + b"\n", b"<p>\n", b"data: [DONE]\n\n"]
)  # fmt: skip


@given(st.lists(EVENTS, max_size=8), st.lists(st.integers(0, 1500), max_size=30))
def test_packet_boundaries_do_not_matter(events: list[bytes], cuts: list[int]) -> None:
    NEAR.check_boundaries(b"".join(events), cuts)
