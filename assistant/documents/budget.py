"""Decides which parts are asked within the limits of number and price. No I/O."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from assistant.documents import Part
from assistant.history.prompt_limits import BYTES_PER_TOKEN

INSTRUCTION_TOKENS = 200
"""Upper estimate of the tokens of the instructions around each part's text."""


@dataclass(frozen=True, slots=True)
class ReadingLimits:
    """Limits of one reading.

    Attributes:
        max_parts: Largest number of parts.
        max_price: Largest estimated price, in the currency of the prices; 0: no limit.
        price_in_per_million: Price of a million prompt tokens; of several endpoints, the highest.
        price_out_per_million: Price of a million answer tokens, likewise.
        answer_tokens: Longest answer to one part.
    """

    max_parts: int
    max_price: float = 0.0
    price_in_per_million: float = 0.0
    price_out_per_million: float = 0.0
    answer_tokens: int = 0

    def price(self, part: Part) -> float:
        """Returns the highest estimated price of one request for this part."""
        prompt = INSTRUCTION_TOKENS + -(-len(part.text.encode(errors="replace")) // BYTES_PER_TOKEN)
        return (prompt * self.price_in_per_million + self.answer_tokens * self.price_out_per_million) / 1_000_000


@dataclass(frozen=True, slots=True)
class Selection:
    """The parts of a reading, in order.

    Attributes:
        asked: Those within the limits.
        left_out: The others.
        price: Estimated price of `asked`, without repeated requests.
    """

    asked: tuple[Part, ...]
    left_out: tuple[Part, ...]
    price: float


def select(parts: Sequence[Part], limits: ReadingLimits) -> Selection:
    """Returns the parts within the limits: the first part of every document before the second of any, and so on."""
    chosen: set[int] = set()
    price = 0.0
    for index in sorted(range(len(parts)), key=lambda position: (parts[position].number, position)):
        more = limits.price(parts[index])
        if len(chosen) >= limits.max_parts or (limits.max_price and price + more > limits.max_price):
            break
        chosen.add(index)
        price += more
    return Selection(
        _parts_at(parts, sorted(chosen)),
        _parts_at(parts, (index for index in range(len(parts)) if index not in chosen)),
        price,
    )


def _parts_at(parts: Sequence[Part], places: Iterable[int]) -> tuple[Part, ...]:
    return tuple(parts[index] for index in places)


def shared(parts: Sequence[Part], max_chars: int) -> tuple[str, ...]:
    """Returns the beginning of each part's text so that all have at most `max_chars` characters together.

    Each part gets an equal share. Longer parts also get the characters that short parts do not need.
    """
    lengths = sorted(len(part.text) for part in parts)
    left, share = max_chars, 0
    for index, length in enumerate(lengths):
        share = left // (len(lengths) - index)
        if length > share:
            break
        left -= length
        share = lengths[-1]
    return tuple(part.text[:share] for part in parts)
