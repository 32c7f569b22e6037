"""Converts items of the conversation from and to the protocol's JSON objects."""

from collections.abc import Callable
from typing import Any, assert_never

from assistant.history.items import (
    AssistantMessage,
    FunctionCallItem,
    FunctionOutput,
    Item,
    ItemId,
    SystemMessage,
    UserMessage,
)
from assistant.history.mcp_items import McpApprovalRequest, McpApprovalResponse, McpCall, McpListTools
from web.wire.fields import (
    IDENTIFIER,
    TEXT,
    Field,
    FieldError,
    anything,
    checked,
    listing,
    nested,
    one_of,
    text,
    wrong_type,
    wrong_value,
)
from web.wire.mcp_items import MCP_ITEMS, mcp_item_object, mcp_item_of

MAX_CONTENT_PARTS = 64

JsonObject = dict[str, object]

_SOUND_COMES_OTHERWISE = "send speech with input_audio_buffer.append"
_FOREIGN_PARTS = {
    "input_audio": _SOUND_COMES_OTHERWISE,
    "input_image": "this server does not understand images",
    "output_audio": "send what the assistant said as 'output_text'",
}
_COMMON = {
    "id": Field(IDENTIFIER),
    "object": Field(one_of("realtime.item")),
    "status": Field(one_of("completed", "incomplete", "in_progress")),
}
_TYPE = Field(one_of("message", "function_call", "function_call_output", *MCP_ITEMS), required=True)
_CALL = {
    **_COMMON,
    "type": _TYPE,
    "call_id": Field(IDENTIFIER, required=True),
    "name": Field(IDENTIFIER, required=True),
    "arguments": Field(TEXT, required=True),
}
_OUTPUT = {
    **_COMMON,
    "type": _TYPE,
    "call_id": Field(IDENTIFIER, required=True),
    "output": Field(TEXT, required=True),
}


def _message(part_type: str) -> dict[str, Field]:
    part = {
        "type": Field(one_of(part_type, unsupported=_FOREIGN_PARTS), required=True),
        # Listed so that a part of another type is refused for its type and not for its fields.
        **{name: Field(anything) for name in ("audio", "transcript", "image_url", "detail")},
        "text": Field(text(min_chars=1), required=True),
    }
    return {
        **_COMMON,
        "type": _TYPE,
        "role": Field(one_of("user", "assistant", "system"), required=True),
        "content": Field(listing(nested(part), minimum=1, maximum=MAX_CONTENT_PARTS), required=True),
    }


_MESSAGES = {
    "user": _message("input_text"),
    "system": _message("input_text"),
    "assistant": _message("output_text"),
}


def item_of(value: object, path: str) -> Item:
    """Parses a client's item; its id is "" if it has none.

    Raises:
        FieldError: The item is invalid or of an unsupported type.
    """
    if not isinstance(value, dict):
        raise wrong_type(path, value, "an object")
    kind = _word(value, "type", path, _TYPE)
    if kind == "function_call":
        call = checked(value, path, _CALL)
        return FunctionCallItem(_id(call), call["call_id"], call["name"], call["arguments"])
    if kind == "function_call_output":
        output = checked(value, path, _OUTPUT)
        return FunctionOutput(_id(output), output["call_id"], output["output"])
    if kind in MCP_ITEMS:
        return mcp_item_of(kind, value, path)
    role = _word(value, "role", path, _MESSAGES["user"]["role"])
    message = checked(value, path, _MESSAGES[role])
    words = "\n".join(part["text"] for part in message["content"])
    if not words.strip():
        raise wrong_value(f"{path}.content", "is blank", "text")
    of_role: dict[str, Callable[[ItemId, str], Item]] = {
        "user": lambda item_id, said: UserMessage(item_id, said, spoken=False),
        "system": SystemMessage,
        "assistant": AssistantMessage,
    }
    return of_role[role](_id(message), words)


def item_object(item: Item, *, transcribed: bool, written: bool = False) -> JsonObject:
    """Builds the JSON object of an item.

    Args:
        item: The item.
        transcribed: Whether the client wants transcripts of the user's speech.
        written: Whether an assistant message is text and not audio.
    """
    match item:
        case UserMessage(item_id, words, spoken):
            said: JsonObject = {"type": "input_audio", "transcript": words if transcribed else None}
            return message_object(item_id, "user", said if spoken else {"type": "input_text", "text": words})
        case SystemMessage(item_id, words):
            return message_object(item_id, "system", {"type": "input_text", "text": words})
        case AssistantMessage(item_id, words, complete):
            return message_object(
                item_id, "assistant", answer_part(words, spoken=not written), "completed" if complete else "incomplete"
            )
        case FunctionCallItem(item_id, call_id, name, arguments):
            return call_object(item_id, call_id, name, arguments)
        case FunctionOutput(item_id, call_id, output):
            returned: JsonObject = {"type": "function_call_output", "call_id": call_id, "output": output}
            return {"id": item_id, "object": "realtime.item", **returned, "status": "completed"}
        case McpListTools() | McpApprovalRequest() | McpApprovalResponse() | McpCall():
            return mcp_item_object(item)
        case _:
            assert_never(item)


def answer_part(words: str, *, spoken: bool) -> JsonObject:
    """Builds the content part of an assistant message."""
    return {"type": "output_audio", "transcript": words} if spoken else {"type": "output_text", "text": words}


def message_object(item_id: ItemId, role: str, part: JsonObject | None, status: str = "completed") -> JsonObject:
    """Builds a message with one content part, or without content yet."""
    return {
        "id": item_id,
        "object": "realtime.item",
        "type": "message",
        "role": role,
        "status": status,
        "content": [] if part is None else [part],
    }


def call_object(item_id: ItemId, call_id: str, name: str, arguments: str, status: str = "completed") -> JsonObject:
    """Builds a function call."""
    return {
        "id": item_id,
        "object": "realtime.item",
        "type": "function_call",
        "status": status,
        "call_id": call_id,
        "name": name,
        "arguments": arguments,
    }


def _word(value: dict[str, Any], name: str, path: str, field: Field) -> str:
    if value.get(name) is None:
        raise FieldError("missing_required_parameter", f"{path}.{name} is missing", f"{path}.{name}")
    found: str = field.check(value[name], f"{path}.{name}")
    return found


def _id(fields: dict[str, Any]) -> ItemId:
    return ItemId(fields.get("id", ""))
