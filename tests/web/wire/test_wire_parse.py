"""Parsing of valid and invalid client events."""

import base64
import json
import re
from dataclasses import replace
from typing import Any, get_args

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from assistant.history.items import (
    AssistantMessage,
    FunctionCallItem,
    FunctionOutput,
    ItemId,
    SystemMessage,
    UserMessage,
)
from assistant.home.client_home import SentState
from assistant.turns.events import ReplyId
from web.wire.incoming.commands import (
    Append,
    CancelBackground,
    CancelResponse,
    ChangeTimer,
    ClearInput,
    ClearOutput,
    Command,
    CommitInput,
    CreateItem,
    CreateResponse,
    DeleteItem,
    EndHomeCall,
    PlayoutReport,
    RemoveListItems,
    ReportWakeWord,
    ResponseOptions,
    RetrieveItem,
    TruncateItem,
    UpdateHomeStates,
    UpdateSession,
)
from web.wire.incoming.parse import CLIENT_EVENTS, MAX_APPEND_BYTES, Reader
from web.wire.values.errors import ProtocolError
from web.wire.values.reply_ids import UNKNOWN_REPLY
from web.wire.values.session_config import AudioFormat, SessionConfig

Json = dict[str, Any]
CONFIG = SessionConfig()
SECRET = "the words that somebody said"


def read(event: object, config: SessionConfig = CONFIG) -> Command | ProtocolError:
    return Reader(config, "en").read(event if isinstance(event, str) else json.dumps(event))


def error_of(event: object, config: SessionConfig = CONFIG) -> ProtocolError:
    found = read(event, config)
    assert isinstance(found, ProtocolError), found
    return found


def message(role: str, part: str, text: str = SECRET) -> Json:
    return {"type": "message", "role": role, "content": [{"type": part, "text": text}]}


def create(item: Json) -> Json:
    return {"type": "conversation.item.create", "event_id": "e", "item": item}


