"""What is shown of a conversation that is resumed: its name, when it began, how long it is, its last words. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import Literal

from assistant.commands.talk.text import printable
from assistant.history.items import AssistantMessage, Item, UserMessage

LAST_TURNS = 3
"""Turns of it that are shown."""

MOST_CHARS = 200
"""Of one thing said in it: about two lines of a terminal."""

Who = Literal["you", "repartee"]


@dataclass(frozen=True, slots=True)
class Resumed:
    """A conversation that is resumed.

    Attributes:
        heading: One line: which it is, when it began, and how many turns it has.
        last: Its last words, shortened, and who said them; in order.
    """

    heading: str
    last: tuple[tuple[Who, str], ...]


def resumed(name: str, began_at: str, items: Sequence[Item], zone: tzinfo | None = None) -> Resumed:
    """What is shown of `items`.

    Args:
        name: Of the conversation.
        began_at: Wall clock, ISO 8601; "" where it is not known.
        items: All that was said in it.
        zone: Whose time of day is shown; by default that of this machine.
    """
    spoken = [item for item in items if isinstance(item, UserMessage | AssistantMessage) and item.text.strip()]
    starts = [at for at, item in enumerate(spoken) if isinstance(item, UserMessage) and not item.continues]
    shown = spoken[starts[-LAST_TURNS] :] if len(starts) > LAST_TURNS else spoken
    shown = shown[-4 * LAST_TURNS :]  # somebody who went on and on
    last = tuple((_who(item), printable(item.text, MOST_CHARS)) for item in shown)
    began = f", begun {when}" if (when := _when(began_at, zone)) else ""
    turns = "1 turn" if len(starts) == 1 else f"{len(starts)} turns" if starts else "no turn of yours"
    if not spoken:
        turns = "nothing was said in it"
    more = f"; the last {LAST_TURNS}:" if len(starts) > LAST_TURNS else ":" if spoken else ""
    return Resumed(f"{name}{began}, {turns}{more}", last)


def _who(item: UserMessage | AssistantMessage) -> Who:
    return "you" if isinstance(item, UserMessage) else "repartee"


def _when(began_at: str, zone: tzinfo | None) -> str:
    try:
        return datetime.fromisoformat(began_at).astimezone(zone).strftime("%Y-%m-%d %H:%M")
    except (ValueError, OverflowError):
        return ""
