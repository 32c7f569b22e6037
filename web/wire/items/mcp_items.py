"""Converts items about MCP servers from and to the protocol's JSON objects."""

import json
from typing import Any

from assistant.history.items import ItemId
from assistant.history.mcp_items import (
    FailureKind,
    McpApprovalRequest,
    McpApprovalResponse,
    McpCall,
    McpFailure,
    McpItem,
    McpListTools,
)
from assistant.tools.client_mcp import function_name
from web.wire.values.fields import (
    IDENTIFIER,
    TEXT,
    Field,
    checked,
    dropped_value,
    flag,
    json_text,
    listing,
    nested,
    one_of,
    whole,
)

MAX_LISTED_TOOLS = 128

_ANY = Field(dropped_value)
_COMMON = {"id": Field(IDENTIFIER), "type": _ANY, "object": _ANY, "status": _ANY}
_TOOL_NAME = {
    "server_label": Field(IDENTIFIER, required=True),
    "name": Field(IDENTIFIER, required=True),
    "arguments": Field(TEXT, required=True),
}
_LISTED = {
    "name": Field(IDENTIFIER, required=True),
    "input_schema": Field(json_text, required=True),
    "description": Field(TEXT),
    "annotations": Field(json_text),
}
_FAILURE = {
    "type": Field(one_of("protocol_error", "tool_execution_error", "http_error"), required=True),
    "message": Field(TEXT, required=True),
    "code": Field(whole(-(1 << 31), 1 << 31)),
}
_ITEMS = {
    "mcp_list_tools": {
        **_COMMON,
        "server_label": Field(IDENTIFIER, required=True),
        "tools": Field(listing(nested(_LISTED), maximum=MAX_LISTED_TOOLS), required=True),
    },
    "mcp_approval_request": {**_COMMON, **_TOOL_NAME},
    "mcp_approval_response": {
        **_COMMON,
        "approval_request_id": Field(IDENTIFIER, required=True),
        "approve": Field(flag, required=True),
        "reason": Field(TEXT),
    },
    "mcp_call": {
        **_COMMON,
        **_TOOL_NAME,
        "output": Field(TEXT),
        "error": Field(nested(_FAILURE)),
        "approval_request_id": Field(IDENTIFIER),
    },
}

MCP_ITEMS = tuple(_ITEMS)


def mcp_item_of(kind: str, value: object, path: str) -> McpItem:
    """Parses a client's item of this type; its id is "" if it has none. Raises FieldError."""
    fields = checked(value, path, _ITEMS[kind])
    item_id = ItemId(fields.get("id", ""))
    if kind == "mcp_list_tools":
        return McpListTools(item_id, fields["server_label"], f"[{','.join(map(_tool_text, fields['tools']))}]")
    if kind == "mcp_approval_response":
        request = ItemId(fields["approval_request_id"])
        return McpApprovalResponse(item_id, request, fields["approve"], fields.get("reason"))
    called = (fields["server_label"], fields["name"], fields["arguments"])
    function = function_name(fields["server_label"], fields["name"])
    if kind == "mcp_approval_request":
        return McpApprovalRequest(item_id, *called, function)
    request_id = fields.get("approval_request_id")
    return McpCall(
        item_id,
        *called,
        function,
        fields.get("output"),
        _failure_of(fields.get("error")),
        None if request_id is None else ItemId(request_id),
    )


def mcp_item_object(item: McpItem) -> dict[str, object]:
    """Builds the JSON object of an item."""
    match item:
        case McpListTools():
            tools = json.loads(item.tools)
            return {"id": item.id, "type": "mcp_list_tools", "server_label": item.server_label, "tools": tools}
        case McpApprovalRequest():
            return {
                "id": item.id,
                "type": "mcp_approval_request",
                "server_label": item.server_label,
                "name": item.name,
                "arguments": item.arguments,
            }
        case McpApprovalResponse():
            return {
                "id": item.id,
                "type": "mcp_approval_response",
                "approval_request_id": item.request_id,
                "approve": item.approve,
                "reason": item.reason,
            }
        case McpCall():
            return {
                "id": item.id,
                "type": "mcp_call",
                "server_label": item.server_label,
                "name": item.name,
                "arguments": item.arguments,
                "approval_request_id": item.request_id,
                "output": item.output,
                "error": None if item.failure is None else _failure_object(item.failure),
            }


def _tool_text(tool: dict[str, Any]) -> str:
    fields = {"name": json.dumps(tool["name"]), "input_schema": tool["input_schema"]}
    if "description" in tool:
        fields["description"] = json.dumps(tool["description"])
    if "annotations" in tool:
        fields["annotations"] = tool["annotations"]
    return f"{{{','.join(f'{json.dumps(name)}:{content}' for name, content in fields.items())}}}"


def _failure_of(fields: dict[str, Any] | None) -> McpFailure | None:
    if fields is None:
        return None
    kind: FailureKind = fields["type"]
    return McpFailure(kind, fields["message"], fields.get("code", 0))


def _failure_object(failure: McpFailure) -> dict[str, object]:
    code = {} if failure.kind == "tool_execution_error" else {"code": failure.code}
    return {"type": failure.kind, "message": failure.message, **code}
