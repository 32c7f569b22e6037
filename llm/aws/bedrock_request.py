"""What Bedrock is asked: the bodies of Converse and of InvokeModel, by the family of the model. Pure."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from llm.aws.bedrock_turns import BedrockConversation, Block, Call, Result, Text, conversation_of
from llm.chat import ChatOptions, Function, Message

JsonObject = dict[str, object]

ANTHROPIC_VERSION = "bedrock-2023-05-31"

ANTHROPIC_MAX_TOKENS = 1024
"""It must be given: several minutes of speech."""

_ANY_OBJECT = '{"type":"object"}'


@dataclass(frozen=True, slots=True)
class BedrockOptions:
    """What every request of an endpoint asks for.

    Attributes:
        cache: Keep what is read up to the end of the lasting system prompt for the next request. A short one is not
            kept (less than 1024 tokens, for some models 4096), and nothing says so but the count of cached tokens.
        is_optimized: Ask for the latency-optimized variant of the model.
    """

    max_tokens: int | None = None
    temperature: float | None = None
    cache: bool = False
    is_optimized: bool = False

    def max_tokens_of(self, options: ChatOptions) -> int | None:
        """The request's own limit, else the endpoint's; None: none is asked for."""
        return self.max_tokens if options.max_tokens is None else options.max_tokens or None


def converse_body(messages: Sequence[Message], options: ChatOptions, fixed: BedrockOptions) -> JsonObject:
    """The body of ConverseStream."""
    conversation = conversation_of(messages)
    system: list[JsonObject] = [{"text": text} for text in conversation.lasting]
    if fixed.cache and system:
        system.append({"cachePoint": {"type": "default"}})
    system += [{"text": text} for text in conversation.passing]
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
        case Call(call_id, name, arguments):
            return {"toolUse": {"toolUseId": call_id, "name": name, "input": arguments}}
        case Result(call_id, text):
            return {"toolResult": {"toolUseId": call_id, "content": [{"text": text}]}}


def _offered(conversation: BedrockConversation, options: ChatOptions) -> list[Function]:
    """What may be called, and what was called before: both services want to know that too."""
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
            return {}  # "none" is unknown there: a call is dropped when it comes
        case "required":
            return {"toolChoice": {"any": {}}}
        case name:
            return {"toolChoice": {"tool": {"name": name}}}


def anthropic_body(messages: Sequence[Message], options: ChatOptions, fixed: BedrockOptions) -> JsonObject:
    """The body of InvokeModel for Anthropic's models."""
    conversation = conversation_of(messages)
    system: list[JsonObject] = [{"type": "text", "text": text} for text in conversation.lasting]
    if fixed.cache and system:
        system[-1]["cache_control"] = {"type": "ephemeral"}
    system += [{"type": "text", "text": text} for text in conversation.passing]
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
        case Call(call_id, name, arguments):
            return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}
        case Result(call_id, text):
            return {"type": "tool_result", "tool_use_id": call_id, "content": text}


def _anthropic_tool(function: Function) -> JsonObject:
    described = {"description": function.description} if function.description.strip() else {}
    return {"name": function.name, **described, "input_schema": json.loads(function.parameters)}


def llama_body(prompt: str, options: ChatOptions, fixed: BedrockOptions) -> JsonObject:
    """The body of InvokeModel for Meta's models: text, and no functions."""
    limits = {"max_gen_len": fixed.max_tokens_of(options), "temperature": fixed.temperature}
    return {"prompt": prompt, **_given(limits)}


def _given(values: Mapping[str, float | None]) -> JsonObject:
    return {key: value for key, value in values.items() if value is not None}
