"""A prompt that is too long: older turns are left out and the request repeats; spent quota and Retry-After."""

import asyncio
import json
import time
from collections.abc import Sequence
from datetime import UTC, datetime

import pytest
from support.clocks.stopwatch import slowness
from support.services.llm_server import Script, Server, answer, ask, serving, status
from support.texts.text_cases import text_cases

from llm.chat import FunctionCall, Message, Token
from llm.context_limit import estimated_tokens, fitted
from llm.errors import LlmContextOverflow, LlmRefused
from llm.http_errors import SPOKEN_BUSY, SPOKEN_QUOTA, ErrorReport, refused_by_status, refused_in_stream
from llm.openai.chat import OpenAIChat
from llm.refusal_causes import is_overflow, is_quota, overflow_tokens, retry_after_s

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)

OVERFLOWS = [
    ("context_length_exceeded", "This model's maximum context length is 8192 tokens. However, your messages resulted"
     " in 9000 tokens.", 8192, 9000),
    ("", "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300000 tokens.",
     272000, 300000),
    ("BadRequestError", "This model's maximum context length is 2048 tokens. However, you requested 2100 tokens (2000"
     " in the messages, 100 in the completion).", 2048, 2100),
    ("", "The decoder prompt (length 5000) is longer than the maximum model length of 4096.", 4096, 5000),
    ("exceed_context_size_error", "request (5000 tokens) exceeds the available context size (4096 tokens), try"
     " increasing it", 4096, 5000),
    ("", "the request exceeds the available context size. try increasing the context size", None, None),
    ("validation", "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 2048. Given: 2000 `inputs`"
     " tokens and 500 `max_new_tokens`", 2048, 2000),
    ("validation", "Input validation error: `inputs` must have less than 1024 tokens. Given: 1300", 1024, 1300),
    ("", "the input length exceeds the context length", None, None),
    ("", "prompt too long; exceeded max context length by 12 tokens", None, None),
    ("", "Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context"
     " length of only 4096 tokens", 4096, 5000),
    ("", "The number of tokens to keep from the initial prompt is greater than the context length.", None, None),
    ("", "Input is too long for requested model.", None, None),
    ("", "prompt is too long: 210000 tokens > 200000 maximum", 200000, 210000),
    ("", "input length and `max_tokens` exceed context limit: 190000 + 20000 > 204698", 204698, 190000),
    ("", "The input (5000 tokens) is longer than the model's context length (4096 tokens).", 4096, 5000),
    ("INVALID_ARGUMENT", "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
     1048576, 1200000),
    ("", "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
     32768, 40000),
    ("", "Prompt length (5000) exceeds maximum input length (4096). Set log level to info and check TRTGptModel logs",
     4096, 5000),
]  # fmt: skip


@text_cases(("kind", "message", "limit", "used"), OVERFLOWS)
def test_overflow_of_known_services_is_recognized(kind: str, message: str, limit: int | None, used: int | None) -> None:
    assert is_overflow(kind, message)
    assert overflow_tokens(message) == (limit, used)
    report = ErrorReport(message, kind, None)
    refused = refused_by_status("near", 400, where="here", model="m", report=report, private=())
    assert isinstance(refused, LlmContextOverflow)
    assert isinstance(refused_in_stream("near", report, ()), LlmContextOverflow)


@text_cases(
    ("kind", "message"),
    [
        ("invalid_request_error", "Unsupported parameter: 'max_tokens' is not supported with this model."),
        ("rate_limit_exceeded", "Rate limit reached: too many tokens per minute"),
        ("invalid_request_error", "temperature must be at most 2"),
    ],
)
def test_other_refusals_are_no_overflow(kind: str, message: str) -> None:
    assert not is_overflow(kind, message)


@text_cases(
    ("status_code", "kind", "message", "spoken"),
    [
        (429, "insufficient_quota insufficient_quota", "You exceeded your current quota, please check your plan and"
         " billing details.", SPOKEN_QUOTA),
        (402, "", "Insufficient Balance", SPOKEN_QUOTA),
        (400, "invalid_request_error", "Your credit balance is too low to access the API.", SPOKEN_QUOTA),
        (403, "", "Your team has used all available credits or reached its monthly spending limit.", SPOKEN_QUOTA),
        (429, "RESOURCE_EXHAUSTED", "You exceeded your current quota. Please retry in 34s.", SPOKEN_BUSY),
        (429, "rate_limit_exceeded", "Rate limit reached.", SPOKEN_BUSY),
    ],
)  # fmt: skip
def test_spent_quota_is_not_called_busy(status_code: int, kind: str, message: str, spoken: str) -> None:
    report = ErrorReport(message, kind, None)
    error = refused_by_status("near", status_code, where="here", model="m", report=report, private=())
    assert error.spoken == spoken
    assert is_quota(kind, message) == (spoken == SPOKEN_QUOTA)