AUDIO = base64.b64encode(b"\x01\x02\x03\x04").decode()
GOOD: list[tuple[Json, Command]] = [
    ({"type": "input_audio_buffer.append", "audio": AUDIO}, Append(None, b"\x01\x02\x03\x04", AudioFormat.PCM)),
    ({"type": "input_audio_buffer.append", "audio": "", "event_id": "e"}, Append("e", b"", AudioFormat.PCM)),
    ({"type": "input_audio_buffer.commit", "event_id": "e"}, CommitInput("e")),
    ({"type": "input_audio_buffer.clear"}, ClearInput(None)),
    ({"type": "output_audio_buffer.clear"}, ClearOutput(None)),
    ({"type": "repartee.cancel_background"}, CancelBackground(None)),
    ({"type": "repartee.timer", "id": 3, "action": "snooze"}, ChangeTimer(None, 3, "snooze")),
    ({"type": "repartee.list", "remove": ["a", "b"]}, RemoveListItems(None, ("a", "b"))),
    (
        {"type": "repartee.wake_word.heard", "level_dbfs": -31.5, "audio_end_ms": 1200},
        ReportWakeWord(None, -31.5, 1200),
    ),
    ({"type": "repartee.home.result", "call_id": "home_1"}, EndHomeCall(None, "home_1", None, ())),
    (
        {"type": "repartee.home.result", "call_id": "home_1", "error": "refused", "states": []},
        EndHomeCall(None, "home_1", "refused", ()),
    ),
    (
        {"type": "repartee.home.states", "states": [{"id": "light.a", "state": "on", "attributes": {"brightness": 9}}]},
        UpdateHomeStates(None, (SentState("light.a", "on", {"brightness": 9}),)),
    ),
    (create(message("user", "input_text")), CreateItem("e", UserMessage(ItemId(""), SECRET, spoken=False), None)),
    (
        {**create({"id": "mine", **message("system", "input_text")}), "previous_item_id": "root"},
        CreateItem("e", SystemMessage(ItemId("mine"), SECRET), ItemId("root")),
    ),
    (
        create({"object": "realtime.item", "status": "completed", **message("assistant", "output_text")})
        | {"previous_item_id": None},
        CreateItem("e", AssistantMessage(ItemId(""), SECRET), None),
    ),
    (
        create({"type": "message", "role": "user", "content": [
            {"type": "input_text", "text": "a"}, {"type": "input_text", "text": "b"}]}),
        CreateItem("e", UserMessage(ItemId(""), "a\nb", spoken=False), None),
    ),
    (
        create({"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}),
        CreateItem("e", FunctionCallItem(ItemId(""), "c", "f", "{}"), None),
    ),
    (
        create({"type": "function_call_output", "call_id": "c", "output": SECRET}),
        CreateItem("e", FunctionOutput(ItemId(""), "c", SECRET), None),
    ),
    ({"type": "conversation.item.retrieve", "item_id": "i"}, RetrieveItem(None, ItemId("i"))),
    ({"type": "conversation.item.delete", "item_id": "i"}, DeleteItem(None, ItemId("i"))),
    (
        {"type": "conversation.item.truncate", "item_id": "i", "content_index": 0, "audio_end_ms": 20.0},
        TruncateItem(None, ItemId("i"), 20),
    ),
    ({"type": "response.create"}, CreateResponse(None, ResponseOptions())),
    (
        {"type": "response.create", "response": {"instructions": SECRET, "max_output_tokens": 5, "conversation": "auto",
                                                 "output_modalities": ["text"], "metadata": {"a": "b"}}},
        CreateResponse(
            None,
            ResponseOptions(instructions=SECRET, modality="text", max_output_tokens=5, metadata={"a": "b"}),
        ),
    ),
    ({"type": "response.cancel"}, CancelResponse(None, None)),
    ({"type": "response.cancel", "response_id": "resp_12_3"}, CancelResponse(None, ReplyId(12, 3))),
    ({"type": "response.cancel", "response_id": "resp_of_theirs"}, CancelResponse(None, UNKNOWN_REPLY)),
    (
        {"type": "repartee.playout", "response_id": "resp_1_2", "played_ms": 20, "finished": True, "latency_ms": 300.5},
        PlayoutReport(None, ReplyId(1, 2), 20.0, True, 300.5, None),
    ),
    (
        {"type": "session.update", "session": {"type": "realtime"}},
        UpdateSession(None, CONFIG),
    ),
]  # fmt: skip


@pytest.mark.parametrize(("event", "command"), GOOD, ids=[f"{event['type']} {n}" for n, (event, _) in enumerate(GOOD)])
def test_valid_event_is_parsed(event: Json, command: Command) -> None:
    assert read(event) == command


def test_valid_events_cover_all_commands() -> None:
    assert {type(command) for _, command in GOOD} == set(get_args(Command))
    assert {event["type"] for event, _ in GOOD} == set(CLIENT_EVENTS)


BAD: list[tuple[object, str, str | None, str]] = [
    ("", "invalid_json", None, "not JSON: an error at character 0"),
    ("{", "invalid_json", None, "at character 1"),
    ("[" * 100_000, "invalid_json", None, "too deep"),
    ('{"type": ' + "1" * 5000 + "}", "invalid_json", None, "a number is too long"),
    ('{"type": NaN}', "invalid_json", None, "cannot be read"),
    ('{"type": "x", "a": "\\ud800"}', "invalid_json", None, "half a character"),
    ('{"type": "x", "a": "\ud800"}', "invalid_json", None, "half a character"),
    ('{"type": "x", "\\uDfff": 1}', "invalid_json", None, "half a character"),
    ([], "invalid_type", None, "the event is a list; it must be an object"),
    ("null", "invalid_type", None, "the event is null"),
    ({}, "missing_required_parameter", "type", "type is missing"),
    ({"type": 7}, "invalid_type", "type", "type is a number; it must be a string"),
    ({"type": "response.creat"}, "invalid_value", "type", "type is 'response.creat'; allowed: .*'response.create'"),
    ({"type": "x" * 500}, "invalid_value", "type", "x…; allowed"),
    ({"type": "response.cancel", "event_id": 5}, "invalid_type", "event_id", "a number; it must be a string"),
    ({"type": "response.cancel", "event_id": "x" * 513}, "invalid_value", "event_id", "has 513 characters"),
    ({"type": "input_audio_buffer.commit", "item": 1}, "unknown_parameter", "item", "allowed are event_id, type"),
    ({"type": "input_audio_buffer.append"}, "missing_required_parameter", "audio", "audio is missing"),
    ({"type": "input_audio_buffer.append", "audio": 5}, "invalid_type", "audio", "a number; it must be a string in"),
    ({"type": "input_audio_buffer.append", "audio": "AAA"}, "invalid_base64", "audio", "is not base64"),
    ({"type": "input_audio_buffer.append", "audio": "AA A="}, "invalid_base64", "audio", "is not base64"),
    ({"type": "input_audio_buffer.append", "audio": "ÄÖÜß"}, "invalid_base64", "audio", "is not base64"),
    ({"type": "input_audio_buffer.append", "audio": "AQID"}, "invalid_value", "audio", "has 3 bytes; .* two bytes"),
    ({"type": "conversation.item.retrieve"}, "missing_required_parameter", "item_id", "item_id is missing"),
    ({"type": "conversation.item.delete", "item_id": ""}, "invalid_value", "item_id", "0 characters; allowed: 1 to"),
    (
        {"type": "conversation.item.truncate", "item_id": "i", "content_index": 1, "audio_end_ms": 0},
        "invalid_value", "content_index", "is 1; allowed: 0 to 0",
    ),
    (
        {"type": "conversation.item.truncate", "item_id": "i", "content_index": 0, "audio_end_ms": 0.5},
        "invalid_value", "audio_end_ms", "is 0.5; allowed: whole numbers",
    ),
    (
        {"type": "conversation.item.truncate", "item_id": "i", "content_index": 0, "audio_end_ms": True},
        "invalid_type", "audio_end_ms", "is true; it must be a number",
    ),
    (create([]), "invalid_type", "item", "item is a list"),  # type: ignore[arg-type]
    (create({}), "missing_required_parameter", "item.type", "item.type is missing"),
    (create({"type": "mcp_call"}), "missing_required_parameter", "item.server_label", "is missing"),
    (create({"type": "message"}), "missing_required_parameter", "item.role", "item.role is missing"),
    (create({"type": "message", "role": "tool"}), "invalid_value", "item.role", "is 'tool'; allowed: 'user', "),
    (create({"type": "message", "role": "user"}), "missing_required_parameter", "item.content", "is missing"),
    (
        create({"type": "message", "role": "user", "content": []}),
        "invalid_value", "item.content", "has 0 entries; allowed: 1 to 64",
    ),
    (
        create({"type": "message", "role": "user", "content": [{"type": "input_audio", "audio": SECRET}]}),
        "invalid_base64", r"item.content[0].audio", "is not base64",
    ),
    (
        create({"type": "message", "role": "user", "content": [{"type": "input_image", "image_url": SECRET}]}),
        "not_supported", r"item.content[0].type", "images",
    ),
    (create(message("assistant", "input_text")), "invalid_value", "item.content[0].type", "allowed: 'output_text'"),
    (create(message("user", "input_text", "")), "invalid_value", "item.content[0].text", "0 characters"),
    (create(message("user", "input_text", "  ")), "invalid_value", "item.content", "is blank"),
    (create({"type": "function_call_output", "output": SECRET}), "missing_required_parameter", "item.call_id", ""),
    (create({"type": "function_call_output", "call_id": "c", "output": 5}), "invalid_type", "item.output", ""),
    (create({"type": "message", "text": SECRET, "role": "user"}), "unknown_parameter", "item.text", "'item.text'"),
    ({"type": "response.create", "response": 5}, "invalid_type", "response", "a number; it must be an object"),
    ({"type": "response.create", "response": {"conversation": "c"}}, "invalid_value", "response.conversation", "none"),
    ({"type": "response.create", "response": {"input": "hello"}}, "invalid_type", "response.input", "a list"),
    (
        {"type": "response.create", "response": {"input": [{"type": "item_reference"}]}},
        "missing_required_parameter", r"response.input[0].id", "",
    ),
    (
        {"type": "response.create", "response": {"input": [{"type": "mcp_call"}]}},
        "missing_required_parameter", r"response.input[0].server_label", "",
    ),
    ({"type": "repartee.playout", "response_id": "resp_1"}, "invalid_value", "response_id", "allowed: the id"),
    ({"type": "repartee.playout", "response_id": "resp_1_٣"}, "invalid_value", "response_id", "allowed: the id"),
    ({"type": "repartee.playout", "response_id": "resp_1_1"}, "missing_required_parameter", "played_ms", ""),
    (
        '{"type": "repartee.playout", "response_id": "resp_1_1", "played_ms": 1e999}',
        "invalid_value", "played_ms", "is inf",
    ),
    (
        {"type": "repartee.playout", "response_id": "resp_1_1", "played_ms": 10**400},
        "invalid_value", "played_ms", "…; allowed: 0 to",
    ),
]  # fmt: skip


BAD_OPTIONS: list[tuple[Json, str, str, str]] = [
    ({"metadata": {"a": 1}}, "invalid_type", "response.metadata.a", ""),
    ({"metadata": []}, "invalid_type", "response.metadata", ""),
    ({"metadata": {str(n): "" for n in range(17)}}, "invalid_value", "response.metadata", "16 entries"),
    ({"tool_choice": {"type": "function", "name": "f"}}, "invalid_value", "response.tool_choice",
     "not among the tools; allowed: none"),
]  # fmt: skip


@pytest.mark.parametrize(("response", "code", "param", "text"), BAD_OPTIONS, ids=[row[2] for row in BAD_OPTIONS])
def test_invalid_response_option_is_left_out(response: Json, code: str, param: str, text: str) -> None:
    found = read({"type": "response.create", "response": response})
    assert isinstance(found, CreateResponse)
    assert found.options == ResponseOptions()
    (error,) = found.refused
    assert (error.code, error.param) == (code, param)
    assert re.search(text, error.message), error.message


@pytest.mark.parametrize(("event", "code", "param", "text"), BAD, ids=[f"{n}:{row[1]}" for n, row in enumerate(BAD)])
def test_invalid_event_is_refused(event: object, code: str, param: str | None, text: str) -> None:
    found = error_of(event)
    assert (found.code, found.param) == (code, param)
    assert re.search(text, found.message), found.message
    assert found.kind == "invalid_request_error"
    if isinstance(event, dict) and event.get("type") in CLIENT_EVENTS:
        assert found.message.startswith(f"{event['type']}: ")
    if isinstance(event, dict):
        assert str(event.get("audio") or SECRET) not in found.message
        given_id = event.get("event_id")
        assert found.event_id == (given_id if isinstance(given_id, str) and len(given_id) <= 512 else None)


def test_g711_audio_may_have_odd_length() -> None:
    event = {"type": "input_audio_buffer.append", "audio": "AQID"}
    assert read(event, SessionConfig(input_format=AudioFormat.ALAW)) == Append(None, b"\x01\x02\x03", AudioFormat.ALAW)


def test_append_is_limited_to_fifteen_megabytes() -> None:
    sound = base64.b64encode(bytes(MAX_APPEND_BYTES)).decode()
    taken = read({"type": "input_audio_buffer.append", "audio": sound})
    assert isinstance(taken, Append)
    assert len(taken.audio) == MAX_APPEND_BYTES
    refused = error_of({"type": "input_audio_buffer.append", "audio": sound + "AAAA"})
    assert (refused.code, refused.param) == ("string_above_max_length", "audio")


def test_non_ascii_characters_are_accepted() -> None:
    event = create(message("user", "input_text", "Grüße 😀"))
    for text in (json.dumps(event), json.dumps(event, ensure_ascii=False)):
        found = read(text)
        assert isinstance(found, CreateItem)
        assert found.item == UserMessage(ItemId(""), "Grüße 😀", spoken=False)


# ---- arbitrary input ----

LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8), st.just("\ud800"), st.just(10**400),
    st.sampled_from(["inf", "auto", "message", "user", "resp_1_1", "realtime", "audio/pcm", "AQID"]),
)  # fmt: skip
NAMES = st.sampled_from(
    ["type", "event_id", "session", "audio", "item", "item_id", "content", "response", "tools", "tool_choice", "x"]
)
JSON: st.SearchStrategy[object] = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4), max_leaves=12
)
RICH: Json = {
    "type": "session.update",
    "session": {
        "type": "realtime",
        "instructions": SECRET,
        "audio": {
            "input": {"format": {"type": "audio/pcmu"}, "transcription": {"model": "m"},
                      "turn_detection": {"type": "server_vad", "silence_duration_ms": 300}},
            "output": {"voice": "amy", "speed": 1.0, "format": {"type": "audio/pcm", "rate": 24_000}},
        },
        "tools": [{"type": "function", "name": "f", "parameters": {"type": "object"}}],
        "tool_choice": {"type": "function", "name": "f"},
        "max_output_tokens": "inf",
        "repartee": {"duck": True},
    },
}  # fmt: skip


