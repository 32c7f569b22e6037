"""MCP servers that a client names: lists their tools, offers them to replies, and makes the calls that it approves."""

import asyncio
import json
import secrets
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial

from assistant.config.mcp_hosts import McpHosts
from assistant.events import McpCallEnded, McpCallStarted
from assistant.history.mcp_items import McpApprovalRequest, McpApprovalResponse, McpCall, McpFailure, McpListTools
from assistant.pipeline.engines import ReplyOptions
from assistant.pipeline.mcp_calls import McpCalls
from assistant.pipeline.session import Session
from assistant.tools import ToolError
from assistant.tools.client_mcp import ClientServer, ClientServers, ClientTools, McpCallError, McpTool, functions_of
from assistant.tools.client_mcp_thread import ClientMcpThread
from llm.chat import FunctionCall
from web.access.rate_limits import RateLimits, loop_rates
from web.wire.incoming.commands import ResponseOptions
from web.wire.realtime import Realtime
from web.wire.values.errors import ProtocolError

TOO_FAST = "too many new MCP servers in a short time; name it again in a moment"

_MODES = frozenset({"auto", "none", "required"})


@dataclass(frozen=True, slots=True)
class _List:
    """The list of a server's tools. `done`: set when it is there, or has failed."""

    server: ClientServer
    done: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass(slots=True)
