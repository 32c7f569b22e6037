"""Converts items of the conversation from and to the protocol's JSON objects."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, assert_never

from assistant.history.items import (
    AssistantMessage,
    ContentPart,
    FunctionCallItem,
    FunctionOutput,
    Item,
    ItemId,
    SoundPart,
    SystemMessage,
    TextPart,
    UserMessage,
)
from assistant.history.mcp_items import McpApprovalRequest, McpApprovalResponse, McpCall, McpListTools
from llm.chat import Image
from web.wire.items.image_field import image_address
from web.wire.items.mcp_items import MCP_ITEMS, mcp_item_object, mcp_item_of
from web.wire.items.message_content import ContentRules, content_of
from web.wire.items.sound_field import Recording
from web.wire.values.fields import IDENTIFIER, TEXT, Field, FieldError, Refusals, checked, one_of, wrong_type

MAX_SENT_IMAGE_CHARS = 1_000_000
"""Base64 text of the images in one message to a client. Common clients accept messages of at most 1 MiB."""

JsonObject = dict[str, object]

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


_MESSAGE = {
    **_COMMON,
    "type": _TYPE,
    "role": Field(one_of("user", "assistant", "system"), required=True),
    "content": Field(lambda value, _path: value, required=True),
}


@dataclass(frozen=True, slots=True)
class CreatedItem:
    """An item from a client.

    Attributes:
        item: The item; its id is "" if it has none.
        recordings: The sound of its content parts, by index.
        written: Whether an assistant message is text and not audio.
    """

    item: Item
    recordings: Mapping[int, Recording] = field(default_factory=dict)
    written: bool = True


def item_of(value: object, path: str) -> Item:
    """Parses a client's item without sound or images; its id is "" if it has none.

    Raises:
        FieldError: The item is invalid or of an unsupported type.
    """
    refusals = Refusals()
    item = created_item(value, path, ContentRules(), refusals).item
    if refusals.errors:
        raise refusals.errors[0]
    return item


def created_item(value: object, path: str, rules: ContentRules, refusals: Refusals) -> CreatedItem:
    """Parses a client's item; errors of single content parts are added to `refusals`.

    Raises:
        FieldError: The item is invalid or of an unsupported type.
    """
    if not isinstance(value, dict):
        raise wrong_type(path, value, "an object")
    kind = _word(value, "type", path, _TYPE)
    if kind == "function_call":
        call = checked(value, path, _CALL)
        return CreatedItem(FunctionCallItem(_id(call), call["call_id"], call["name"], call["arguments"]))
    if kind == "function_call_output":
        output = checked(value, path, _OUTPUT)
        return CreatedItem(FunctionOutput(_id(output), output["call_id"], output["output"]))
    if kind in MCP_ITEMS:
        return CreatedItem(mcp_item_of(kind, value, path))
    return _created_message(value, path, rules, refusals)


def _created_message(value: JsonObject, path: str, rules: ContentRules, refusals: Refusals) -> CreatedItem:
    role = _word(value, "role", path, _MESSAGE["role"])
    message = checked(value, path, _MESSAGE)
    content, item_id = content_of(message["content"], f"{path}.content", role, rules, refusals), _id(message)
    match role:
        case "system":
            return CreatedItem(SystemMessage(item_id, content.text))
        case "assistant":
            recordings = content.recordings if len(content.parts) == 1 else {}
            return CreatedItem(AssistantMessage(item_id, content.text), recordings, content.is_text)
    if content.is_text:
        return CreatedItem(UserMessage(item_id, content.text, spoken=False))
    return CreatedItem(UserMessage.of_parts(item_id, tuple(content.parts)), content.recordings)


def item_object(  # noqa: PLR0911 - one case for each kind of item
    item: Item,
    *,
    transcribed: bool,
    written: bool = False,
    images: bool = False,
    markup: bool = False,
    speaker: bool = False,
) -> JsonObject:
    """Builds the JSON object of an item.

    Args:
        item: The item.
        transcribed: Whether the client wants transcripts of the user's speech.
        written: Whether an assistant message is text and not audio.
        images: Whether images are included, unless they are too large together.
        markup: Whether a reply has its Markdown, too.
        speaker: Whether a spoken message has the label of who spoke and its language, too.
    """
    match item:
        case UserMessage(item_id) if item.parts:
            images = images and sum(len(image.data) for image in item.images) <= MAX_SENT_IMAGE_CHARS
            parts = [_part_object(part, transcribed=transcribed, images=images) for part in item.parts]
            return {**message_object(item_id, "user", None), "content": parts}
        case UserMessage(item_id, words, spoken):
            content: JsonObject = {"type": "input_audio", "transcript": words if transcribed else None}
            said = message_object(item_id, "user", content if spoken else {"type": "input_text", "text": words})
            return {**said, **(extension_of(item) if speaker else {})}
        case SystemMessage(item_id, words):
            return message_object(item_id, "system", {"type": "input_text", "text": words})
        case AssistantMessage(item_id, words, complete):
            status = "completed" if complete else "incomplete"
            shown = {"markup": item.markup, "unheard": item.unheard}
            extension = {"repartee": {name: text for name, text in shown.items() if text}}
            answered = message_object(item_id, "assistant", answer_part(words, spoken=not written), status)
            return {**answered, **(extension if markup and extension["repartee"] else {})}
        case FunctionCallItem(item_id, call_id, name, arguments):
            return call_object(item_id, call_id, name, arguments)
        case FunctionOutput(item_id, call_id, output):
            returned: JsonObject = {"type": "function_call_output", "call_id": call_id, "output": output}
            return {"id": item_id, "object": "realtime.item", **returned, "status": "completed"}
        case McpListTools() | McpApprovalRequest() | McpApprovalResponse() | McpCall():
            return mcp_item_object(item)
        case _:
            assert_never(item)


def extension_of(message: UserMessage) -> JsonObject:
    """Returns the extension with the label of who spoke, and the language; {} if neither is known."""
    known = {"speaker": message.speaker, "language": message.language}
    known = {name: value for name, value in known.items() if value}
    return {"repartee": known} if known else {}


def _part_object(part: ContentPart, *, transcribed: bool, images: bool) -> JsonObject:
    match part:
        case TextPart(words):
            return {"type": "input_text", "text": words}
        case SoundPart(words):
            return {"type": "input_audio", "transcript": words if transcribed else None}
        case Image():
            address = image_address(part) if images else None
            return {"type": "input_image", "image_url": address, "detail": part.detail}
        case _:
            assert_never(part)


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
    word: str = field.check(value[name], f"{path}.{name}")
    return word


def _id(fields: dict[str, Any]) -> ItemId:
    return ItemId(fields.get("id", ""))
