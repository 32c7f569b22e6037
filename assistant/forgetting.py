"""What of a history is forgotten when it grows too long: pure.

A model's server keeps what it has read of a prompt and reads on from there, as long as the beginning stays the same.
So the oldest turns do not go one by one, which would move the beginning with every turn: nothing goes until a limit is
passed, and then half of what it allows goes at once. Between two cuts a prompt only grows at its end.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_never

from assistant.items import Answered, Called, Instructed, Item, Returned, Said

BYTES_PER_TOKEN = 4
"""Of UTF-8: about right for European languages with the vocabularies in use, and half again too little for Chinese."""

TOKENS_PER_MESSAGE = 4
"""What a chat template puts around each message."""

MOST_ITEMS_PER_TURN = 50
"""Beside a user's words: function calls, what they returned, a client's own messages."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How long a history may be.

    Attributes:
        turns: Most turns.
        tokens: Most tokens, as `tokens_of` estimates them; the instructions and the functions do not count.
    """

    turns: int
    tokens: int


def first_kept(items: Sequence[Item], limits: Limits) -> int:
    """Where the part begins that is kept: at the beginning of a turn, and at the latest with the newest one.

    A turn begins with words of the user that continue nothing.
    """
    begins = [at for at, item in enumerate(items) if isinstance(item, Said) and not item.continues]
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
        case Said() | Instructed():
            return _tokens(item.text)
        case Answered():
            used = sum(_tokens(one.call.name + one.call.arguments) + _tokens(one.output) for one in item.used)
            return used + _tokens(item.text)
        case Called():
            return _tokens(item.name + item.arguments)
        case Returned():
            return _tokens(item.output)
        case _:
            assert_never(item)


def _tokens(text: str) -> int:
    return TOKENS_PER_MESSAGE + -(-len(text.encode(errors="replace")) // BYTES_PER_TOKEN) if text else 0