class McpSession:
    """The MCP servers of one client. Use it on the event loop.

    Attributes:
        realtime: The client's protocol state.
        changed: Called when there are messages to send.
        refresh: Called when other tools are offered.
        connect: Makes the connections, when the first server is named.
        servers: The connections; None: there are none yet.
        session: Set before anything else is called.
        rates: How fast new connections may be made: by this conversation, and by all of the server.
        waits: Whether a requested response waits until the tools of its own servers are listed.
    """

    realtime: Realtime
    changed: Callable[[], None]
    refresh: Callable[[], None]
    connect: Callable[[McpHosts], ClientServers] = ClientMcpThread
    servers: ClientServers | None = None
    session: Session = field(init=False)
    rates: RateLimits = field(default_factory=loop_rates)
    waits: bool = False
    _id: str = field(default_factory=lambda: secrets.token_hex(8))
    _awaited: object = None  # the request that waits: an earlier one was cancelled
    _of_session: tuple[ClientServer, ...] = ()
    _of_responses: tuple[ClientServer, ...] = ()
    _tools: dict[object, tuple[McpTool, ...]] = field(default_factory=dict)  # by `ClientServer.connection`
    _lists: dict[object, "_List"] = field(default_factory=dict)
    _running: Counter[str] = field(default_factory=Counter)  # approved calls, by the reply of their request

    def configure(self, servers: tuple[ClientServer, ...]) -> None:
        """Sets the session's servers. Lists the tools of new ones, and disconnects servers that are no longer named."""
        self._of_session = servers
        self._leave_others()
        self._list_new(servers)

    def with_tools(self, options: ReplyOptions, servers: Sequence[ClientServer] | None = None) -> ReplyOptions:
        """Returns the options with the tools that are listed; `servers`: those of one response only.

        A choice of a tool that is not listed becomes "auto".
        """
        tools = self._tools_of(self._of_session if servers is None else servers)
        chat = options.options
        names = {function.name for function in (*chat.functions, *(tools.functions if tools is not None else ()))}
        if chat.choice not in _MODES and chat.choice not in names:
            chat = replace(chat, choice="auto")
        return replace(options, options=chat, client_tools=tools)

    def for_response(self, options: ReplyOptions, response_options: ResponseOptions) -> ReplyOptions:
        """Returns the options of one response with its tools. A choice of a tool that is not listed is an error."""
        complete = self.with_tools(options, response_options.mcp_servers)
        if response_options.tool_choice not in {None, complete.options.choice}:
            about = "response.tool_choice names a tool that is not listed; 'auto' is used"
            self.realtime.report(ProtocolError("invalid_value", about, "response.tool_choice"))
        return complete

    def list_first(self, servers: tuple[ClientServer, ...], then: Callable[[], None]) -> bool:
        """Lists the tools of a response's own servers, and calls `then`. Returns False if all are listed already."""
        missing = [server for server in servers if not self._is_listed(server)]
        if not missing:
            return False
        self._of_responses = servers
        self._leave_others()
        self._list_new(servers)
        self.waits, self._awaited = True, then
        lists = [self._lists[server.connection].done for server in servers]
        self.session.side_tasks.start_task(lambda: self._when_listed(lists, then), "list of tools")
        return True

    # ---- lists ----

    def _is_listed(self, server: ClientServer) -> bool:
        known = self._lists.get(server.connection)
        return known is not None and known.done.is_set()

    def _leave_others(self) -> None:
        kept = {server.connection for server in (*self._of_session, *self._of_responses)}
        for connection in [connection for connection in self._lists if connection not in kept]:
            left = self._lists.pop(connection)
            self._tools.pop(connection, None)
            left.done.set()
            if self.servers is not None:
                self.servers.forget(left.server)

    def _list_new(self, servers: Sequence[ClientServer]) -> None:
        if servers and self.servers is None:
            self.servers = connections = self.connect(self.realtime.config.mcp_hosts)
            self.session.side_tasks.start_task(lambda: _until_end(connections), "client mcp")
        for server in servers:
            if server.connection not in self._lists:
                self._lists[server.connection] = begun = _List(server)
                self.session.side_tasks.start_task(partial(self._list, begun), f"list of {server.label}")

    async def _list(self, begun: _List) -> None:
        assert self.servers is not None
        history, server, connection = self.session.history, begun.server, begun.server.connection
        item = McpListTools(history.reserve(), server.label)
        history.add_mcp_item(item)
        self.realtime.mcp.listing(item)
        self.changed()
        failure = "" if self._may_connect() else TOO_FAST
        tools: tuple[McpTool, ...] = ()
        try:
            if not failure:
                tools = await self.servers.list_tools(server)
        except McpCallError as error:
            failure = str(error)
        except Exception as error:  # noqa: BLE001 - a response may wait for the list
            failure = f"internal error ({type(error).__name__})"
        item = replace(item, tools=json.dumps([_tool_object(tool) for tool in tools]))
        history.replace_mcp_item(item)
        if self._lists.get(connection) is begun:
            self._tools[connection] = tools
            if failure:
                del self._lists[connection]  # a client that names it again has it tried again
            else:
                self.refresh()
            begun.done.set()
        self.realtime.mcp.listed(item, failure)
        self.changed()

    def _may_connect(self) -> bool:
        """Counts a new connection; returns whether it may be made. It limits clients that keep changing headers."""
        return self.rates.allows("mcp_servers", self._id) and self.rates.allows("mcp_servers_of_all", "")

    async def _when_listed(self, lists: Sequence[asyncio.Event], then: Callable[[], None]) -> None:
        for listed in lists:
            await listed.wait()
        if self.waits and self._awaited is then:
            self.waits = False
            then()
            self.changed()

    def _tools_of(self, servers: Sequence[ClientServer]) -> ClientTools | None:
        if self.servers is None:
            return None
        offered = {
            name: (function, server, tool)
            for server in servers
            for name, (function, tool) in functions_of(server, self._tools.get(server.connection, ())).items()
        }
        return ClientTools(self.servers, offered) if offered else None

    # ---- approval ----

    def awaits(self, response: McpApprovalResponse) -> bool:
        """Returns whether the request that this response names is not answered yet."""
        return any(request.id == response.request_id for request in self._unanswered)

    def answered(self, response: McpApprovalResponse) -> None:
        """Makes the call, if it was approved. Then the assistant goes on by itself."""
        request = self.session.history.find(response.request_id)
        if isinstance(request, McpApprovalRequest) and request.reply:  # else the client restores an old conversation
            self._running[request.reply] += 1
            self.session.side_tasks.start_task(partial(self._answered, request, approved=response.approve), "approval")

    @property
    def _unanswered(self) -> list[McpApprovalRequest]:
        items = self.session.history.items
        answered = {item.request_id for item in items if isinstance(item, McpApprovalResponse)}
        return [item for item in items if isinstance(item, McpApprovalRequest) and item.id not in answered]

    async def _answered(self, request: McpApprovalRequest, *, approved: bool) -> None:
        reply = request.reply
        try:
            if approved:
                await self._call(request)
        finally:
            self._running[reply] -= 1
        if not self._running[reply] and all(other.reply != reply for other in self._unanswered):
            del self._running[reply]
            self.session.request_reply(after_reply=True)
        self.changed()

    async def _call(self, request: McpApprovalRequest) -> None:
        tools = self._tools_of((*self._of_session, *self._of_responses))
        call = FunctionCall(f"call_{request.id}", request.function, request.arguments)
        if tools is None or request.function not in tools.offered:
            self._fail(request, call)
            return
        calls = McpCalls(tools, self.session.history, self.session.on_event, self.session.context.settings.tools)
        with suppress(ToolError, TimeoutError):  # the item says it, and so does the model's prompt
            await calls.call(call, request.id)

    def _fail(self, request: McpApprovalRequest, call: FunctionCall) -> None:
        """Adds a call that cannot be made."""
        history = self.session.history
        item = McpCall(
            history.reserve(),
            request.server_label,
            request.name,
            request.arguments,
            request.function,
            failure=McpFailure("protocol_error", "the server is not among the session's tools any more"),
            request_id=request.id,
            call_id=call.call_id,
        )
        history.add_mcp_item(item)
        self.session.on_event(McpCallStarted(None, item))
        self.session.on_event(McpCallEnded(None, item))


async def _until_end(connections: ClientServers) -> None:
    """Closes the connections when the conversation ends."""
    try:
        await asyncio.get_running_loop().create_future()
    finally:
        await connections.aclose()


def _tool_object(tool: McpTool) -> dict[str, object]:
    shown: dict[str, object] = {"name": tool.name, "input_schema": json.loads(tool.schema)}
    if tool.description:
        shown["description"] = tool.description
    if tool.annotations:
        shown["annotations"] = json.loads(tool.annotations)
    return shown
