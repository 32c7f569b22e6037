"""The items of a conversation's history: what was said, by whom, and what was called."""

from dataclasses import dataclass
from typing import NewType

from llm.chat import Extra, FunctionCall, Message

ItemId = NewType("ItemId", str)
"""Unique within its conversation."""

ROOT = ItemId("root")
"""No item: the place before all of them."""


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
class Used:
    """A tool of the assistant's own was called in the midst of a reply, and returned.

    Attributes:
        at: How many characters of the reply came before the call.
    """

    call: FunctionCall
    output: str
    at: int


@dataclass(frozen=True, slots=True)
class Answered:
    """Words of the assistant, as far as they were heard.

    Attributes:
        complete: Everything that was meant to be said was heard.
        used: The assistant's own tools, in the order in which they were called.
    """

    id: ItemId
    text: str
    complete: bool = True
    used: tuple[Used, ...] = ()


@dataclass(frozen=True, slots=True)
class Called:
    """The model calls a function of the client's.

    Attributes:
        arguments: JSON, as the model wrote it.
        extra: As the call's.
    """

    id: ItemId
    call_id: str
    name: str
    arguments: str
    extra: Extra | None = None


@dataclass(frozen=True, slots=True)
class Returned:
    """What the client's function returned."""

    id: ItemId
    call_id: str
    output: str


Item = Said | Instructed | Answered | Called | Returned


def answer_messages(text: str, used: tuple[Used, ...]) -> tuple[Message, ...]:
    """An answer as the model sees it: each call behind the words that came before it, right before what it returned.

    The same while the answer is being made and ever after, so that a server that has read it once need not again.
    """
    messages: list[Message] = []
    since = 0
    for one in used:
        said, since = text[since : one.at].strip(), max(since, one.at)
        messages += [Message("assistant", said, (one.call,)), Message("tool", one.output, call_id=one.call.call_id)]
    rest = text[since:].strip()
    return (*messages, Message("assistant", rest)) if rest else tuple(messages)
