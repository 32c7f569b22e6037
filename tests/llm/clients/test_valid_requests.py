"""Every request is valid for the strictest chat templates, whatever a model wrote before."""

import json

import jinja2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.services.chat_templates import HARMONY_CALLS, LLAMA_CALLS, MISTRAL_CALLS
from support.texts.text_cases import text_cases

from llm.answer_text.answer_calls import completed_calls
from llm.answer_text.call_arguments import cleaned_name, repaired_arguments, valid_arguments
from llm.aws.bedrock_turns import Call, Result, Text, conversation_of
from llm.chat import Function, FunctionCall, Message
from llm.openai.messages import messages_json

ENVIRONMENT = jinja2.Environment(trim_blocks=True, autoescape=False)
STRICT_TEMPLATES = [ENVIRONMENT.from_string(template) for template in (MISTRAL_CALLS, LLAMA_CALLS, HARMONY_CALLS)]


def render(template: jinja2.Template, messages: list[dict[str, object]]) -> str:
    """Renders decoded messages as a server does, which raises for what the template refuses."""

    def refuse(why: str) -> None:
        raise jinja2.TemplateError(why)

    decoded = json.loads(json.dumps(messages))
    for message in decoded:
        for call in message.get("tool_calls") or ():
            call["function"]["arguments"] = json.loads(call["function"]["arguments"])
    return template.render(messages=decoded, raise_exception=refuse)


@text_cases(
    ("arguments", "expected"),
    [
        ('{"q": "x"}', '{"q": "x"}'),
        ('{"q": "x"', '{"q": "x"}'),
        ('{"q": ["x", {"n": true', '{"q": ["x", {"n": true}]}'),
        ('{"q":"x"}<|im_end|>', '{"q":"x"}'),
        ('{"q":"x"}</tool_call>', '{"q":"x"}'),
        ('{"q":"x"}{"q":"x"}', '{"q":"x"}'),
        ('{}{"q":"x"}', '{"q":"x"}'),
        ('```json\n{"q":"x"}\n```', '{"q":"x"}'),
        ('"{\\"q\\": \\"x\\"}"', '{"q": "x"}'),
        ("{'q': 'x', 'on': True}", '{"q": "x", "on": true}'),
        ("", "{}"),
        ("null", "{}"),
    ],
)
def test_arguments_are_repaired_if_their_meaning_is_certain(arguments: str, expected: str) -> None:
    assert repaired_arguments(arguments) == expected


@text_cases(
    "arguments",
    ['{"q":"x"}{"q":"y"}', '{"n": 1', '{"q": "x', "[1]", "x", '{"n": NaN}', '{"q": "\\ud800"}', "{" * 5000, '{"q":'],
)
def test_arguments_of_uncertain_meaning_are_replaced(arguments: str) -> None:
    assert repaired_arguments(arguments) is None
    assert valid_arguments(arguments) == "{}"


@text_cases(
    ("name", "expected"),
    [
        ("functions.look", "look"),
        ("look<|channel|>commentary", "look"),
        ("functions.look:0", "look"),
        ("look()", "look"),
        (" Look", "look"),
        ("default_api.look", "look"),
        ("functions.unknown<|x|>", "unknown"),
        ("home.look", "home.look"),
    ],
)
def test_names_of_calls_are_cleaned(name: str, expected: str) -> None:
    assert cleaned_name(name, {"look", "home.look"}) == expected


def test_calls_of_one_answer_have_ids_of_their_own() -> None:
    calls = [FunctionCall("a", "look", "{}"), FunctionCall("a", "look", "{}"), FunctionCall("", "look", "{}")]
    completed = completed_calls(calls, (), (Function("look", "", "{}"),))
    assert len({call.call_id for call in completed}) == len(calls)
    assert completed[0].call_id == "a"


@pytest.mark.parametrize("between", ["", "\n", "</tool_call>\n<tool_call>", ";"])
def test_calls_that_were_put_together_are_separated(between: str) -> None:
    together = FunctionCall("a", "look", between.join(['{"q":"x"}', '{"q":"y"}', '{"q":"x"}', "{}"]))
    completed = completed_calls([together, FunctionCall("b", "look", "{}")], (), (Function("look", "", "{}"),))
    assert [call.arguments for call in completed] == ['{"q":"x"}', '{"q":"y"}', "{}"]
    assert len({call.call_id for call in completed}) == len(completed)


@pytest.mark.parametrize("arguments", ['{"q":"x"}', '{"q":"x"}{"q":"x"}', '{"q":"x"}{"q":', '{"q":"x"} and {"q":"y"}'])
def test_other_arguments_stay_one_call(arguments: str) -> None:
    (call,) = completed_calls([FunctionCall("a", "look", arguments)], (), (Function("look", "", "{}"),))
    assert call.call_id == "a"


ARGUMENTS = ['{"q": "x"}', '{"q": "x"', '{"a":1}{"b":2}', '{"q":"x"}<|im_end|>', "", "nonsense"]
CALLED = st.builds(
    lambda number, said, arguments, answered: (
        Message("assistant", said, (FunctionCall(f"c{number}", "look", arguments),)),
        *([Message("tool", "noon", call_id=f"c{number}")] if answered else []),
    ),
    st.integers(0, 10**6),
    st.sampled_from(["", "I look."]),
    st.sampled_from(ARGUMENTS),
    st.booleans(),
)
SAID = st.builds(
    lambda role, text: (Message(role, text),),
    st.sampled_from(["user", "assistant"]),
    st.sampled_from(["Hi.", "", "No."]),
)
ORPHAN = st.just((Message("tool", "late", call_id="nobody"),))


@given(st.lists(st.one_of(SAID, CALLED, ORPHAN), max_size=10))
def test_strict_templates_accept_every_conversation(parts: list[tuple[Message, ...]]) -> None:
    conversation = [Message("system", "Be brief."), *(message for part in parts for message in part)]
    messages = messages_json([*conversation, Message("user", "And now?")], "near")
    for template in STRICT_TEMPLATES:
        render(template, messages)


def test_text_and_call_of_one_answer_are_one_message() -> None:
    call = FunctionCall("c1", "look", '{"q": "x"')
    conversation = [
        Message("user", "Look."),
        Message("assistant", "I look."),
        Message("assistant", "", (call,)),
        Message("tool", "noon", call_id="c1"),
        Message("assistant", "Noon."),
    ]
    asked, called, result, *_ = messages_json(conversation, "near")
    assert (asked["role"], called["content"], result["role"]) == ("user", "I look.", "tool")
    bedrock = conversation_of(conversation).turns
    assert bedrock[1].blocks == [Text("I look."), Call("c1", "look", {"q": "x"})]
    assert bedrock[2].blocks[0] == Result("c1", "noon")
