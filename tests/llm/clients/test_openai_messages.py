"""Conversations as request bodies of chat completions."""

import json

from llm.chat import CallExtra, FunctionCall, Message
from llm.openai.messages import messages_json


def test_messages_alternate_and_calls_keep_results() -> None:
    call = FunctionCall("c1", "time", '{"zone":"UTC"}')
    conversation = [
        Message("system", "Be brief."),
        Message("assistant", "Hello."),
        Message("user", "What time is it?"),
        Message("assistant", "", (call,)),
        Message("tool", "noon", call_id="c1"),
        Message("assistant", "Noon."),
        Message("assistant", "Your timer is up."),
        Message("user", "Thanks."),
    ]
    function = {"name": "time", "arguments": '{"zone":"UTC"}'}
    assert messages_json(conversation, "near") == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "…"},
        {"role": "assistant", "content": "Hello."},
        {"role": "user", "content": "What time is it?"},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "type": "function", "function": function}]},
        {"role": "tool", "tool_call_id": "c1", "content": "noon"},
        {"role": "assistant", "content": "Noon.\n\nYour timer is up."},
        {"role": "user", "content": "Thanks."},
    ]


def test_parallel_calls_share_one_message() -> None:
    signed = {"google": {"thought_signature": "CpcBAXLI2nw="}}
    first = FunctionCall("a", "weather", '{"city":"Paris"}', CallExtra("near", json.dumps({"extra_content": signed})))
    second = FunctionCall("b", "weather", '{"city":"London"}')
    called, *results = messages_json(
        [
            Message("user", "Weather?"),
            Message("assistant", "", (first, second)),
            Message("tool", "sunny", call_id="a"),
            Message("tool", "rainy", call_id="b"),
        ],
        "near",
    )[1:]
    assert called["tool_calls"] == [
        {
            "extra_content": signed,
            "id": "a",
            "type": "function",
            "function": {"name": "weather", "arguments": '{"city":"Paris"}'},
        },
        {"id": "b", "type": "function", "function": {"name": "weather", "arguments": '{"city":"London"}'}},
    ]
    assert [result["tool_call_id"] for result in results] == ["a", "b"]


def test_call_extra_is_sent_to_its_endpoint_only() -> None:
    signed = {"google": {"thought_signature": "CpcBAXLI2nw="}}
    call = FunctionCall("c1", "time", "{}", CallExtra("near", json.dumps({"extra_content": signed})))
    bare = {"id": "c1", "type": "function", "function": {"name": "time", "arguments": "{}"}}
    message = Message("assistant", "", (call,))
    assert messages_json([message], "near")[1]["tool_calls"] == [{"extra_content": signed, **bare}]
    assert messages_json([message], "far")[1]["tool_calls"] == [bare]


def test_blank_messages_are_dropped() -> None:
    call = FunctionCall("c1", "lights_off", "{}")
    conversation = [
        Message("system", ""),
        Message("user", "Lights off."),
        Message("assistant", " \n", (call,)),
        Message("tool", "", call_id="c1"),
        Message("assistant", ""),
        Message("user", "Thanks."),
    ]
    function = {"name": "lights_off", "arguments": "{}"}
    assert messages_json(conversation, "near") == [
        {"role": "user", "content": "Lights off."},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "type": "function", "function": function}]},
        {"role": "tool", "tool_call_id": "c1", "content": "(no output)"},
        {"role": "assistant", "content": "…"},
        {"role": "user", "content": "Thanks."},
    ]
