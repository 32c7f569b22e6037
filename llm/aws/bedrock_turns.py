"""Converts a conversation for Bedrock: user and assistant alternate, and each call is followed by its result. Pure.

A conversation may begin with a greeting, have two consecutive messages of one role, or contain a call without a result.
The service rejects each of these.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from llm.answer_text.call_arguments import valid_arguments, valid_name
from llm.chat import FunctionCall, Image, Message
from llm.templates.role_alternation import OPENING, result_text

_NOT_IN_ID = re.compile("[^a-zA-Z0-9_-]")


@dataclass(frozen=True, slots=True)
class Text:
    """A text; never blank."""

    text: str


@dataclass(frozen=True, slots=True)
class Call:
    """A function call."""

    call_id: str
    name: str
    arguments: dict[str, object]


@dataclass(frozen=True, slots=True)
class Result:
    """The output of a call; never blank."""

    call_id: str
    text: str


Block = Text | Image | Call | Result


@dataclass(frozen=True, slots=True)
class RoleTurn:
    """Consecutive blocks of one role."""

    role: Literal["user", "assistant"]
    blocks: list[Block] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class BedrockConversation:
    """A conversation in Bedrock's structure.

    Attributes:
        leading_system: System prompt at the beginning; the same in all requests of a conversation.
        later_system: System messages from later positions.
        turns: Alternating turns; the first is the user's.
    """

    leading_system: tuple[str, ...]
    later_system: tuple[str, ...]
    turns: tuple[RoleTurn, ...]

    @property
    def called(self) -> tuple[str, ...]:
        """Names of the functions that were called, each once."""
        calls = (block for turn in self.turns for block in turn.blocks if isinstance(block, Call))
        return tuple(dict.fromkeys(call.name for call in calls))


def conversation_of(messages: Sequence[Message]) -> BedrockConversation:
    """Converts messages. Calls without a result and results without a call are dropped."""
    begin = next((index for index, message in enumerate(messages) if message.role != "system"), len(messages))
    results = {message.call_id: result_text(message) for message in messages if message.role == "tool"}
    turns = [RoleTurn("user")]
    for message in messages[begin:]:
        match message.role:
            case "user":
                _add_blocks(turns, "user", [*message.images, *_text_blocks(message)])
            case "assistant":
                answered = [call for call in message.calls if call.call_id in results]
                _add_blocks(turns, "assistant", [*_text_blocks(message), *map(_call_block, answered)])
                _add_blocks(turns, "user", [Result(_id(call.call_id), results[call.call_id]) for call in answered])
            case "tool" | "system":
                pass  # results were added after their calls; system messages are separate
    if not turns[0].blocks:
        turns[0].blocks.append(Text(OPENING))
    if turns[-1].role == "assistant":  # some models reject a conversation that ends with the assistant
        _add_blocks(turns, "user", [Text(OPENING)])
    return BedrockConversation(_system(messages[:begin]), _system(messages[begin:]), tuple(turns))


def _system(messages: Sequence[Message]) -> tuple[str, ...]:
    return tuple(message.content for message in messages if message.role == "system" and message.content.strip())


def _add_blocks(turns: list[RoleTurn], role: Literal["user", "assistant"], blocks: Sequence[Block]) -> None:
    if not blocks:
        return
    if turns[-1].role != role:
        turns.append(RoleTurn(role))
    turns[-1].blocks.extend(blocks)


def _text_blocks(message: Message) -> list[Block]:
    return [Text(message.named_content)] if message.content.strip() else []


def _call_block(call: FunctionCall) -> Call:
    return Call(_id(call.call_id), valid_name(call.name), json.loads(valid_arguments(call.arguments)))


def _id(call_id: str) -> str:
    """Returns an id of another service, reduced to the characters and the length that Bedrock permits."""
    return _NOT_IN_ID.sub("_", call_id)[:64] or "call"
