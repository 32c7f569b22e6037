"""Error texts for answers without text: cause and remedy, for every protocol."""

import json
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Protocol

import pytest
from support.texts.text_cases import text_cases

from llm.answer_state import AnswerEvent, AnswerState
from llm.aws.bedrock_stream import Anthropic, Converse
from llm.chat import Finished, Token
from llm.empty_answer import from_first_visible
from llm.errors import LlmError
from llm.stops import StopSequenceParser
from llm.tgi.chat import TgiStream
from llm.token_stream import TokenStream
from llm.triton.generate_stream import TritonStream


class Stream(Protocol):
    def feed(self, data: bytes) -> Iterator[AnswerEvent]: ...

    def end(self) -> Iterator[AnswerEvent]: ...


def sse(*lines: object) -> bytes:
    return b"".join(b"data: " + json.dumps(line).encode() + b"\n\n" for line in lines)


def token(text: str, whole: str | None = None, reason: str = "") -> dict[str, object]:
    details = {"finish_reason": reason, "generated_tokens": 1} if reason else None
    return {"token": {"text": text, "special": False}, "generated_text": whole, "details": details}


KINDS = [
    pytest.param(lambda: TgiStream("far"), sse(token("\n"), token("", "\n", "eos_token")), "only blanks", id="TGI"),
    pytest.param(lambda: TgiStream("far"), sse(token("", "", "length")), "raise llm.max_tokens", id="TGI at its limit"),
    pytest.param(lambda: TokenStream("far"), sse({"outputs": [" "]}), "only blanks", id="LMI"),
    pytest.param(lambda: TritonStream("far"), sse({"text_output": "\u200b"}), "only blanks", id="Triton"),
    pytest.param(lambda: TritonStream("far"), b"", "stopped at once", id="Triton without a response"),
    pytest.param(lambda: TritonStream("far"), sse({"text_output": "<think>Hm"}), "reasoning", id="Triton, reasoning"),
]


@text_cases(("kind", "body", "expected_text"), KINDS)
def test_answer_without_text_names_cause(kind: Callable[[], Stream], body: bytes, expected_text: str) -> None:
    stream = kind()
    with pytest.raises(LlmError, match=f"'far' ended its answer without any text .*{expected_text}"):
        list(chain(stream.feed(body), stream.end()))


def test_reasoning_only_answer_of_bedrock_names_cause() -> None:
    answer = AnswerState("far")
    meaning = Converse(answer)
    thought: dict[str, object] = {"delta": {"reasoningContent": {"text": "Hm"}}}
    assert list(meaning.parse("contentBlockDelta", thought)) == []
    assert list(meaning.parse("messageStop", {"stopReason": "max_tokens"})) == []
    with pytest.raises(LlmError, match=r"its reasoning used all its tokens: raise llm\.max_tokens"):
        list(meaning.parse("metadata", {}))


def test_reasoning_only_answer_of_anthropic_names_cause() -> None:
    answer = AnswerState("far")
    meaning = Anthropic(answer, "far")
    list(meaning.parse("", {"type": "content_block_delta", "delta": {"thinking": "Hm"}}))
    list(meaning.parse("", {"type": "message_delta", "delta": {"stop_reason": "end_turn"}}))
    with pytest.raises(LlmError, match="it sent its reasoning only"):
        list(meaning.parse("", {"type": "message_stop"}))


class Scripted:
    finishing = False

    def feed(self, data: bytes) -> Iterator[Token | Finished]:
        yield from (Token("\n\nUser:"), Finished("stop"))

    def end(self) -> Iterator[Token | Finished]:
        yield from ()


def test_blanks_before_stop_sequence_are_not_an_answer() -> None:
    with pytest.raises(LlmError, match="began its answer with a stop sequence"):
        list(StopSequenceParser("far", Scripted(), ["User:"]).feed(b""))


@text_cases("text", ["", " \n\t", "\u200b\ufeff", "\u00ad\u2060", "\ufe0f", "\u3164"])
def test_blank_characters_are_stripped(text: str) -> None:
    assert from_first_visible(text) == ""
    assert from_first_visible(f"{text}a ") == "a "


@text_cases("text", ["a", "é", "你", "...", "🙂", "\u0301"])
def test_visible_characters_are_kept(text: str) -> None:
    assert from_first_visible(text) == text
