"""Names, ids and results of tools. Pure."""

import json
import string

from hypothesis import given
from hypothesis import strategies as st

from assistant.history.items import ToolUse, answer_messages
from assistant.tools import is_object, offered, shortened, with_unique_ids
from assistant.tools.names import MAX_NAME_CHARS, named
from llm.chat import CallExtra, Function, FunctionCall, Message

ALLOWED = frozenset(string.ascii_letters + string.digits + "-_")


def test_tool_name_starts_with_its_server() -> None:
    assert named("home", ["turn on", "weather"]) == {"home_turn_on": "turn on", "home_weather": "weather"}


def test_equal_names_are_made_distinct() -> None:
    names = named("home", ["a b", "a.b", "a_b"])
    assert len(names) == 3
    assert set(names.values()) == {"a b", "a.b", "a_b"}


@given(st.lists(st.text(max_size=80)), st.randoms())
def test_names_are_unique_valid_and_independent_of_order(tools: list[str], rng: object) -> None:
    names = named("server", tools)
    assert sorted(names.values()) == sorted(set(tools))
    assert all(len(name) <= MAX_NAME_CHARS and set(name) <= ALLOWED for name in names)
    assert list(names.items()) == list(named("server", tools[::-1]).items())


def test_client_function_precedes_a_tool_of_the_same_name() -> None:
    ours, theirs = Function("a", "ours", "{}"), Function("a", "theirs", "{}")
    other = Function("b", "", "{}")
    assert offered((ours, other), (theirs,)) == (other,)


def test_every_call_has_a_unique_id() -> None:
    before = [Message("assistant", "", (FunctionCall("call_0", "a", "{}"),))]
    signed = FunctionCall("call_0", "a", "{}", CallExtra("near", '{"signature":"x"}'))
    calls = [signed, FunctionCall("x", "a", "{}"), FunctionCall("", "a", "{}")]
    renamed = with_unique_ids(calls, before)
    ids = [call.call_id for call in renamed]
    assert renamed[0].extra == signed.extra
    assert ids[1] == "x"
    assert len({*ids, "call_0"}) == 4
    assert "" not in ids


@given(st.text())
def test_only_json_objects_are_arguments(text: str) -> None:
    try:
        assert is_object(text) == isinstance(json.loads(text), dict)
    except ValueError:
        assert not is_object(text)


def test_deeply_nested_arguments_are_refused() -> None:
    assert not is_object("[" * 100_000)


def test_long_result_is_cut_with_a_note() -> None:
    assert shortened("x" * 10, 10) == "x" * 10
    assert shortened("x" * 11, 10) == f"{'x' * 10} … (cut: 11 characters, 10 are kept)"


def test_calls_keep_their_position() -> None:
    first, second = FunctionCall("1", "a", "{}"), FunctionCall("2", "b", "{}")
    used = (ToolUse(first, "one", 4), ToolUse(second, "two", 9))
    assert answer_messages("Well And Then.", used) == (
        Message("assistant", "Well", (first,)),
        Message("tool", "one", call_id="1"),
        Message("assistant", "And", (second,)),
        Message("tool", "two", call_id="2"),
        Message("assistant", "Then."),
    )
    assert answer_messages("We", used) == (
        Message("assistant", "We", (first,)),
        Message("tool", "one", call_id="1"),
        Message("assistant", "", (second,)),
        Message("tool", "two", call_id="2"),
    )
    assert answer_messages("", ()) == ()


def test_nonstandard_json_is_refused() -> None:
    assert is_object('{"place": "K\\u00f6ln \\ud83d\\ude00"}')
    for arguments in ('{"x": NaN}', '{"x": -Infinity}', '{"place": "\\ud83d"}', '{"\\udc00": 1}'):
        assert not is_object(arguments)
        (call,) = with_unique_ids([FunctionCall("1", "look", arguments)], [])
        assert call.arguments == "{}"
