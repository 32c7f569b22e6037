"""Messages for services whose templates want user and assistant to take turns. Pure.

Ours may begin with a greeting, have two messages of one speaker in a row (a timer that rang, a question whose answer
never came), or ask the assistant to speak without the user having said anything new.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

from llm.chat import Message

JOINT = "\n\n"
"""Between messages that become one."""

OPENING = "…"
"""What the user is taken to have said before the assistant spoke first, or speaks again without being asked."""

NO_OUTPUT = "(no output)"
"""The result of a call that gave none. Bedrock refuses a blank text, in every later request of the conversation too."""


def result_text(message: Message) -> str:
    """What a tool's message says; never blank."""
    return message.content if message.content.strip() else NO_OUTPUT


def without_blanks(messages: Sequence[Message]) -> list[Message]:
    """Messages in which something is said or called. A blank one tells a model nothing, and many services refuse it."""
    said: list[Message] = []
    for message in messages:
        if message.role == "tool":
            said.append(replace(message, content=result_text(message)))
        elif message.calls or message.content.strip():
            said.append(message)
    return said


def joined(messages: Sequence[Message]) -> list[Message]:
    """Consecutive messages of one role as one, without blank ones; what calls or answers a call stays by itself."""
    together: list[Message] = []
    said = without_blanks(messages)
    for (role, alone), group in groupby(said, lambda message: (message.role, _stands_alone(message))):
        same = list(group)
        together += same if alone else [Message(role, JOINT.join(message.content for message in same))]
    return together


def in_turns(messages: Sequence[Message]) -> list[Message]:
    """Joined; the first and the last of those that are not the system's is the user's, or what a tool returned.

    Several services refuse any other request. What is added at the end of `messages` changes nothing before their last,
    except that an OPENING at the end makes way for it.
    """
    turns = joined(messages)
    first = next((at for at, message in enumerate(turns) if message.role != "system"), None)
    if first is not None and turns[first].role == "assistant":
        turns.insert(first, Message("user", OPENING))
    last = next((message for message in reversed(turns) if message.role != "system"), None)
    if last is None or last.role == "assistant":
        turns.append(Message("user", OPENING))
    return turns


def _stands_alone(message: Message) -> bool:
    return message.role == "tool" or bool(message.calls)
