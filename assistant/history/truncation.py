"""What of a history leaves the prompt when it grows too long, and what the history itself gives up: pure.

A model's server keeps what it has read of a prompt and reads on from there, as long as the beginning stays the same.
So the oldest turns do not go one by one, which would move the beginning with every turn: nothing goes until a limit is
passed, and then half of what it allows goes at once. Between two cuts a prompt only grows at its end.

What has left the prompt stays in the conversation: whoever was told of an item may still ask for it. Only where that
grows beyond all use are items given up.
"""

from collections.abc import Sequence, Set
from dataclasses import dataclass
from typing import assert_never

from assistant.history.items import (
    AssistantMessage,
    FunctionCallItem,
    FunctionOutput,
    Item,
    ItemId,
    SystemMessage,
    UserMessage,
)

BYTES_PER_TOKEN = 4
"""Of UTF-8: about right for European languages with the vocabularies in use, and half again too little for Chinese."""

TOKENS_PER_MESSAGE = 4
"""What a chat template puts around each message."""

MOST_ITEMS_PER_TURN = 50
"""Beside a user's words: function calls, what they returned, a client's own messages."""

MOST_ITEMS = 1000
"""In a conversation: some hours of it."""

MOST_TOKENS = 500_000
"""Of them all: 2 MB of text, as much as a client that comes back can be told at once."""

MOST_INSTRUCTED_TOKENS = 16_384
"""Of a client's system messages, all of which the model sees: a prompt has to end somewhere."""


@dataclass(frozen=True, slots=True)
class HistoryLimits:
    """How much of a history the model sees.

    Attributes:
        turns: Most turns.
        tokens: Most tokens, as `tokens_of` estimates them; instructions, a client's too, and functions do not count.
    """

    turns: int
    tokens: int


def unseen(items: Sequence[Item], already: Set[ItemId], limits: HistoryLimits) -> frozenset[ItemId]:
    """What the model does not see any more, with what it did not `already`. What a client instructs it always sees."""
    seen = [item for item in items if item.id not in already and not isinstance(item, SystemMessage)]
    return frozenset(already) | {item.id for item in seen[: first_kept(seen, limits)]}


def given_up(
    items: Sequence[Item], not_seen: Set[ItemId], newest: ItemId | None, limits: HistoryLimits
) -> list[ItemId]:
    """What goes for good, so that a conversation stays bounded: what the model does not see first, `newest` never."""
    by_worth = sorted(items, key=lambda item: (item.id == newest, item.id not in not_seen))
    instructed = [item for item in by_worth if isinstance(item, SystemMessage)]
    gone = _oldest(instructed, MOST_ITEMS, max(MOST_INSTRUCTED_TOKENS, limits.tokens))
    rest = [item for item in by_worth if item.id not in gone]
    most_items = max(MOST_ITEMS, limits.turns * MOST_ITEMS_PER_TURN)
    return gone + _oldest(rest, most_items, max(MOST_TOKENS, limits.tokens))


def _oldest(items: Sequence[Item], most: int, most_tokens: int) -> list[ItemId]:
    """Where there are more than that, the first of them, so that half of it is left; the last one always is."""
    sizes = [tokens_of(item) for item in items]
    count, tokens = len(items), sum(sizes)
    if count <= most and tokens <= most_tokens:
        return []
    gone: list[ItemId] = []
    for item, size in zip(items[:-1], sizes, strict=False):
        if count <= most // 2 and tokens <= most_tokens // 2:
            break
        gone.append(item.id)
        count, tokens = count - 1, tokens - size
    return gone


def first_kept(items: Sequence[Item], limits: HistoryLimits) -> int:
    """Where the part begins that is kept: at the beginning of a turn, and at the latest with the newest one.

    A turn begins with words of the user that continue nothing.
    """
    begins = [at for at, item in enumerate(items) if isinstance(item, UserMessage) and not item.continues]
    first = 0
    if len(begins) > limits.turns:
        first = begins[-max(1, limits.turns // 2)]
    sizes = [tokens_of(item) for item in items]
    if sum(sizes[first:]) > limits.tokens:
        fitting = [at for at in begins if at > first and sum(sizes[at:]) <= limits.tokens // 2]
        first = max(first, fitting[0] if fitting else begins[-1] if begins else 0)
    return max(first, len(items) - limits.turns * MOST_ITEMS_PER_TURN)


def tokens_of(item: Item) -> int:
    """How many tokens an item is to a model, roughly."""
    match item:
        case UserMessage() | SystemMessage():
            return _tokens(item.text)
        case AssistantMessage():
            used = sum(_tokens(one.call.name + one.call.arguments) + _tokens(one.output) for one in item.tool_uses)
            return used + _tokens(item.text)
        case FunctionCallItem():
            return _tokens(item.name + item.arguments)
        case FunctionOutput():
            return _tokens(item.output)
        case _:
            assert_never(item)


def _tokens(text: str) -> int:
    size = len(text) if text.isascii() else len(text.encode(errors="replace"))
    return TOKENS_PER_MESSAGE + -(-size // BYTES_PER_TOKEN) if text else 0
