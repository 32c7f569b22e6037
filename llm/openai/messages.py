"""Converts messages and functions to the format of OpenAI's chat completions."""

import json
from collections.abc import Sequence

from llm.answer_text.call_arguments import valid_arguments, valid_name
from llm.chat import ChatOptions, Function, FunctionCall, Image, Message
from llm.templates.role_alternation import alternating

JsonObject = dict[str, object]


def messages_json(messages: Sequence[Message], endpoint: str) -> list[JsonObject]:
    """Converts messages; user and assistant alternate.

    The templates of many models reject two consecutive messages of one role, and an initial greeting.

    `endpoint`: the endpoint that is asked; it gets back the extra fields of its own calls.
    """
    return [message_json(message, endpoint) for message in alternating(messages)]


def message_json(message: Message, endpoint: str = "") -> JsonObject:
    """Converts one message to an entry of `messages`."""
    if message.role == "tool":
        return {"role": "tool", "tool_call_id": message.call_id, "content": message.content}
    if message.calls:
        return {
            "role": message.role,
            "content": message.content if message.content.strip() else None,
            "tool_calls": [_call_json(call, endpoint) for call in message.calls],
        }
    if message.images:
        return {"role": message.role, "content": [*map(_image_json, message.images), *_text_json(message.content)]}
    return {"role": message.role, "content": message.content}


def _image_json(image: Image) -> JsonObject:
    address = f"data:{image.media_type};base64,{image.data}"
    return {"type": "image_url", "image_url": {"url": address, "detail": image.detail}}


def _text_json(text: str) -> list[JsonObject]:
    return [{"type": "text", "text": text}] if text.strip() else []


def options_json(options: ChatOptions, *, limit: str = "max_tokens") -> JsonObject:
    """Returns the request fields for the options; none for a plain request. `limit`: the field for the token limit."""
    request: JsonObject = {}
    if options.max_tokens:
        request[limit] = options.max_tokens
    if options.probabilities:
        request["logprobs"] = True
    if options.functions:
        request["tools"] = [_function_json(function) for function in options.functions]
        if options.choice in {"none", "required"}:
            request["tool_choice"] = options.choice
        elif options.choice != "auto":
            request["tool_choice"] = {"type": "function", "function": {"name": options.choice}}
    return request


def _call_json(call: FunctionCall, endpoint: str) -> JsonObject:
    extra = json.loads(call.extra.fields) if call.extra is not None and call.extra.endpoint == endpoint else {}
    return {
        **extra,
        "id": call.call_id,
        "type": "function",
        "function": {"name": valid_name(call.name), "arguments": valid_arguments(call.arguments)},
    }


def _function_json(function: Function) -> JsonObject:
    described: JsonObject = {"name": function.name, "parameters": json.loads(function.parameters)}
    if function.description:
        described["description"] = function.description
    return {"type": "function", "function": described}