def never_raises(text: str) -> None:
    found = Reader(CONFIG, "en").read(text)
    if isinstance(found, ProtocolError):
        assert found.message
        assert SECRET not in found.message
        json.dumps(found.message).encode()
        assert found.message.isprintable()
    else:
        assert isinstance(found, get_args(Command))


@given(st.text())
@example("﻿{}")
@example('{"type":"session.update","session":{"tools":[{"name":"f","parameters":' + '{"a":' * 200 + "1" + "}" * 204)
@example('{"type":"session.update","session":{"tools":[{"name":"f","parameters":{"a":1e999}}]}}')
def test_any_text_is_parsed_without_exception(text: str) -> None:
    never_raises(text)


@given(JSON)
def test_any_json_is_parsed_without_exception(value: object) -> None:
    never_raises(json.dumps(value))


@given(st.sampled_from(CLIENT_EVENTS), st.dictionaries(NAMES, JSON, max_size=4))
def test_any_fields_are_parsed_without_exception(kind: str, fields: Json) -> None:
    never_raises(json.dumps({**fields, "type": kind}))


@given(st.data())
def test_corrupted_events_are_parsed_without_exception(data: st.DataObject) -> None:
    event = json.loads(json.dumps(data.draw(st.sampled_from([RICH, *(event for event, _ in GOOD)]))))
    for _ in range(data.draw(st.integers(1, 3))):
        place: Any = event
        while isinstance(place, dict | list) and place:
            key: Any = data.draw(st.sampled_from(sorted(place) if isinstance(place, dict) else list(range(len(place)))))
            if not isinstance(place[key], dict | list) or not place[key] or data.draw(st.booleans()):
                if data.draw(st.booleans()):
                    place[key] = data.draw(JSON)
                else:
                    del place[key]
                break
            place = place[key]
    never_raises(json.dumps(event))


@given(st.data())
def test_truncated_message_is_parsed_without_exception(data: st.DataObject) -> None:
    text = json.dumps(data.draw(st.sampled_from([RICH, *(event for event, _ in GOOD)])))
    never_raises(text[: data.draw(st.integers(0, len(text) - 1))])


def test_repeated_append_is_decoded_for_the_present_format() -> None:
    reader, append = Reader(CONFIG, "en"), json.dumps({"type": "input_audio_buffer.append", "audio": AUDIO})
    first = reader.read(append)
    assert reader.read(append) == first == Append(None, b"\x01\x02\x03\x04", AudioFormat.PCM)
    reader.config = replace(CONFIG, input_format=AudioFormat.ULAW)
    assert reader.read(append) == Append(None, b"\x01\x02\x03\x04", AudioFormat.ULAW)
