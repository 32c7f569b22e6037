"""Summary of a resumed conversation: its name, start, length and last words. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import Literal

from assistant.commands.talk.text import printable
from assistant.history.items import AssistantMessage, Item, UserMessage

LAST_TURNS = 3
"""Number of last turns shown."""

MAX_CHARS = 200
"""Longest text of one message, in characters: about two lines of a terminal."""

Who = Literal["you", "repartee"]


@dataclass(frozen=True, slots=True)
class Resumed:
    """A resumed conversation.

    Attributes:
        heading: One line with its name, start and number of turns.
        last: The last messages in order, shortened, with their speakers.
    """

    heading: str
    last: tuple[tuple[Who, str], ...]


def resumed(name: str, began_at: str, items: Sequence[Item], zone: tzinfo | None = None) -> Resumed:
    """Returns the summary of `items`.

    Args:
        name: Name of the conversation.
        began_at: Wall clock, ISO 8601; "" if unknown.
        items: All messages.
        zone: Time zone of the displayed time; by default that of this machine.
    """
    spoken = [item for item in items if isinstance(item, UserMessage | AssistantMessage) and item.text.strip()]
    starts = [index for index, item in enumerate(spoken) if isinstance(item, UserMessage) and not item.continues]
    shown = spoken[starts[-LAST_TURNS] :] if len(starts) > LAST_TURNS else spoken
    shown = shown[-4 * LAST_TURNS :]  # a turn may have many messages
    last = tuple((_who(item), printable(item.text, MAX_CHARS)) for item in shown)
    began = f", started {when}" if (when := _when(began_at, zone)) else ""
    turns = "1 turn" if len(starts) == 1 else f"{len(starts)} turns" if starts else "no user turn"
    if not spoken:
        turns = "it is empty"
    more = f"; the last {LAST_TURNS}:" if len(starts) > LAST_TURNS else ":" if spoken else ""
    return Resumed(f"{name}{began}, {turns}{more}", last)


def _who(item: UserMessage | AssistantMessage) -> Who:
    return "you" if isinstance(item, UserMessage) else "repartee"


def _when(began_at: str, zone: tzinfo | None) -> str:
    try:
        return datetime.fromisoformat(began_at).astimezone(zone).strftime("%Y-%m-%d %H:%M")
    except (ValueError, OverflowError):
        return ""
