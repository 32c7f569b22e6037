"""Conversations are converted to a form that Bedrock accepts."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm.aws.bedrock_request import BedrockOptions, anthropic_body, converse_body
from llm.aws.bedrock_turns import Call, Result, RoleTurn, Text, conversation_of
from llm.chat import PLAIN, FunctionCall, Image, Message


def test_greeting_follows_placeholder_user_message() -> None:
    turns = conversation_of([Message("system", "Be brief."), Message("assistant", "Hello!")]).turns
    assert [(turn.role, turn.blocks) for turn in turns] == [
        ("user", [Text("…")]),
        ("assistant", [Text("Hello!")]),
        ("user", [Text("…")]),
    ]


def test_speaker_is_named_before_the_words() -> None:
    assert conversation_of([Message("user", "Hello.", speaker="S2")]).turns == (
        RoleTurn("user", [Text("[S2] Hello.")]),
    )


def test_results_follow_their_calls() -> None:
    call, lost = FunctionCall("c 1", "weather", '{"city":"Ulm"}'), FunctionCall("c2", "time", "nonsense")
    conversation = conversation_of(
        [
            Message("user", "Weather?"),
            Message("assistant", "See.", (call, lost)),
            Message("user", "Hurry."),
            Message("tool", "stray", call_id="c9"),
            Message("tool", "sunny", call_id="c 1"),
            Message("assistant", "Sunny."),
        ]
    )
    assert conversation.turns == (
        RoleTurn("user", [Text("Weather?")]),
        RoleTurn("assistant", [Text("See."), Call("c_1", "weather", {"city": "Ulm"})]),
        RoleTurn("user", [Result("c_1", "sunny"), Text("Hurry.")]),
        RoleTurn("assistant", [Text("Sunny.")]),
        RoleTurn("user", [Text("…")]),
    )
    assert conversation.called == ("weather",)


def test_too_deeply_nested_arguments_become_empty() -> None:
    call = FunctionCall("c", "weather", "[" * 100_000)
    asked = [Message("user", "Weather?"), Message("assistant", "", (call,)), Message("tool", "no", call_id="c")]
    assert conversation_of(asked).turns[1].blocks == [Call("c", "weather", {})]


@pytest.mark.parametrize("content", ["", " ", "\n\t", "\N{NO-BREAK SPACE}"], ids=("none", "space", "lines", "nbsp"))
def test_empty_tool_result_is_sent_as_text(content: str) -> None:
    call = FunctionCall("c", "lights_off", "{}")
    messages = [
        Message("user", "Lights off."),
        Message("assistant", content, (call,)),
        Message("tool", content, call_id="c"),
    ]
    sent = converse_body(messages, PLAIN, BedrockOptions())["messages"]
    assert isinstance(sent, list)
    assert [block for turn in sent for block in turn["content"]] == [
        {"text": "Lights off."},
        {"toolUse": {"toolUseId": "c", "name": "lights_off", "input": {}}},
        {"toolResult": {"toolUseId": "c", "content": [{"text": "(no output)"}]}},
    ]
    sent = anthropic_body(messages, PLAIN, BedrockOptions())["messages"]
    assert isinstance(sent, list)
    assert sent[-1]["content"] == [{"type": "tool_result", "tool_use_id": "c", "content": "(no output)"}]


IDS = st.sampled_from(["a", "b", "c"])
CALLS = st.lists(st.builds(FunctionCall, IDS, st.just("f"), st.sampled_from(["{}", "", "[]", "{"])), max_size=2)
WORDS = st.sampled_from(["", " ", "Hi", "no"])
MESSAGES = st.one_of(
    st.builds(Message, st.sampled_from(["system", "user"]), WORDS),
    st.builds(Message, st.just("assistant"), WORDS, CALLS.map(tuple)),
    st.builds(Message, st.just("tool"), WORDS, call_id=IDS),
)


@given(st.lists(MESSAGES, max_size=12))
def test_any_conversation_follows_service_rules(messages: list[Message]) -> None:
    conversation = conversation_of(messages)
    turns = conversation.turns
    assert turns[0].role == "user"
    assert all(turn.blocks for turn in turns)
    assert all(one.role != other.role for one, other in pairwise(turns))
    assert all(text.strip() for text in (*conversation.leading_system, *conversation.later_system))
    said = [block.text for turn in turns for block in turn.blocks if not isinstance(block, Call | Image)]
    assert all(text.strip() for text in said)
    for turn, following in pairwise((*turns, RoleTurn("user"))):
        called = [block.call_id for block in turn.blocks if isinstance(block, Call)]
        results = [block.call_id for block in following.blocks if isinstance(block, Result)]
        if turn.role == "assistant":
            assert results == called
            assert following.blocks[: len(results)] == [b for b in following.blocks if isinstance(b, Result)]
