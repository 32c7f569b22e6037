"""Messages for services whose templates want user and assistant to take turns. Pure.

Ours may begin with a greeting, or have two messages of one speaker in a row: a timer that rang, a question whose answer
never came.
"""

from collections.abc import Sequence
from itertools import groupby

from llm.chat import Message

JOINT = "\n\n"
"""Between messages that become one."""

OPENING = "…"
"""What the user is taken to have said before the assistant spoke first."""


def joined(messages: Sequence[Message]) -> list[Message]:
    """Consecutive messages of one role as one; what calls or answers a call stays by itself."""
    together: list[Message] = []
    for (role, alone), group in groupby(messages, lambda message: (message.role, _stands_alone(message))):
        same = list(group)
        together += same if alone else [Message(role, JOINT.join(message.content for message in same))]
    return together


def in_turns(messages: Sequence[Message]) -> list[Message]:
    """Joined, and the user's first. What is added at the end of `messages` changes nothing before their last."""
    turns = joined(messages)
    first = next((at for at, message in enumerate(turns) if message.role != "system"), None)
    if first is not None and turns[first].role == "assistant":
        turns.insert(first, Message("user", OPENING))
    return turns


def _stands_alone(message: Message) -> bool:
    return message.role == "tool" or bool(message.calls)
