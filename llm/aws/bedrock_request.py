"""Builds the request bodies of Converse and, by model family, of InvokeModel. Pure."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from llm.aws.bedrock_turns import BedrockConversation, Block, Call, Result, Text, conversation_of
from llm.chat import ChatOptions, Function, Image, Message

JsonObject = dict[str, object]

ANTHROPIC_VERSION = "bedrock-2023-05-31"

ANTHROPIC_MAX_TOKENS = 1024
"""Default token limit, several minutes of speech. Anthropic's format requires one."""

_ANY_OBJECT = '{"type":"object"}'


@dataclass(frozen=True, slots=True)
class BedrockOptions:
    """Options of every request of an endpoint.

    Attributes:
        max_tokens: Longest answer; None: the service's default.
        temperature: Sampling temperature; None: the service's default.
        cache: Whether to cache the request up to the end of the lasting system prompt. A short prompt is not cached
            (less than 1024 tokens, for some models 4096); only the count of cached tokens shows it.
        is_optimized: Whether to request the latency-optimized variant of the model.
    """

    max_tokens: int | None = None
    temperature: float | None = None
    cache: bool = False
    is_optimized: bool = False

    def max_tokens_of(self, options: ChatOptions) -> int | None:
        """Returns the request's own limit, else the endpoint's; None: no limit is sent."""
        return self.max_tokens if options.max_tokens is None else options.max_tokens or None


def converse_body(messages: Sequence[Message], options: ChatOptions, fixed: BedrockOptions) -> JsonObject:
    """Returns the body of ConverseStream."""
    conversation = conversation_of(messages)
    system: list[JsonObject] = [{"text": text} for text in conversation.leading_system]
    if fixed.cache and system:
        system.append({"cachePoint": {"type": "default"}})
    system += [{"text": text} for text in conversation.later_system]
    limits = {"maxTokens": fixed.max_tokens_of(options), "temperature": fixed.temperature}
    body: JsonObject = {
        "messages": [
            {"role": turn.role, "content": [_converse_block(block) for block in turn.blocks]}
            for turn in conversation.turns
        ],
        "inferenceConfig": _given(limits),
    }
    if system:
        body["system"] = system
    if tools := [_converse_tool(function) for function in _offered(conversation, options)]:
        body["toolConfig"] = {"tools": tools, **_converse_choice(options)}
    if fixed.is_optimized:
        body["performanceConfig"] = {"latency": "optimized"}
    return body


def _converse_block(block: Block) -> JsonObject:
    match block:
        case Text(text):
            return {"text": text}
        case Image(media_type, data):
            return {"image": {"format": media_type.removeprefix("image/"), "source": {"bytes": data}}}
        case Call(call_id, name, arguments):
            return {"toolUse": {"toolUseId": call_id, "name": name, "input": arguments}}
        case Result(call_id, text):
            return {"toolResult": {"toolUseId": call_id, "content": [{"text": text}]}}


def _offered(conversation: BedrockConversation, options: ChatOptions) -> list[Function]:
    """Returns the functions that may be called and those called before: both services require their definitions."""
    offered = list(options.functions) if options.choice != "none" or conversation.called else []
    names = {function.name for function in offered}
    return offered + [Function(name, "", _ANY_OBJECT) for name in conversation.called if name not in names]


def _converse_tool(function: Function) -> JsonObject:
    described = {"description": function.description} if function.description.strip() else {}
    schema: JsonObject = {"json": json.loads(function.parameters)}
    return {"toolSpec": {"name": function.name, **described, "inputSchema": schema}}


def _converse_choice(options: ChatOptions) -> JsonObject:
    match options.choice:
        case "auto" | "none":
            return {}  # Converse has no "none": calls are dropped when they arrive
        case "required":
            return {"toolChoice": {"any": {}}}
        case name:
            return {"toolChoice": {"tool": {"name": name}}}


def anthropic_body(messages: Sequence[Message], options: ChatOptions, fixed: BedrockOptions) -> JsonObject:
    """Returns the body of InvokeModel for Anthropic's models."""
    conversation = conversation_of(messages)
    system: list[JsonObject] = [{"type": "text", "text": text} for text in conversation.leading_system]
    if fixed.cache and system:
        system[-1]["cache_control"] = {"type": "ephemeral"}
    system += [{"type": "text", "text": text} for text in conversation.later_system]
    body: JsonObject = {
        "anthropic_version": ANTHROPIC_VERSION,
        "max_tokens": fixed.max_tokens_of(options) or ANTHROPIC_MAX_TOKENS,
        "messages": [
            {"role": turn.role, "content": [_anthropic_block(block) for block in turn.blocks]}
            for turn in conversation.turns
        ],
        **_given({"temperature": fixed.temperature}),
    }
    if system:
        body["system"] = system
    if tools := [_anthropic_tool(function) for function in _offered(conversation, options)]:
        body["tools"] = tools
        choices = {"required": {"type": "any"}, "auto": {"type": "auto"}, "none": {"type": "none"}}
        body["tool_choice"] = choices.get(options.choice, {"type": "tool", "name": options.choice})
    return body


def _anthropic_block(block: Block) -> JsonObject:
    match block:
        case Text(text):
            return {"type": "text", "text": text}
        case Image(media_type, data):
            return {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}}
        case Call(call_id, name, arguments):
            return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}
        case Result(call_id, text):
            return {"type": "tool_result", "tool_use_id": call_id, "content": text}


def _anthropic_tool(function: Function) -> JsonObject:
    described = {"description": function.description} if function.description.strip() else {}
    return {"name": function.name, **described, "input_schema": json.loads(function.parameters)}


def llama_body(prompt: str, options: ChatOptions, fixed: BedrockOptions) -> JsonObject:
    """Returns the body of InvokeModel for Meta's models: a prompt, without functions."""
    limits = {"max_gen_len": fixed.max_tokens_of(options), "temperature": fixed.temperature}
    return {"prompt": prompt, **_given(limits)}


def _given(values: Mapping[str, float | None]) -> JsonObject:
    return {key: value for key, value in values.items() if value is not None}
