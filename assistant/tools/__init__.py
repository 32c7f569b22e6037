"""The port to tools: functions of the assistant's own, which a language model may call in the midst of a reply.

Nothing is called before the turn is committed, for a call may do something in the world. What one is asked and what it
returns are words of the conversation: they are in no log line, no error and no trace.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from assistant.tools.names import allowed
from llm.chat import Function, FunctionCall, Message


class ToolError(Exception):
    """A call came to nothing. The text is for the model and the screen, and repeats nothing that was said."""


@dataclass(frozen=True, slots=True)
class ToolSettings:
    """How long tools may take, and how much they may say.

    Attributes:
        timeout_s: Longest wait for one call.
        moment: Said when nothing was said yet and a call takes longer than `moment_after_s`; "" for never.
        max_rounds: How often in a turn the model may call before it has to answer.
        max_result_chars: Longest result that the model gets to see.
    """

    timeout_s: float = 8.0
    moment: str = ""
    moment_after_s: float = 1.5
    max_rounds: int = 3
    max_result_chars: int = 4000


class Tools(Protocol):
    """Tools that conversations share."""

    @property
    def functions(self) -> tuple[Function, ...]:
        """What the model may call: the same in the same order as long as no server changes its tools."""
        ...

    async def call(self, name: str, arguments: str) -> str:
        """Call one; `arguments` is a JSON object. Cancelling it tells the server. Raises ToolError."""
        ...

    def attend(self, complain: Callable[[str], None]) -> Callable[[], None]:
        """Tell `complain` what goes wrong from here on, and what is wrong already. Returns what ends that."""
        ...


def offered(tools: Sequence[Function], theirs: Sequence[Function]) -> tuple[Function, ...]:
    """The tools beside a client's functions: of two that are called alike, the client's counts."""
    taken = {function.name for function in theirs}
    return tuple(tool for tool in tools if tool.name not in taken)


def with_ids_of_their_own(calls: Sequence[FunctionCall], before: Iterable[Message]) -> tuple[FunctionCall, ...]:
    """Some services name the first call of every answer the same; in a history each needs an id of its own.

    Arguments that are no JSON object become an empty one in the history, and names that no function may have, others:
    services refuse what they cannot read.
    """
    taken = {call.call_id for message in before for call in message.calls}
    named = []
    for call in calls:
        call_id, number = call.call_id, len(taken)
        while call_id in taken or not call_id:
            number += 1
            call_id = f"call_{number}"
        taken.add(call_id)
        arguments = call.arguments if is_object(call.arguments) else "{}"
        named.append(replace(call, call_id=call_id, name=allowed(call.name), arguments=arguments))
    return tuple(named)


def is_object(arguments: str) -> bool:
    """Whether this is a JSON object, to the letter: NaN and halves of a character, which Python reads, are not sent on.

    A server cannot be written to in UTF-8 with such a half, and what tries to loses its connection.
    """
    try:
        found = json.loads(arguments, parse_constant=_refused)
        json.dumps(found, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return False
    return isinstance(found, dict)


def _refused(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


def shortened(result: str, most_chars: int) -> str:
    """What a tool returned, cut where it is too long; the model is told."""
    if len(result) <= most_chars:
        return result
    mark = f" … (cut: {len(result)} characters, {most_chars} are kept)"
    return result[:most_chars] + mark
