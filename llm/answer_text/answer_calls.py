"""Completes the calls of one answer: names without marks, arguments that are JSON, and an id for each. No I/O."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from llm.answer_text.call_arguments import cleaned_name, repaired_arguments, split_arguments
from llm.answer_text.text_calls import TextCall
from llm.chat import Function, FunctionCall

MAX_TOGETHER = 8
"""Calls that are read from the arguments of one; models call fewer at a time."""


def completed_calls(
    calls: Iterable[FunctionCall], written: Iterable[TextCall], functions: Sequence[Function]
) -> list[FunctionCall]:
    """Returns the calls of an answer, each with an id of its own.

    Arguments that cannot be repaired stay as they are: the tool reports them.

    Args:
        calls: As the service sent them; "" for an unknown id.
        written: Calls that the model wrote as text.
        functions: Those of the request.
    """
    declared = {function.name for function in functions}
    completed: list[FunctionCall] = []
    taken: set[str] = set()
    sent = [part for call in calls for part in _separated(call)]
    for number, call in enumerate([*sent, *(FunctionCall("", part.name, part.arguments) for part in written)]):
        call_id = call.call_id if call.call_id not in taken and call.call_id else f"call_{number}"
        while call_id in taken:
            call_id += "_"
        taken.add(call_id)
        repaired = repaired_arguments(call.arguments)
        arguments = call.arguments if repaired is None else repaired
        completed.append(replace(call, call_id=call_id, name=cleaned_name(call.name, declared), arguments=arguments))
    return completed


def _separated(call: FunctionCall) -> list[FunctionCall]:
    """Returns the calls that a service has put together into one."""
    return [replace(call, arguments=argument) for argument in split_arguments(call.arguments)[:MAX_TOGETHER]] or [call]
