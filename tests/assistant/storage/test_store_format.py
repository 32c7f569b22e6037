"""Tests of the file format: round trips and damaged files."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.texts.text_cases import named_cases

from assistant.history.items import (
    AssistantMessage,
    FunctionCallItem,
    FunctionOutput,
    Item,
    ItemId,
    SystemMessage,
    ToolUse,
    UserMessage,
)
from assistant.storage.store_format import Heading, NewerVersionError, heading_line, item_lines, parse_conversation
from llm.chat import FunctionCall

HEADING = Heading("2026-01-31T09:30:00+00:00", "20260131-083000-abcd")
TEXTS = st.text(st.characters(), max_size=30)  # half surrogate pairs, line ends and NUL included
IDS = st.builds(ItemId, TEXTS)
CALLS = st.builds(FunctionCall, TEXTS, TEXTS, TEXTS)
ITEMS: st.SearchStrategy[Item] = st.one_of(
    st.builds(UserMessage, IDS, TEXTS, st.booleans(), st.booleans(), speaker=TEXTS),
    st.builds(SystemMessage, IDS, TEXTS),
    st.builds(
        AssistantMessage,
        IDS,
        TEXTS,
        st.booleans(),
        st.lists(st.builds(ToolUse, CALLS, TEXTS, st.integers(0, 999)), max_size=2).map(tuple),
        TEXTS,
    ),
    st.builds(FunctionCallItem, IDS, TEXTS, TEXTS, TEXTS),
    st.builds(FunctionOutput, IDS, TEXTS, TEXTS),
)
HISTORIES = st.lists(ITEMS, max_size=6).map(tuple)


@given(HISTORIES)
def test_any_history_survives_a_round_trip(items: tuple[Item, ...]) -> None:
    found = parse_conversation(heading_line(HEADING) + item_lines(items))
    assert (found.heading, found.items, found.lost) == (HEADING, items, 0)


@given(HISTORIES, st.floats(0, 1))
def test_truncated_file_is_read_up_to_its_last_whole_line(items: tuple[Item, ...], share: float) -> None:
    content = heading_line(HEADING) + item_lines(items)
    cut = content[: round(share * len(content))]
    whole = cut.count(b"\n")
    found = parse_conversation(cut)
    assert found.items == items[: max(0, whole - 1)]
    assert found.lost == (bool(cut) and not cut.endswith(b"\n"))


@given(HISTORIES, st.binary(max_size=40), st.integers(0, 6))
def test_invalid_line_does_not_affect_others(items: tuple[Item, ...], noise: bytes, place: int) -> None:
    lines = [heading_line(HEADING), *(item_lines([item]) for item in items)]
    place = min(place + 1, len(lines))
    broken = b"{" + noise.replace(b"\n", b"") + b"\n"
    found = parse_conversation(b"".join([*lines[:place], broken, *lines[place:]]))
    assert (found.items, found.lost) == (items, 1)


@given(st.binary(max_size=200))
def test_any_content_can_be_parsed(content: bytes) -> None:
    parse_conversation(content)


@named_cases(
    "line",
    {
        "list": b"[]",
        "number": b"1",
        "empty": b"{}",
        "number as text": b'{"said":1,"id":"a","spoken":true}',
        "number as boolean": b'{"said":"a","id":"a","spoken":1}',
        "object as tool calls": b'{"answered":"a","id":"a","used":{}}',
        "incomplete tool call": (
            b'{"answered":"a","id":"a","used":[{"called":"f","call_id":"c","arguments":"","output":"","at":"1"}]}'
        ),
        "number as tool call": b'{"answered":"a","id":"a","used":[1]}',
        "unknown kind": b'{"other":"a","id":"a"}',
        "deeply nested": b"[" * 100_000,
    },
)
def test_invalid_item_is_counted(line: bytes) -> None:
    assert parse_conversation(heading_line(HEADING) + line + b"\n").lost == 1


def test_newer_version_is_rejected() -> None:
    with pytest.raises(NewerVersionError, match="version 99"):
        parse_conversation(b'{"conversation":99,"began_at":"","continues":""}\n')


def test_format_is_readable() -> None:
    assert item_lines([UserMessage(ItemId("item_1"), "wie spät ist es", spoken=True)]).decode() == (
        '{"said":"wie spät ist es","id":"item_1","spoken":true}\n'
    )
