"""Sends one field of the Realtime API to a running server, and tells what became of it."""

import asyncio
import base64
import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args, get_origin

from pydantic import BaseModel
from support.protocol.realtime_sdk import SdkField, is_model, literals, variants
from support.servers.session_server import (
    RecordingClient,
    ScriptedEngineLoader,
    SessionServer,
    connected_client,
    session_server,
    settings_for,
)

from assistant.config.settings import KEYS

Json = dict[str, Any]

MCP_SERVER = "http://127.0.0.1:9/mcp"
"""Address of an MCP server that clients may name, but that does not answer."""

_ASSIGNMENTS = {
    "server.max_sessions": "40",
    "server.prompts": '{ support = "Help customers of {{company}}." }',
    "tools.client_mcp_hosts": "127.0.0.1:9",
}
"""Settings of a server that is probed, as far as it has them."""

_TEMPLATES: Mapping[str, Json] = {
    "realtime_function_tool.RealtimeFunctionTool": {"type": "function", "name": "look"},
    "realtime_conversation_item_system_message.Content": {"type": "input_text", "text": "Be kind."},
    "realtime_conversation_item_user_message.Content": {"type": "input_text", "text": "hello"},
    "realtime_conversation_item_assistant_message.Content": {"type": "output_text", "text": "hello"},
    "realtime_conversation_item_function_call.RealtimeConversationItemFunctionCall": {
        "call_id": "call_9",
        "name": "look",
        "arguments": "{}",
    },
    "realtime_conversation_item_function_call_output.RealtimeConversationItemFunctionCallOutput": {
        "call_id": "call_1",
        "output": "{}",
    },
    "realtime_tools_config_union.Mcp": {"server_label": "notes", "server_url": MCP_SERVER},
    "realtime_response_create_mcp_tool.RealtimeResponseCreateMcpTool": {
        "server_label": "notes",
        "server_url": MCP_SERVER,
    },
    "response_item_reference.ResponseItemReference": {"id": "item_user", "type": "item_reference"},
}
"""Fields without which an object has no meaning. The SDK requires further ones."""

