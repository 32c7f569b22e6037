"""Decides which items leave the prompt, and which the history, when they grow too long. No I/O.

An LLM server caches the prompt it has read and continues from there, as long as the beginning stays the same. Removing
the oldest turn with every new one would change the beginning each time. So nothing is removed until a limit is reached,
and then the prompt is cut to half of the limit. Between two cuts it only grows at its end.

Items that have left the prompt stay in the history, because a client may still ask for them. Only a history that is far
too long loses items. A client may disable the truncation; then the reply to a history that is too long is an error.
"""

from collections.abc import AsyncGenerator, Sequence, Set
from dataclasses import dataclass
from typing import assert_never

from assistant.history import mcp_items
from assistant.history.items import (
    AssistantMessage,
    FunctionCallItem,
    FunctionOutput,
    Item,
    ItemId,
    SystemMessage,
    UserMessage,
)
from assistant.history.mcp_items import McpApprovalRequest, McpApprovalResponse, McpCall, McpItem, McpListTools
from llm.chat import ChatEvent
from llm.errors import LlmRefused

BYTES_PER_TOKEN = 4
"""UTF-8 bytes per token, about right for European languages. In Chinese the true count is about half as much again."""

TOKENS_PER_MESSAGE = 4
"""Tokens that a chat template adds to each message."""

MAX_ITEMS_PER_TURN = 50
"""Maximum number of items per turn besides the user's words: function calls, their outputs, a client's own messages."""

MAX_ITEMS = 1000
"""Maximum number of items of a history: some hours of conversation."""

MAX_TOKENS = 500_000
"""Maximum number of tokens of a history: 2 MB of text, as much as a reconnecting client can be sent at once."""

MAX_INSTRUCTION_TOKENS = 16_384
"""Maximum number of tokens of a client's system messages, all of which are in the prompt."""

HISTORY_FULL = "the conversation is longer than the model sees, and its truncation is disabled"
"""Beginning of the error when truncation is disabled. Clients of the Realtime protocol get an error code for it."""

SPOKEN_TOO_LONG = "This conversation has become too long for me."


@dataclass(frozen=True, slots=True)
class HistoryLimits:
    """Limits on the part of a history that is in the prompt.

    Attributes:
        turns: Maximum number of turns.
        tokens: Maximum number of tokens, as `tokens_of` estimates them. Instructions, system messages and functions do
            not count.
        kept: Share of the tokens that is kept when there are more.
    """

    turns: int
    tokens: int
    kept: float = 0.5


def outside_prompt(items: Sequence[Item], already_outside: Set[ItemId], limits: HistoryLimits) -> frozenset[ItemId]:
    """Returns the items that are no longer in the prompt, including the items `already_outside`.

    System messages always stay in the prompt.
    """
    seen = [item for item in items if item.id not in already_outside and not isinstance(item, SystemMessage)]
    return frozenset(already_outside) | {item.id for item in seen[: first_kept(seen, limits)]}


def items_to_remove(
    items: Sequence[Item], outside: Set[ItemId], newest: ItemId | None, limits: HistoryLimits
) -> list[ItemId]:
    """Returns the items to remove from the history. Those outside the prompt go first, `newest` never goes."""
    by_priority = sorted(items, key=lambda item: (item.id == newest, item.id not in outside))
    system_messages = [item for item in by_priority if isinstance(item, SystemMessage)]
    removed = _oldest_to_remove(system_messages, MAX_ITEMS, max(MAX_INSTRUCTION_TOKENS, limits.tokens))
    rest = [item for item in by_priority if item.id not in removed]
    max_items = max(MAX_ITEMS, limits.turns * MAX_ITEMS_PER_TURN)
    return removed + _oldest_to_remove(rest, max_items, max(MAX_TOKENS, limits.tokens))


async def refused_reply(excess: str) -> AsyncGenerator[ChatEvent]:
    """Raises LlmRefused, as a model does that refuses a request. `excess`: the history's length and its limit."""
    raise LlmRefused("history", f"{HISTORY_FULL}: {excess}", spoken=SPOKEN_TOO_LONG, retryable=False)
    yield  # an asynchronous generator, as every answer


def _oldest_to_remove(items: Sequence[Item], max_items: int, max_tokens: int) -> list[ItemId]:
    """Returns the first items if there are too many, so that half of the limit is left. The last item always stays."""
    sizes = [tokens_of(item) + _hidden_tokens_of(item) for item in items]
    count, tokens = len(items), sum(sizes)
    if count <= max_items and tokens <= max_tokens:
        return []
    removed: list[ItemId] = []
    for item, size in zip(items[:-1], sizes, strict=False):
        if count <= max_items // 2 and tokens <= max_tokens // 2:
            break
        removed.append(item.id)
        count, tokens = count - 1, tokens - size
    return removed


def first_kept(items: Sequence[Item], limits: HistoryLimits) -> int:
    """Returns the index of the first item to keep: the beginning of a turn, at the latest of the newest turn.

    A turn begins with a user message that continues nothing.
    """
    turn_starts = [index for index, item in enumerate(items) if isinstance(item, UserMessage) and not item.continues]
    first = 0
    if len(turn_starts) > limits.turns:
        first = turn_starts[-max(1, limits.turns // 2)]
    sizes = [tokens_of(item) for item in items]
    if sum(sizes[first:]) > limits.tokens:
        fitting = [
            start for start in turn_starts if start > first and sum(sizes[start:]) <= limits.tokens * limits.kept
        ]
        first = max(first, fitting[0] if fitting else turn_starts[-1] if turn_starts else 0)
    return max(first, len(items) - limits.turns * MAX_ITEMS_PER_TURN)


def tokens_of(item: Item) -> int:
    """Estimates the number of tokens of an item."""
    match item:
        case UserMessage() if item.parts:
            return _tokens(item.text) + sum(image.tokens for image in item.images)
        case UserMessage() | SystemMessage():
            return _tokens(item.text)
        case AssistantMessage():
            used = sum(_tokens(use.call.name + use.call.arguments) + _tokens(use.output) for use in item.tool_uses)
            return used + _tokens(item.written)
        case FunctionCallItem():
            return _tokens(item.name + item.arguments)
        case FunctionOutput():
            return _tokens(item.output)
        case McpListTools() | McpApprovalRequest() | McpApprovalResponse() | McpCall():
            return sum(_tokens(text) for text in mcp_items.texts_in_prompt(item))
        case _:
            assert_never(item)


def _hidden_tokens_of(item: Item) -> int:
    """Estimates the size of what only the client sees of an item."""
    return _tokens(mcp_items.hidden_text(item)) if isinstance(item, McpItem) else 0


def _tokens(text: str) -> int:
    size = len(text) if text.isascii() else len(text.encode(errors="replace"))
    return TOKENS_PER_MESSAGE + -(-size // BYTES_PER_TOKEN) if text else 0
