"""Calls tools of a client's MCP servers, and shows each call to the client as an item of the history."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace

from assistant.events import McpApprovalRequested, McpCallEnded, McpCallStarted, SessionEvent
from assistant.history.history import History
from assistant.history.items import ItemId
from assistant.history.mcp_items import CANCELLED, McpApprovalRequest, McpCall, McpFailure
from assistant.tools import ToolSettings, shortened
from assistant.tools.client_mcp import ClientTools, McpCallError
from assistant.turns.events import ReplyId
from llm.chat import Function, FunctionCall


@dataclass(frozen=True, slots=True)
class McpCalls:
    """Implements `ClientCalls` for one reply, and makes the calls that a client has approved.

    Attributes:
        tools: The tools.
        history: Gets an item for each call.
        on_event: Receives the beginning and the end of each call.
        settings: Limits of tool calls.
        reply_id: The reply that makes the calls; None: they were approved after their reply.
    """

    tools: ClientTools
    history: History
    on_event: Callable[[SessionEvent], None]
    settings: ToolSettings
    reply_id: ReplyId | None = None

    @property
    def functions(self) -> tuple[Function, ...]:
        """See `ClientCalls`."""
        return self.tools.functions

    def needs_approval(self, name: str) -> bool:
        """See `ClientCalls`."""
        return self.tools.needs_approval(name)

    async def call(self, call: FunctionCall, request_id: ItemId | None = None) -> str:
        """See `ClientCalls`. `request_id`: the request that the client has approved."""
        _, server, tool = self.tools.offered[call.name]
        item = McpCall(
            self.history.reserve(),
            server.label,
            tool.name,
            call.arguments,
            call.name,
            request_id=request_id,
            call_id=call.call_id,
            in_reply=self.reply_id is not None,
        )
        self.history.add_mcp_item(item)
        self.on_event(McpCallStarted(self.reply_id, item))
        failure: McpFailure | None = McpFailure("protocol_error", CANCELLED)
        output = None
        try:
            async with asyncio.timeout(self.settings.timeout_s):
                output = await self.tools.call(call.name, call.arguments)
            output, failure = shortened(output, self.settings.max_result_chars), None
        except McpCallError as error:
            failure = McpFailure(error.kind, str(error), error.code)
            raise
        except TimeoutError:
            failure = McpFailure("protocol_error", f"no answer within {self.settings.timeout_s:g} s")
            raise
        finally:
            item = replace(item, output=output, failure=failure)
            self.history.replace_mcp_item(item)
            self.on_event(McpCallEnded(self.reply_id, item))
        return output

    def request_approval(self, call: FunctionCall) -> None:
        """Adds the request for approval to the history, and reports it."""
        assert self.reply_id is not None
        _, server, tool = self.tools.offered[call.name]
        item = McpApprovalRequest(
            self.history.reserve(), server.label, tool.name, call.arguments or "{}", call.name, str(self.reply_id)
        )
        self.history.add_mcp_item(item)
        self.on_event(McpApprovalRequested(self.reply_id, item))