@text_cases(
    ("header", "value", "wait_s"),
    [
        ("retry-after", "2", 2.0),
        ("retry-after", "0.5", 0.5),
        ("retry-after-ms", "250", 0.25),
        ("retry-after", "Thu, 01 Jan 2026 12:00:07 GMT", 7.0),
        ("retry-after", "Thu, 01 Jan 2026 11:00:00 GMT", 0.0),
        ("retry-after", "soon", None),
        ("retry-after-ms", "nan", None),
        ("retry-after", "999999999", 3600.0),
        ("other", "1", None),
    ],
)
def test_wait_that_a_service_asks_for_is_read(header: str, value: str, wait_s: float | None) -> None:
    assert retry_after_s({header: value}, NOW) == wait_s


def conversation(turns: int, words: int = 50) -> list[Message]:
    said = [message for number in range(turns) for message in (
        Message("user", f"question {number} " + "word " * words), Message("assistant", "answer " * words))]  # fmt: skip
    return [Message("system", "Be brief."), *said, Message("user", "And now?")]


def test_oldest_turns_are_left_out_in_large_steps() -> None:
    limit = 1000
    starts = []
    for turns in range(5, 60):
        messages = conversation(turns)
        kept = fitted(messages, limit)
        assert estimated_tokens(kept) <= limit
        assert (kept[0], kept[-1]) == (messages[0], messages[-1])
        assert kept[1].role == "user"
        starts.append(kept[1].content)
    assert len(set(starts)) < len(starts) / 2, "the beginning stays the same between two steps"


def test_newest_turn_stays_with_shorter_results() -> None:
    call = FunctionCall("c1", "look", "{}")
    turn = [
        Message("user", "What is there?"),
        Message("assistant", "", (call,)),
        Message("tool", "x" * 300_000, call_id="c1"),
    ]
    kept = fitted([*conversation(3), Message("assistant", "Well."), *turn], 1000)
    assert [message.role for message in kept] == ["system", "user", "assistant", "tool"]
    assert kept[1].content == "What is there?"
    assert estimated_tokens(kept) <= 1000


def test_long_conversation_is_fitted_in_linear_time() -> None:
    messages = conversation(800, words=5)
    began_s = time.thread_time()
    fitted(messages, 5000)
    assert time.thread_time() - began_s < 0.6 * slowness()


def sizes_of(server: Server) -> list[int]:
    return [len(json.loads(post.body)["messages"]) for post in server.posts]


def texts(events: Sequence[object]) -> list[str]:
    return [event.text for event in events if isinstance(event, Token)]


def run_against(
    scripts: Sequence[Script], turns: Sequence[int], *, waits: bool = False
) -> tuple[list[int], list[list[str]]]:
    """Returns the number of messages of each request, and the answers to conversations of these lengths."""

    async def main() -> tuple[list[int], list[list[str]]]:
        async with serving(*scripts) as server:
            model = OpenAIChat("near", server.url, "m", waits_when_busy=waits)
            try:
                answers = [texts(await ask(model, conversation(number))) for number in turns]
            finally:
                await model.aclose()
            return sizes_of(server), answers

    return asyncio.run(main())


OVERFLOW = status(400, {"error": {"message": "too long", "code": "context_length_exceeded"}})


def test_overflow_is_answered_at_once_and_learned() -> None:
    sizes, answers = run_against([OVERFLOW, answer("Yes.")], [6, 6, 7])
    assert answers == [["Yes."]] * 3
    assert sizes[0] == 14
    assert all(size < 14 for size in sizes[1:])
    assert len(sizes) == 4, "only the first turn was refused"


def test_overflow_that_stays_is_an_error() -> None:
    with pytest.raises(LlmContextOverflow, match="takes no prompt that long"):
        run_against([OVERFLOW], [3])


def test_busy_service_is_asked_again_after_its_wait() -> None:
    busy = status(429, {"error": {"message": "slow down"}}, headers="retry-after-ms: 50\r\n")
    sizes, answers = run_against([busy, answer("Yes.")], [1], waits=True)
    assert (len(sizes), answers) == (2, [["Yes."]])


def test_long_wait_and_spent_quota_are_errors_at_once() -> None:
    for headers, code in (("retry-after: 600\r\n", "rate_limit"), ("", "insufficient_quota")):
        spent = status(429, {"error": {"message": "no", "code": code}}, headers=headers)
        with pytest.raises(LlmRefused):
            run_against([spent, answer("Yes.")], [1], waits=True)
