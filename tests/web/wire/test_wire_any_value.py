"""Any value in any field of an event gives a command or an error: no event of a client ends its session."""

import copy
import json
from collections.abc import Iterator
from typing import Any, get_args

import pytest

from assistant.config.mcp_hosts import McpHosts
from web.wire.incoming.commands import Command
from web.wire.incoming.parse import Reader
from web.wire.values.errors import ProtocolError
from web.wire.values.session_config import SessionConfig, SessionKind, SessionOffer

OFFER = SessionOffer(prompts={"support": "You help customers of {{company}}."}, images=True)

VALUES: tuple[object, ...] = (
    None, True, 0, -1, 2.5, 1e300, 2**70, "", "x", "\x00",
    [], ["x"], [[]], [{}], {}, {"type": {}}, {"type": []}, {"x": {}},
)  # fmt: skip

AUDIO_INPUT = {
    "format": {"type": "audio/pcm", "rate": 24_000},
    "noise_reduction": {"type": "near_field", "strength": 1},
    "transcription": {"model": "m", "language": "en", "prompt": ""},
    "turn_detection": {"type": "server_vad", "threshold": 0.5, "silence_duration_ms": 300},
}
TOOLS = [
    {"type": "function", "name": "f", "description": "", "parameters": {"type": "object"}},
    {
        "type": "mcp",
        "server_label": "s",
        "server_url": "https://mcp.example/",
        "headers": {"X-A": "b"},
        "allowed_tools": {"tool_names": ["t"], "read_only": True},
        "require_approval": {"always": {"tool_names": ["t"]}, "never": {"read_only": True}},
    },
]
CONTENT: dict[str, Any] = {
    "user": [
        {"type": "input_text", "text": "hello"},
        {"type": "input_audio", "audio": "AAAAAAAA", "transcript": "hello"},
        {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo=", "detail": "low"},
    ],
    "assistant": [{"type": "output_audio", "audio": "AAAAAAAA", "transcript": "hello"}],
    "system": [{"type": "input_text", "text": "hello"}],
}
ITEMS: list[dict[str, Any]] = [
    *({"id": "i1", "type": "message", "role": role, "content": content} for role, content in CONTENT.items()),
    {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "c", "output": "42"},
    {"type": "mcp_approval_response", "approval_request_id": "a", "approve": True, "reason": "yes"},
    {
        "type": "mcp_call",
        "id": "m",
        "server_label": "s",
        "name": "t",
        "arguments": "{}",
        "error": {"type": "http_error", "message": "no"},
    },
    {"type": "mcp_list_tools", "id": "l", "server_label": "s", "tools": [{"name": "t", "input_schema": {}}]},
]
RESPONSE = {
    "conversation": "none",
    "input": [*ITEMS[1:], {"type": "item_reference", "id": "i1"}],
    "instructions": "Be kind.",
    "max_output_tokens": 100,
    "metadata": {"a": "b"},
    "output_modalities": ["text"],
    "audio": {"output": {"format": {"type": "audio/pcm", "rate": 24_000}, "voice": "amy"}},
    "prompt": {"id": "support", "variables": {"company": {"type": "input_text", "text": "us"}}},
    "tool_choice": {"type": "function", "name": "f"},
    "tools": TOOLS,
}
SESSION = {
    "type": "realtime",
    "include": ["item.input_audio_transcription.logprobs"],
    "instructions": "Be kind.",
    "audio": {
        "input": AUDIO_INPUT,
        "output": {"voice": {"id": "amy"}, "speed": 1.0, "format": {"type": "audio/pcm", "rate": 24_000}},
    },
    "max_output_tokens": "inf",
    "output_modalities": ["audio"],
    "prompt": {"id": "support", "variables": {"company": "us"}},
    "repartee": {
        "events": True, "interrupt_after_ms": 100, "wake_phrase": "hey you", "room": "Kitchen",
        "conversation": {"browser": "b" * 40, "id": "conv_1"},
        "home": {
            "allow": ["lock"],
            "floors": [{"name": "Ground floor", "aliases": ["down"]}],
            "areas": [{"name": "Kitchen", "aliases": ["galley"], "floor": "Ground floor"}],
            "entities": [{"id": "light.a", "name": "A", "aliases": ["B"], "area": "Kitchen", "state": "on",
                "attributes": {"brightness": 3}}],
        },
    },
    "tool_choice": {"type": "mcp", "server_label": "s", "name": "t"},
    "tools": TOOLS,
    "tracing": {"workflow_name": "w", "group_id": "g", "metadata": {"team": 7}},
    "truncation": {"type": "retention_ratio", "retention_ratio": 0.8, "token_limits": {"post_instructions": 500}},
}  # fmt: skip
TRANSCRIPTION = {"type": "transcription", "audio": {"input": AUDIO_INPUT}}

EVENTS: list[dict[str, Any]] = [
    {"type": "session.update", "event_id": "e", "session": SESSION},
    {"type": "session.update", "session": TRANSCRIPTION},
    {"type": "response.create", "event_id": "e", "response": RESPONSE},
    {"type": "response.cancel", "response_id": "resp_1"},
    *({"type": "conversation.item.create", "previous_item_id": "root", "item": item} for item in ITEMS),
    {"type": "conversation.item.truncate", "item_id": "i1", "content_index": 0, "audio_end_ms": 10},
    {"type": "conversation.item.delete", "item_id": "i1"},
    {"type": "conversation.item.retrieve", "item_id": "i1"},
    {"type": "input_audio_buffer.append", "audio": "AAAAAAAA"},
]


def changed(event: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yields the event with each of `VALUES` in each of its places."""

    def places(inner: object, path: tuple[str | int, ...]) -> Iterator[tuple[str | int, ...]]:
        keys = inner if isinstance(inner, dict) else range(len(inner)) if isinstance(inner, list) else ()
        for key in keys:
            yield (*path, key)
            yield from places(inner[key], (*path, key))  # type: ignore[index]

    for *outer, last in places(event, ()):
        for value in VALUES:
            found = copy.deepcopy(event)
            place: Any = found
            for key in outer:
                place = place[key]
            place[last] = value
            yield found


@pytest.mark.parametrize("kind", get_args(SessionKind))
@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event["type"])
def test_any_value_in_any_field_is_a_command_or_an_error(event: dict[str, Any], kind: SessionKind) -> None:
    for one in changed(event):
        config = SessionConfig(kind=kind, mcp_hosts=McpHosts.of("mcp.example"))
        found = Reader(config, "en", OFFER).read(json.dumps(one))
        assert isinstance(found, (ProtocolError, *get_args(Command))), one