_EVENTS: Mapping[str, Json] = {
    "conversation.item.create": {
        "item": {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hello"}]}
    },
    "conversation.item.truncate": {"item_id": "item_user", "content_index": 0, "audio_end_ms": 0},
    "conversation.item.delete": {"item_id": "item_user"},
    "conversation.item.retrieve": {"item_id": "item_user"},
    "input_audio_buffer.append": {"audio": "AAAA"},
    "session.update": {"session": {"type": "realtime"}},
}
"""Fields that the events need."""

SOUND = base64.b64encode(bytes(48 * 200)).decode()
"""200 ms of silence; $SOUND in the table."""

SETTLED = "settled"
"""Id of an unknown event that is sent after the probe: its error comes when everything before it was answered."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The server's reaction to a field.

    Attributes:
        errors: The `param` of each error about the event.
        echo: The value that it shows at the same place; None: none.
        sent: The value that was sent.
        events: All events of the connection.
    """

    errors: tuple[str | None, ...]
    echo: object
    sent: object
    events: Sequence[Json] = ()

    def named(self, path: str) -> bool:
        """Returns whether an error names the field, or an object that it belongs to."""
        return any(param is not None and _covers(param, path) for param in self.errors)

    @property
    def shows_what_is_used(self) -> bool:
        """Returns whether the server shows a value of its own."""
        return not self.errors and self.echo is not None

    @property
    def took_effect(self) -> bool:
        """Returns whether the server shows what was sent."""
        return not self.errors and contains(self.echo, self.sent)


def _covers(param: str, path: str) -> bool:
    """Returns whether a parameter is the field, a part of it, an object around it, or the type of one."""
    if param.startswith((f"{path}.", f"{path}[")):
        return True
    around = param.removesuffix(".type").removesuffix(".role")
    return path == around or (path.startswith((f"{around}.", f"{around}[")) and ("." in around or around != param))


def contains(shown: object, sent: object) -> bool:
    """Returns whether everything that was sent is in what is shown."""
    if isinstance(sent, dict):
        return isinstance(shown, dict) and all(name in shown and contains(shown[name], sent[name]) for name in sent)
    if isinstance(sent, list):
        return (
            isinstance(shown, list)
            and len(shown) == len(sent)
            and all(contains(one, other) for one, other in zip(shown, sent, strict=True))
        )
    return shown == sent


def sample(annotation: Any, name: str) -> Any:
    """Returns a value of this type."""
    words = literals(annotation)
    if words:
        return words[0]
    one = variants(annotation)[0]
    if is_model(one):
        return whole(one)
    if get_origin(one) is list:
        return [sample(get_args(one)[0], name)]
    if get_origin(one) is dict:
        return {"key": "value"}
    return {bool: False, int: 500, float: 0.5, str: f"some_{name}"}.get(one, {"type": "object"})


def whole(model: type[BaseModel]) -> Json:
    """Returns an object with the fields that it needs."""
    given: Json = {}
    for name, info in model.model_fields.items():
        if info.is_required() or (name == "type" and len(literals(info.annotation)) == 1):
            given[info.alias or name] = sample(info.annotation, name)
    return given | _TEMPLATES.get(f"{model.__module__.rpartition('.')[2]}.{model.__name__}", {})


def event_of(kind: str, field: SdkField, value: str) -> tuple[Json, object]:
    """Builds the event that sends one field, and returns the value of the field.

    Args:
        kind: The event's type.
        field: The field.
        value: JSON of the value, or "in " and JSON of the object that has the field; "": any.
    """
    value = value.replace("$SOUND", SOUND)
    *outer, last = field.steps
    if last.model is not None:  # an entry of a list that has one row for each type
        inner: Any = [json.loads(value) if value else whole(last.model)]
        sent: object = inner
        last_object: Json = {last.name: inner}
    elif value.startswith("in "):
        last_object = json.loads(value.removeprefix("in "))
        sent = last_object.get(last.name)
    else:
        sent = json.loads(value) if value else sample(field.annotation, last.name)
        last_object = {last.name: sent}
    complete = value.startswith("in ")
    for step in reversed(outer):
        assert step.model is not None
        given = last_object if complete else whole(step.model) | last_object
        last_object, complete = {step.name: _in_list(step.in_list, given)}, False
    return {"type": kind, **_EVENTS.get(kind, {}), **last_object}, sent


def _in_list(in_list: bool, value: Json) -> Json | list[Json]:
    return [value] if in_list else value


def at_place(shown: object, steps: Sequence[Any]) -> object:
    """Returns what stands at the place of a field."""
    for step in steps:
        if not isinstance(shown, dict):
            return None
        shown = shown.get(step.name)
        if step.in_list and step is not steps[-1]:
            shown = shown[0] if isinstance(shown, list) and shown else None
    return shown


_ANSWERS = {
    "session.update": ("session.updated",),
    "conversation.item.create": ("conversation.item.added", "conversation.item.done"),
    "response.create": ("response.created", "response.done"),
}


async def probe(server: SessionServer, kind: str, field: SdkField, value: str) -> Outcome:
    """Sends a field on a connection of its own."""
    event, sent = event_of(kind, field, value)
    async with connected_client(server) as client:
        if kind != "session.update":  # the type of a session can only be set before it has begun
            await client.send("conversation.item.create", item=_message("item_user"))
        if kind == "conversation.item.create":
            call = {"id": "item_call", "type": "function_call", "call_id": "call_1", "name": "look", "arguments": "{}"}
            await client.send("conversation.item.create", item=call)
        await _settle(client, 1)
        before = len(client.events)
        await client.socket.send(json.dumps(event))
        await _settle(client, 2)
        if kind == "response.create" and client.events_of("response.created"):
            await client.until("response.done")
        came = client.events[before:]
    errors = tuple(
        one["error"]["param"] for one in came if one["type"] == "error" and one["error"]["event_id"] != SETTLED
    )
    shown = [one for one in came if one["type"] in _ANSWERS.get(kind, ())]
    echoes = [at_place(one, field.steps) for one in shown]
    echo = next((echo for echo in echoes if contains(echo, sent)), echoes[0] if echoes else None)
    return Outcome(errors, echo, sent, client.events)


def _message(item_id: str) -> Json:
    return {"id": item_id, "type": "message", "role": "user", "content": [{"type": "input_text", "text": "hello"}]}


async def _settle(client: RecordingClient, count: int) -> None:
    await client.send("repartee.unknown", event_id=SETTLED)
    async with asyncio.timeout(20):
        while len([one for one in client.events_of("error") if one["error"]["event_id"] == SETTLED]) < count:
            client.events.append(json.loads(await client.socket.recv()))


@asynccontextmanager
async def probed_server(folder: Path, *assignments: str) -> AsyncGenerator[SessionServer]:
    """Runs a server for probes."""
    given = [f"{key}={value}" for key, value in _ASSIGNMENTS.items() if key in KEYS]
    loader = ScriptedEngineLoader(settings_for(folder, *given, *assignments), {})
    async with session_server(loader) as server:
        yield server
