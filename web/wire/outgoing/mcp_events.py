"""Sends the events about MCP servers that belong to no response: lists of tools, and calls that were approved."""

from assistant.events import McpCallEnded, McpCallStarted
from assistant.history.items import ItemId
from assistant.history.mcp_items import McpItem, McpListTools
from web.wire.items.item_order import ItemOrder
from web.wire.items.items import JsonObject
from web.wire.items.mcp_items import mcp_item_object
from web.wire.outgoing.outbox import Outbox
from web.wire.outgoing.server_events import error_object
from web.wire.values.errors import ProtocolError


class McpEvents:
    """Sends these events."""

    def __init__(self, outbox: Outbox, order: ItemOrder) -> None:
        self._outbox = outbox
        self._order = order
        self._open: set[ItemId] = set()  # items that were added and are not done

    def listing(self, item: McpListTools) -> None:
        """Reports that the tools of a server are being listed."""
        self._add_item(item)
        self._outbox.add_event("mcp_list_tools.in_progress", {"item_id": item.id})

    def listed(self, item: McpListTools, failure: str = "") -> None:
        """Reports that the tools are listed. `failure`: why there is no list."""
        if item.id not in self._order:
            return  # deleted meanwhile
        if item.id in self._open:  # else it was sent again after a reconnection
            self._finish(item)
        if not failure:
            self._outbox.add_event("mcp_list_tools.completed", {"item_id": item.id})
            return
        self._outbox.add_event("mcp_list_tools.failed", {"item_id": item.id})
        about = f"The tools of the MCP server '{item.server_label}' cannot be listed: {failure}"
        error = ProtocolError("mcp_list_tools_failed", about, None, None, "server_error")
        self._outbox.add_event("error", {"error": error_object(error)})

    def on_event(self, event: McpCallStarted | McpCallEnded) -> None:
        """Reports the beginning or the end of an approved call."""
        item = event.item
        fields: JsonObject = {"item_id": item.id, "output_index": 0}
        if isinstance(event, McpCallStarted):
            self._add_item(item)
            self._outbox.add_event("response.mcp_call.in_progress", fields)
        elif item.id in self._open:
            self._outbox.add_event(
                "response.mcp_call.failed" if item.failure else "response.mcp_call.completed", fields
            )
            self._finish(item)

    def begin_anew(self) -> None:
        """Forgets what was sent, because all items are sent again."""
        self._open.clear()

    def deleted(self, item: ItemId) -> None:
        """Notes that an item was deleted."""
        self._open.discard(item)

    def _add_item(self, item: McpItem) -> None:
        self._open.add(item.id)
        fields: JsonObject = {"previous_item_id": self._order.insert(item.id), "item": mcp_item_object(item)}
        self._outbox.add_event("conversation.item.added", fields)

    def _finish(self, item: McpItem) -> None:
        self._open.remove(item.id)
        fields: JsonObject = {"previous_item_id": self._order.before(item.id), "item": mcp_item_object(item)}
        self._outbox.add_event("conversation.item.done", fields)
