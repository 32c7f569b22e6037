"""The items of a conversation's history: what was said, by whom, and what was called."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NewType

from llm.chat import CallExtra, FunctionCall, Message

ItemId = NewType("ItemId", str)
"""Unique within its conversation."""

ROOT = ItemId("root")
"""No item: the place before all of them."""


@dataclass(frozen=True, slots=True)
class UserMessage:
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
class SystemMessage:
    """A system message in the middle of the conversation."""

    id: ItemId
    text: str


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A tool of the assistant's own was called in the midst of a reply, and returned.

    Attributes:
        at: How many characters of the reply came before the call.
        round: Of the reply's answers, which called it: with others of the same one it was called at once.
        number: Of that answer's calls, which it is; they may have returned in another order.
    """

    call: FunctionCall
    output: str
    at: int
    round: int = 0
    number: int = 0


@dataclass(frozen=True, slots=True)
class AssistantMessage:
    """Words of the assistant, as far as they were heard.

    Attributes:
        complete: Everything that was meant to be said was heard.
        used: The assistant's own tools, in the order in which they were called.
    """

    id: ItemId
    text: str
    complete: bool = True
    tool_uses: tuple[ToolUse, ...] = ()


@dataclass(frozen=True, slots=True)
class FunctionCallItem:
    """The model calls a function of the client's.

    Attributes:
        arguments: JSON, as the model wrote it.
        extra: As the call's.
    """

    id: ItemId
    call_id: str
    name: str
    arguments: str
    extra: CallExtra | None = None


@dataclass(frozen=True, slots=True)
class FunctionOutput:
    """What the client's function returned."""

    id: ItemId
    call_id: str
    output: str


Item = UserMessage | SystemMessage | AssistantMessage | FunctionCallItem | FunctionOutput


def answer_messages(text: str, used: tuple[ToolUse, ...]) -> tuple[Message, ...]:
    """An answer as the model sees it: its calls behind the words that came before them, each with what it returned.

    The same while the answer is being made and ever after, so that a server that has read it once need not again.
    """
    messages: list[Message] = []
    since = 0
    for (_, at), group in groupby(used, lambda one: (one.round, one.at)):
        said, since = text[since:at].strip(), max(since, at)
        called = sorted(group, key=lambda one: one.number)
        messages += call_messages(said, [(one.call, one.output) for one in called])
    rest = text[since:].strip()
    return (*messages, Message("assistant", rest)) if rest else tuple(messages)


def call_messages(said: str, called: Sequence[tuple[FunctionCall, str]]) -> list[Message]:
    """What an answer said, then its calls, each right before what it returned: some templates take one at a time.

    Where a service has said more of one of them, all calls come before all results, as it made them: Gemini signs the
    first of several, and refuses the others by themselves.
    """
    if any(call.extra is not None for call, _ in called):
        results = [Message("tool", output, call_id=call.call_id) for call, output in called]
        return [Message("assistant", said, tuple(call for call, _ in called)), *results]
    messages: list[Message] = []
    for call, output in called:
        messages += [Message("assistant", said, (call,)), Message("tool", output, call_id=call.call_id)]
        said = ""
    return messages
