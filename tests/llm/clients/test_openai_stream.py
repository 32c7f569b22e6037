"""Parsing of chat streams, without a network."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.services.llm_server import DONE, event, usage
from support.services.scripted_answers import StreamReading
from support.texts.text_cases import named_cases

from llm import answer_state
from llm.answer_text.reasoning_habit import ReasoningHabit
from llm.chat import CallExtra, CallInProgress, Finished, FunctionCall, Token
from llm.errors import LlmBroken, LlmFiltered, LlmRefused
from llm.openai.stream import OpenAIStream

START = event(role="assistant", content="")
STOP = event(finish="stop")


NEAR = StreamReading(lambda: OpenAIStream("near"))
read, outcome, failure = NEAR.read, NEAR.outcome, NEAR.failure


def test_answer_with_usage() -> None:
    events = read(START, event("Hi"), event(" there"), STOP, usage(12, 2), DONE)
    assert events == [Token("Hi"), Token(" there"), Finished("stop", 12, 2)]


def test_cached_tokens_are_reported() -> None:
    counts = {"prompt_tokens": 12, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 8}}
    last = b"data: " + json.dumps({"choices": [], "usage": counts}).encode() + b"\n\n"
    assert read(event("Hi"), STOP, last, DONE)[-1] == Finished("stop", 12, 2, cached_tokens=8)
    without = json.dumps({"choices": [], "usage": {**counts, "prompt_tokens_details": None}}).encode()
    assert read(event("Hi"), STOP, b"data: " + without + b"\n\n", DONE)[-1] == Finished("stop", 12, 2)


def test_only_content_is_a_token() -> None:
    reasoning = event(reasoning_content="hmm") + event(reasoning="hmm") + event(content=None, tool_calls=[])
    assert read(START + reasoning + event("Hi") + STOP) == [Token("Hi"), Finished("stop")]


def test_only_first_choice_is_used() -> None:
    other = b'data: {"choices": [{"index": 1, "delta": {"content": "no"}}, {"index": 0, "delta": {"content": "a"}}]}\n'
    assert read(other, STOP) == [Token("a"), Finished("stop")]


def test_choice_without_index_is_the_first() -> None:
    other = b'data: {"choices": [{"index": null, "delta": {"content": "a"}}]}\n'
    assert read(other, STOP) == [Token("a"), Finished("stop")]


def test_text_parts_of_content_are_used() -> None:
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "Hmm"}]}
    parts = [thinking, {"type": "text", "text": "It is"}, {"type": "image"}, 7]
    assert read(event(content=[thinking]), event(content=parts), event(" four."), STOP) == [
        Token("It is"),
        Token(" four."),
        Finished("stop"),
    ]


def test_marked_reasoning_is_not_a_token() -> None:
    assert read(event("<think>\nHmm"), event(".</think>"), event("\n\nIt is four."), STOP) == [
        Token("It is four."),
        Finished("stop"),
    ]
    error = failure(event("<think>\nHmm"), event(finish="length"), DONE)
    assert "raise llm.max_tokens, or turn its thinking off" in str(error)
    assert "turn its thinking off" in str(failure(event(reasoning_content="Hmm"), STOP, DONE))


@pytest.mark.parametrize(
    ("pieces", "expected_text"),
    [
        pytest.param((START, STOP, usage(9, 1), DONE), "(finish_reason stop), its model stopped at once", id="stop"),
        pytest.param((event(" \n"), event("\u200b\ufeff"), STOP, DONE), "it sent only blanks", id="blanks"),
        pytest.param(
            (event("<think>Hm.</think>\n\u200b"), STOP, DONE), "its reasoning only", id="blanks after reasoning"
        ),
        pytest.param((event(reasoning_content="Hmm"), STOP, DONE), "it sent its reasoning only: turn", id="reasoning"),
        pytest.param((event(reasoning="Hmm"), event(finish="length")), "raise llm.max_tokens, or turn", id="budget"),
        pytest.param((event(finish="length"), DONE), "its token limit came before its first word", id="length"),
        pytest.param((event(tool_calls=[{"id": "a"}]), STOP), "a function without naming it: check", id="empty call"),
        pytest.param((event(finish="tool_calls"), DONE), "announced a function call and sent none", id="no call"),
        pytest.param((DONE,), "([DONE]), it sent no choice: check the name of its model", id="only done"),
        pytest.param((b'data: {"choices": []}\n\n', DONE), "it sent no choice", id="no choices"),
        pytest.param((b"",), "it sent nothing at all: check its url", id="no body"),
        pytest.param((b": ping\n\n",), "it sent nothing at all: check its url", id="comments"),
        pytest.param((START,), "without an end mark before any text: its model server, or a proxy", id="closed"),
        pytest.param((event(reasoning="Hm"),), "while it was still reasoning", id="closed while reasoning"),
        pytest.param((event(finish="content_filter"), DONE), "check its filter's settings", id="filter"),
        pytest.param((b'{"error": {"message": "no memory"}}',), '"no memory"', id="JSON error as body"),
        pytest.param((b"<!doctype html>\n",), "it is a web page", id="web page as body"),
    ],
)
def test_answer_without_text_names_cause(pieces: tuple[bytes, ...], expected_text: str) -> None:
    error = failure(*pieces)
    assert expected_text in str(error)
    assert "the server's log" not in str(error)


def test_leading_blanks_are_not_an_answer() -> None:
    assert read(event("\n"), event("\u200b"), event("Hi"), event(" "), STOP) == [
        Token("\n\u200bHi"),
        Token(" "),
        Finished("stop"),
    ]


def test_answer_without_streaming_is_read() -> None:
    body = {"choices": [{"message": {"content": "Hi."}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 3}}
    assert read(json.dumps(body, indent=1).encode()) == [Token("Hi."), Finished("stop", 3, None)]


def test_answer_repeated_after_streaming_is_ignored() -> None:
    def so_far(said: str, whole: str, finish: str | None = None) -> bytes:
        delta = {"content": said} if said else {}
        choice = {"delta": delta, "message": {"content": whole}, "finish_reason": finish}
        return b"data: " + json.dumps({"choices": [choice]}).encode() + b"\n\n"

    pieces = so_far("One.", "One."), so_far(" Two.", "One. Two."), so_far("", "One. Two.", "stop")
    assert read(*pieces, DONE) == [Token("One."), Token(" Two."), Finished("stop")]
    held = OpenAIStream("near", habit=ReasoningHabit(begins_unmarked=True))
    said = [said for piece in pieces for said in held.feed(piece)]
    assert [*said, *held.feed(DONE)] == [Token("One. Two."), Finished("stop")]


def test_finish_reason_is_an_end_mark_without_done() -> None:
    assert read(event("Hi"), STOP) == [Token("Hi"), Finished("stop")]


def test_done_is_an_end_mark_without_finish_reason() -> None:
    assert read(event("Hi"), DONE) == [Token("Hi"), Finished("done")]


def test_events_after_the_end_are_ignored() -> None:
    stream = OpenAIStream("near")
    said = list(stream.feed(event("Hi") + STOP + DONE + event("more") + b"<html>\n"))
    assert [*said, *stream.feed(event("more")), *stream.end()] == [Token("Hi"), Finished("stop")]


def test_character_split_between_packets() -> None:
    body = json.dumps({"choices": [{"delta": {"content": "é😀"}}]}, ensure_ascii=False).encode() + b"\n"
    cut = body.index(b"\xf0") + 2
    assert read(body[:cut], body[cut:], STOP)[0] == Token("é😀")


def test_character_split_into_two_escapes() -> None:
    events = read(event("so \ud83d"), event("\ude00"), event("\ude00 ok"), STOP)
    assert events == [Token("so "), Token("😀"), Token("\ufffd ok"), Finished("stop")]


@pytest.mark.parametrize("reason", ["error", "abort", "insufficient_system_resource"])
def test_aborted_answer_is_broken(reason: str) -> None:
    error = failure(event("Hi"), event(finish=reason), DONE)
    assert isinstance(error, LlmBroken)
    assert error.retryable
    assert error.spoken == "My language model broke off in the middle of its answer."


def test_filtered_answer_is_not_retryable() -> None:
    error = failure(event("Hi"), event(finish="content_filter"), DONE)
    assert isinstance(error, LlmFiltered)
    assert not error.retryable
    assert error.spoken == "My language model declined to answer that."


@named_cases(
    ("body", "retryable"),
    {
        "server error": ({"error": {"message": "engine died", "type": "internal_server_error", "code": 500}}, True),
        "rate limit": ({"error": {"message": "slow down", "type": "rate_limit_exceeded", "code": None}}, True),
        "bad request": ({"error": {"message": "too long", "type": "BadRequestError", "code": 400}}, True),
        "invalid request": (
            {"error": {"message": "too long", "type": "invalid_request_error", "code": "context_length_exceeded"}},
            True,
        ),
        "content filter": ({"error": {"message": "no", "code": "content_filter"}}, False),
        "error as text": ({"error": "Model is overloaded", "error_type": "overloaded"}, True),
        "validation error": ({"error": "inputs must have less than 4096", "error_type": "validation"}, True),
        "error object": ({"object": "error", "message": "bad", "code": 400}, True),
    },
)
def test_error_inside_stream_is_refused(body: dict[str, object], retryable: bool) -> None:
    error = failure(START, event("Hi"), b"data: " + json.dumps(body).encode() + b"\n\n", DONE)
    assert isinstance(error, LlmRefused)
    assert error.retryable is retryable


def test_named_error_event_is_refused() -> None:
    assert isinstance(failure(b'event: error\ndata: {"message": "boom"}\n\n'), LlmRefused)


@named_cases(
    "body",
    {
        "no end mark": event("Hi"),
        "no json": b"data: {not json}\n\n",
        "no object": b"data: 7\n\n",
        "nested": b"data: " + b"[" * 100_000 + b"\n\n",
        "number": b'data: {"choices": [{"delta": {"content": 7}}]}\n\n',
    },
)
def test_invalid_answer_is_broken(body: bytes) -> None:
    error = failure(body)
    assert isinstance(error, LlmBroken)
    assert error.retryable


@pytest.mark.parametrize(
    "body",
    [
        b'{"model":"x","message":{"content":"Hi"},"done":false}\n{"model":"x","done":true}\n',
        b'event: content_block_delta\ndata: {"type":"content_block_delta","delta":{"text":"Hi"}}\n\n',
        b"{}",
    ],
    ids=["Ollama's own", "Anthropic's own", "nothing"],
)
def test_other_protocol_is_reported(body: bytes) -> None:
    assert "not with chat completions: check its url" in str(failure(body))


def test_other_named_events_are_ignored() -> None:
    assert read(b"event: ping\ndata: ping\n\n", event("Hi"), STOP) == [Token("Hi"), Finished("stop")]


def test_error_event_may_be_plain_text() -> None:
    error = failure(b"event: error\ndata: out of memory\n\n")
    assert isinstance(error, LlmRefused)
    assert "out of memory" in str(error)


def test_refusal_field_is_text() -> None:
    assert read(event(refusal="I can't say that."), STOP) == [
        Token("I can't say that."),
        Finished("stop"),
    ]


@pytest.mark.parametrize("word", ["", "null", "None"], ids=["empty", "null", "None"])
def test_empty_finish_reasons_do_not_end_answer(word: str) -> None:
    stream = OpenAIStream("near")
    assert list(stream.feed(event("Hi", finish=word))) == [Token("Hi")]
    assert not stream.finishing


@named_cases(
    "count",
    {
        "negative": -1,
        "huge": 10**400,
        "boolean": True,
        "fraction": 1.5,
        "text": "7",
        "missing": None,
    },
)
def test_invalid_token_counts_are_ignored(count: object) -> None:
    counts = b'data: {"choices": [], "usage": {"prompt_tokens": %s}}\n\n' % json.dumps(count).encode()
    assert read(event("Hi"), STOP, counts) == [Token("Hi"), Finished("stop")]


def test_control_characters_are_removed_from_reason() -> None:
    assert read(event("Hi"), event(finish="\x1b[2Jstop")) == [Token("Hi"), Finished("[2Jstop")]


def test_error_in_list_is_refused() -> None:
    error = failure(b'data: [{"error": {"code": 503, "message": "The model is overloaded."}}]\n\n')
    assert isinstance(error, LlmRefused)
    assert "The model is overloaded." in str(error)


def test_line_over_the_limit_is_broken() -> None:
    assert isinstance(failure(b"data: " + b"x" * (1 << 20) + b"x"), LlmBroken)


def test_endless_answer_is_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer_state, "MAX_ANSWER_CHARS", 10)
    said, error = outcome(event("12345"), event("67890"), event("x"))
    assert said == [Token("12345"), Token("67890")]
    assert "max_tokens" in str(error)


def test_error_follows_earlier_events() -> None:
    said, error = outcome(event("one") + event(" two") + b'data: {"error": "boom"}\n\n')
    assert said == [Token("one"), Token(" two")]
    assert "boom" in str(error)


EVENTS = st.sampled_from(
    [START, event("Hi"), event(" é😀"), event("\ud83d"), event("\ude00"), event(reasoning="x"), b": ping\n\n",
     usage(1, 2), STOP, DONE, event(finish="abort"), b'data:{"error":"no"}\r\n\r\n',
     b'{"choices": [{"delta": {"content": "b"}}]}\n',
     'data: {"choices": [{"delta": {"content": "日本"}}]}\n\n'.encode(), b"<p>\n"]
)  # fmt: skip


@given(st.lists(EVENTS, max_size=10), st.lists(st.integers(0, 1500), max_size=30))
def test_packet_boundaries_do_not_matter(events: list[bytes], cuts: list[int]) -> None:
    NEAR.check_boundaries(b"".join(events), cuts)


# Function calls.


def calling(**part: object) -> bytes:
    return event(tool_calls=[part])


def test_function_call_is_assembled_from_pieces() -> None:
    assert read(
        calling(index=0, id="call_a", type="function", function={"name": "weather", "arguments": ""}),
        calling(index=0, function={"arguments": '{"city":'}),
        calling(index=1, id="call_b", function={"name": "time"}),
        calling(index=0, function={"arguments": '"Ulm"}'}),
        event(finish="tool_calls"),
        DONE,
    ) == [
        *[CallInProgress()] * 4,
        FunctionCall("call_a", "weather", '{"city":"Ulm"}'),
        FunctionCall("call_b", "time", "{}"),
        Finished("tool_calls"),
    ]


def test_written_call_that_cannot_be_read_is_counted_beside_the_text() -> None:
    *said, finished = read(event("I'll look.\n<tool_call>{broken</tool_call>"), STOP, DONE)
    assert "".join(one.text for one in said if isinstance(one, Token)) == "I'll look.\n"
    assert isinstance(finished, Finished)
    assert finished.unread_calls == 1


def test_text_before_call_is_passed_on() -> None:
    assert read(
        event(content="Let me see."),
        calling(index=0, id="call_a", function={"name": "weather", "arguments": {"city": "Ulm"}}),
        DONE,
    ) == [
        Token("Let me see."),
        CallInProgress(),
        FunctionCall("call_a", "weather", '{"city": "Ulm"}'),
        Finished("done"),
    ]


def test_too_many_calls_are_broken() -> None:
    error = failure(calling(index=16, id="x", function={"name": "weather"}))
    assert isinstance(error, LlmBroken)
    assert "more than 16 functions" in str(error)


def test_calls_with_same_index_are_separated_by_id() -> None:
    assert read(
        calling(index=0, id="call_a", function={"name": "weather", "arguments": '{"city":"Paris"}'}),
        calling(index=0, id="call_b", function={"name": "weather", "arguments": '{"city":"Rome"}'}),
        DONE,
    )[2:4] == [
        FunctionCall("call_a", "weather", '{"city":"Paris"}'),
        FunctionCall("call_b", "weather", '{"city":"Rome"}'),
    ]


OSLO, ROME = '{"city":"Oslo"}', '{"city":"Rome"}'


def whole(arguments: str, name: str = "weather") -> dict[str, object]:
    return {"name": name, "arguments": arguments}


def called(*pieces: bytes) -> list[tuple[str, str, str]]:
    """Returns all calls in the pieces."""
    calls = [said for said in read(*pieces, event(finish="tool_calls"), DONE) if isinstance(said, FunctionCall)]
    return [(call.call_id, call.name, call.arguments) for call in calls]


@named_cases(
    ("pieces", "calls"),
    {
        "empty ids": (
            [
                {"index": 0, "id": "a", "function": whole("")},
                {"index": 0, "id": "", "function": {"arguments": '{"city":', "name": None}},
                {"index": 0, "id": "", "function": {"arguments": '"Oslo"}'}},
                {"index": 0, "id": "", "function": {"arguments": None}},
            ],
            [("a", "weather", OSLO)],
        ),
        "ids in every piece": (
            [
                {"id": "a", "function": whole('{"city":')},
                {"id": "a", "function": {"arguments": '"Oslo"}'}},
                {"id": "b", "function": whole('{"city":')},
                {"id": "b", "function": {"arguments": '"Rome"}'}},
            ],
            [("a", "weather", OSLO), ("b", "weather", ROME)],
        ),
        "ids in every piece, mixed": (
            [
                {"id": "a", "function": whole('{"city":')},
                {"id": "b", "function": whole('{"city":')},
                {"id": "a", "function": {"arguments": '"Oslo"}'}},
                {"id": "b", "function": {"arguments": '"Rome"}'}},
            ],
            [("a", "weather", OSLO), ("b", "weather", ROME)],
        ),
        "all of number 0": (
            [{"index": 0, "id": "", "function": whole(OSLO)}, {"index": 0, "id": "", "function": whole(ROME)}],
            [("call_0", "weather", OSLO), ("call_1", "weather", ROME)],
        ),
        "neither number nor id": (
            [{"function": whole(OSLO)}, {"function": whole(ROME)}],
            [("call_0", "weather", OSLO), ("call_1", "weather", ROME)],
        ),
        "another name": (
            [{"index": 0, "function": whole("", "time")}, {"index": 0, "function": whole(OSLO)}],
            [("call_0", "time", "{}"), ("call_1", "weather", OSLO)],
        ),
        "no number": ([{"index": None, "id": "a", "function": whole(OSLO)}], [("a", "weather", OSLO)]),
        "a number in words": (
            [{"index": "0", "id": "a", "function": whole("")}, {"index": "0", "function": {"arguments": OSLO}}],
            [("a", "weather", OSLO)],
        ),
        "null as a word": (
            [{"index": 0, "id": "null", "function": whole(OSLO)}, {"index": 1, "id": "null", "function": whole(ROME)}],
            [("call_0", "weather", OSLO), ("call_1", "weather", ROME)],
        ),
        "names in every piece": (
            [
                {"index": 0, "id": "a", "function": whole('{"city":')},
                {"index": 0, "id": "a", "function": whole('"Oslo"}')},
                {"index": 0, "id": "a", "function": whole("")},
            ],
            [("a", "weather", OSLO)],
        ),
        "the name once more": (
            [{"index": 0, "id": "a", "function": whole("{}")}, {"index": 0, "function": whole("")}],
            [("a", "weather", "{}")],
        ),
    },
)
def test_call_numbering_variants_of_services(
    pieces: list[dict[str, object]], calls: list[tuple[str, str, str]]
) -> None:
    assert called(*(calling(**piece) for piece in pieces)) == calls


def test_two_complete_calls_in_one_event() -> None:
    both = event(tool_calls=[{"function": whole("{}")}, {"function": whole("{}")}])
    assert called(both) == [("call_0", "weather", "{}"), ("call_1", "weather", "{}")]


def test_truncated_arguments_are_kept() -> None:
    assert called(calling(index=0, id="a", function=whole('{"city":"Os'))) == [("a", "weather", '{"city":"Os')]


def test_unnamed_call_is_broken_and_empty_call_ignored() -> None:
    assert "without naming it" in str(failure(calling(index=0, id="a", function={"arguments": OSLO}), DONE))
    assert "without naming it" in str(failure(calling(index=0, id="", function={"name": "", "arguments": ""}), DONE))
    assert read(event("Hi"), calling(index=0, id=""), DONE) == [Token("Hi"), CallInProgress(), Finished("done")]


@pytest.mark.parametrize("index", [{"index": 0}, {"index": 0, "id": ""}, {}], ids=["ids", "no ids", "no numbers"])
def test_parallel_calls_with_signature_on_first(index: dict[str, object]) -> None:
    """The format of Gemini 3: complete calls, all with index 0, in separate events."""
    signed = {"google": {"thought_signature": "CpcBAXLI2nw="}}
    *_, one, other, _ = read(
        calling(**{"id": "a", **index}, type="function", function=whole(OSLO), extra_content=signed),
        calling(**{"id": "b", **index}, type="function", function=whole(ROME)),
        event(finish="tool_calls"),
        DONE,
    )
    assert isinstance(one, FunctionCall)
    assert isinstance(other, FunctionCall)
    assert (one.arguments, one.extra) == (OSLO, CallExtra("near", json.dumps({"extra_content": signed})))
    assert (other.arguments, other.extra) == (ROME, None)
    assert one.call_id != other.call_id


def test_extra_fields_of_call_are_kept() -> None:
    signed = {"google": {"thought_signature": "CpcBAXLI2nw="}}
    *_, call, _ = read(
        calling(id="a", type="function", function=whole(OSLO), extra_content=signed, other=None),
        calling(more=1),
        DONE,
    )
    assert isinstance(call, FunctionCall)
    assert call.extra == CallExtra("near", json.dumps({"extra_content": signed, "more": 1}))


def piece(index: int, call_id: str, name: str, arguments: str) -> bytes:
    function = {"name": name, "arguments": arguments}
    return event(tool_calls=[{"index": index, "id": call_id, "type": "function", "function": function}])


@pytest.mark.parametrize("index", [0, 1])
def test_two_calls_with_one_id_are_two_calls(index: int) -> None:
    first, second = piece(0, "a", "look", '{"q":"x"}'), piece(index, "a", "look", '{"q":"y"}')
    calls = [said for said in read(first, second, STOP) if isinstance(said, FunctionCall)]
    assert [call.arguments for call in calls] == ['{"q":"x"}', '{"q":"y"}']
    assert len({call.call_id for call in calls}) == len(calls)


def test_call_whose_pieces_repeat_id_and_name_is_one_call() -> None:
    pieces = (piece(0, "a", "look", part) for part in ("", '{"q":', '"x"}'))
    calls = [said for said in read(*pieces, STOP) if isinstance(said, FunctionCall)]
    assert [call.arguments for call in calls] == ['{"q":"x"}']


def test_call_that_was_written_as_text_is_a_call() -> None:
    said = read(
        event("I look.\n<tool_"), event('call>{"name":"look","arguments":{"q":"x"}}'), event("</tool_call>"), STOP
    )
    assert [one.text for one in said if isinstance(one, Token)] == ["I look.\n"]
    assert [(one.name, one.arguments) for one in said if isinstance(one, FunctionCall)] == [("look", '{"q": "x"}')]
