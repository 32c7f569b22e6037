"""Interface to tools: functions that the language model may call during a reply.

Nothing is called before the turn is committed, because a call may have effects. Arguments and results belong to the
conversation, so they appear in no log line, error or trace.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol

from assistant.tools.names import allowed
from llm.answer_text.call_arguments import is_json_object, valid_arguments
from llm.chat import Function, FunctionCall, Message


class ToolError(Exception):
    """A call that failed. The text is for the model and the display; it contains nothing of the conversation."""


@dataclass(frozen=True, slots=True)
class ToolSettings:
    """Limits of tool calls.

    Attributes:
        timeout_s: Longest wait for one call.
        moment: Spoken if a call takes longer than `moment_after_s` before anything was spoken; "" for never.
        max_rounds: How often in a turn the model may call tools before it must answer.
        max_result_chars: Longest result sent to the model.
        mode: Whether replies wait for tools that have no mode of their own.
        background_timeout_s: Longest time of a call in the background.
        max_background: Calls in the background at the same time in one conversation.
        cancels: Whether a whole sentence of the user cancels these calls.
    """

    timeout_s: float = 8.0
    moment: str = ""
    moment_after_s: float = 1.5
    max_rounds: int = 3
    max_result_chars: int = 4000
    mode: Literal["wait", "background"] = "wait"
    background_timeout_s: float = 300.0
    max_background: int = 4
    cancels: Callable[[str], bool] = lambda _text: False


class Tools(Protocol):
    """Tools that conversations share."""

    @property
    def functions(self) -> tuple[Function, ...]:
        """Functions offered to the model. The order is stable as long as no server changes its tools."""
        ...

    async def call(self, name: str, arguments: str) -> str:
        """Calls a function. `arguments` is a JSON object. Cancellation is passed on to the server. Raises ToolError."""
        ...

    def subscribe(self, report_problem: Callable[[str], None]) -> Callable[[], None]:
        """Reports current and future problems to `report_problem`. Returns a function that ends this."""
        ...


def offered(tools: Sequence[Function], theirs: Sequence[Function]) -> tuple[Function, ...]:
    """Returns the tools to offer besides a client's functions. A client's function replaces a tool of the same name."""
    taken = {function.name for function in theirs}
    return tuple(tool for tool in tools if tool.name not in taken)


def with_unique_ids(calls: Sequence[FunctionCall], before: Iterable[Message]) -> tuple[FunctionCall, ...]:
    """Gives each call an id that is unique in the history, because some services repeat ids.

    In the history, arguments that cannot be repaired become an empty object, and invalid function names are changed:
    services reject what they cannot read.
    """
    taken = {call.call_id for message in before for call in message.calls}
    named = []
    for call in calls:
        call_id, number = call.call_id, len(taken)
        while call_id in taken or not call_id:
            number += 1
            call_id = f"call_{number}"
        taken.add(call_id)
        arguments = valid_arguments(call.arguments)
        named.append(replace(call, call_id=call_id, name=allowed(call.name), arguments=arguments))
    return tuple(named)


is_object = is_json_object


def shortened(result: str, max_chars: int) -> str:
    """Returns a tool's result, cut if it is too long. A note tells the model about the cut."""
    if len(result) <= max_chars:
        return result
    mark = f" … (cut: {len(result)} characters, {max_chars} are kept)"
    return result[:max_chars] + mark
