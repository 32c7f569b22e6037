"""History items about MCP servers that a client names. The client sees all; the model sees calls with their results."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from assistant.history.item_id import ItemId
from assistant.history.untrusted_results import as_data, client_source
from llm.chat import FunctionCall

FailureKind = Literal["protocol_error", "tool_execution_error", "http_error"]

CANCELLED = "the call was cancelled"
"""Failure of a call whose reply was cancelled. It may have been carried out."""

NOT_APPROVED = "error: not done: this call was not approved"
"""Output of the call for the model. A reason of the client follows."""


@dataclass(frozen=True, slots=True)
class McpListTools:
    """The tools of a server.

    Attributes:
        tools: A JSON list, as text.
    """

    id: ItemId
    server_label: str
    tools: str = "[]"


@dataclass(frozen=True, slots=True)
class McpApprovalRequest:
    """The model wants to call a tool, and the client has to approve.

    Attributes:
        function: The model's name of the tool.
        reply: The reply that made it; "" for an old request that a client adds.
    """

    id: ItemId
    server_label: str
    name: str
    arguments: str
    function: str
    reply: str = ""


@dataclass(frozen=True, slots=True)
class McpApprovalResponse:
    """The client's answer to a request for approval."""

    id: ItemId
    request_id: ItemId
    approve: bool
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class McpFailure:
    """Failure of a call.

    Attributes:
        code: 0 for a tool's own error.
    """

    kind: FailureKind
    message: str
    code: int = 0


@dataclass(frozen=True, slots=True)
class McpCall:
    """A call of a tool.

    Attributes:
        function: The model's name of the tool.
        output: What it returned; None while it runs, and if it failed.
        failure: Why it failed; None if it did not.
        request_id: The request for approval, if there was one.
        call_id: Id of the call for the model.
        in_reply: Whether the model sees it as a part of a reply, and not at its own place.
    """

    id: ItemId
    server_label: str
    name: str
    arguments: str
    function: str
    output: str | None = None
    failure: McpFailure | None = None
    request_id: ItemId | None = None
    call_id: str = ""
    in_reply: bool = False


McpItem = McpListTools | McpApprovalRequest | McpApprovalResponse | McpCall


def called(item: McpItem, remembered: Sequence[object]) -> list[tuple[FunctionCall, str]]:
    """Returns the call with its output that the model sees at the place of this item, if there is one."""
    match item:
        case McpCall(in_reply=False) if item.output is not None or item.failure is not None:
            output = item.output if item.failure is None else f"error: {item.failure.message}"
            return [(_call(item, item.call_id), as_data(client_source(item.server_label), output or ""))]
        case McpApprovalResponse(approve=False):
            requests = (other for other in remembered if isinstance(other, McpApprovalRequest))
            request = next((other for other in requests if other.id == item.request_id), None)
            if request is not None:
                text = f"{NOT_APPROVED}: {item.reason}" if item.reason else NOT_APPROVED
                return [(_call(request, ""), text)]
    return []


def _call(item: McpCall | McpApprovalRequest, call_id: str) -> FunctionCall:
    return FunctionCall(call_id or f"call_{item.id}", item.function, item.arguments)


def texts_in_prompt(item: McpItem) -> tuple[str, ...]:
    """Returns the texts that the model sees at the place of this item."""
    if isinstance(item, McpCall) and not item.in_reply:
        return item.name + item.arguments, item.output or ""
    return ()


def hidden_text(item: McpItem) -> str:
    """Returns the text that only the client sees."""
    match item:
        case McpListTools():
            return item.tools
        case McpApprovalRequest():
            return item.name + item.arguments
        case McpApprovalResponse():
            return item.reason or ""
        case McpCall():
            return item.name + item.arguments + (item.output or "") if item.in_reply else ""
