"""The items of a conversation's history: what was said, by whom, and what was called."""

from dataclasses import dataclass
from typing import NewType

ItemId = NewType("ItemId", str)
"""Unique within its conversation."""


@dataclass(frozen=True, slots=True)
class Said:
    """Words of the user.

    Attributes:
        spoken: Heard by the microphone, not typed.
        continues: The person went on: with the item before it is one message to the model.
    """

    id: ItemId
    text: str
    spoken: bool
    continues: bool = False


@dataclass(frozen=True, slots=True)
class Instructed:
    """A system message in the middle of the conversation."""

    id: ItemId
    text: str


@dataclass(frozen=True, slots=True)
class Answered:
    """Words of the assistant, as far as they were heard.

    Attributes:
        complete: Everything that was meant to be said was heard.
    """

    id: ItemId
    text: str
    complete: bool = True


@dataclass(frozen=True, slots=True)
class Called:
    """The model calls a function of the client's.

    Attributes:
        arguments: JSON, as the model wrote it.
    """

    id: ItemId
    call_id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Returned:
    """What the client's function returned."""

    id: ItemId
    call_id: str
    output: str


Item = Said | Instructed | Answered | Called | Returned
