"""Prepares messages for services whose templates require user and assistant to alternate. Pure.

A conversation may begin with a greeting, have two consecutive messages of one role (a timer that rang, a question
without an answer), or request another answer without a new user message.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

from llm.chat import Message, Role

SEPARATOR = "\n\n"
"""Separator between joined messages."""

OPENING = "…"
"""Placeholder user message before a greeting, and after an assistant message that is to be followed by another one."""

NO_OUTPUT = "(no output)"
"""Result of a call without output. Bedrock rejects a blank text, in all later requests of the conversation too."""


def result_text(message: Message) -> str:
    """Returns the text of a tool message; never blank."""
    return message.content if message.content.strip() else NO_OUTPUT


def without_blanks(messages: Sequence[Message]) -> list[Message]:
    """Returns the messages that have a text, a call or an image, with their speakers. Many services reject others."""
    non_blank: list[Message] = []
    for message in messages:
        if message.role == "tool":
            non_blank.append(replace(message, content=result_text(message)))
        elif message.calls or message.images or message.content.strip():
            non_blank.append(replace(message, content=message.named_content, speaker=""))
    return non_blank


def joined(messages: Sequence[Message]) -> list[Message]:
    """Joins consecutive messages of one role and drops blank ones. Calls and their results stay separate."""
    together: list[Message] = []
    non_blank = with_results(without_blanks(messages))
    for (role, alone), group in groupby(non_blank, lambda message: (message.role, _stands_alone(message))):
        same = list(group)
        if not alone:
            together.append(_joined_message(role, same))
        elif together and together[-1].role == role == "assistant" and not together[-1].calls:
            texts = SEPARATOR.join(filter(None, (together.pop().content, same[0].content)))
            together += [replace(same[0], content=texts), *same[1:]]  # the words before a call belong to its message
        else:
            together += same
    return together


def with_results(messages: Sequence[Message]) -> list[Message]:
    """Returns the messages with the results of each call directly after it, in the order of the calls.

    A call without a result gets one, unless it is the end. A result without a call is dropped. Services reject both.
    """
    ordered: list[Message] = []
    position = 0
    while position < len(messages):
        message = messages[position]
        position += 1
        if message.role == "tool":
            continue
        ordered.append(message)
        if not message.calls:
            continue
        results: dict[str, Message] = {}
        while position < len(messages) and messages[position].role == "tool":
            results.setdefault(messages[position].call_id, messages[position])
            position += 1
        if results or position < len(messages):
            ordered += [
                results.get(call.call_id) or Message("tool", NO_OUTPUT, call_id=call.call_id) for call in message.calls
            ]
    return ordered


def _joined_message(role: Role, messages: Sequence[Message]) -> Message:
    texts = SEPARATOR.join(message.content for message in messages if message.content)
    return Message(role, texts, images=tuple(image for message in messages for image in message.images))


def alternating(messages: Sequence[Message]) -> list[Message]:
    """Joins messages so that, system messages aside, the first and the last are the user's or a tool result.

    Several services reject other requests. A message appended to `messages` changes nothing before their last one,
    except that it replaces an OPENING at the end.
    """
    turns = _answered_results(joined(messages))
    first = next((index for index, message in enumerate(turns) if message.role != "system"), None)
    if first is not None and turns[first].role == "assistant":
        turns.insert(first, Message("user", OPENING))
    last = next((message for message in reversed(turns) if message.role != "system"), None)
    if last is None or last.role == "assistant":
        turns.append(Message("user", OPENING))
    return turns


def _answered_results(messages: Sequence[Message]) -> list[Message]:
    """Puts an answer between a result and the user's next message: the user interrupted before one was heard."""
    answered: list[Message] = []
    for message in messages:
        if message.role == "user" and answered and answered[-1].role == "tool":
            answered.append(Message("assistant", OPENING))
        answered.append(message)
    return answered


def _stands_alone(message: Message) -> bool:
    return message.role == "tool" or bool(message.calls)
