"""One connection to an MCP server that a client names. Runs on the event loop of `client_mcp_thread`."""

import asyncio
import json
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import httpx2
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED, Tool

from assistant.config.mcp_hosts import McpHosts
from assistant.support.exception_groups import first_of
from assistant.tools.client_mcp import LIST_TIMEOUT_S, MAX_MESSAGE_CHARS, ClientServer, McpCallError, McpTool
from assistant.tools.guarded_lookup import RefusedAddressError
from assistant.tools.mcp_limits import MAX_BYTES, LimitedBody, RefusedBody
from assistant.tools.mcp_server import MAX_SCHEMA_CHARS, MAX_TOOLS, limited, listed, text_of
from llm.errors import causes_of
from llm.http.encoding import PLAIN, coding_of

if TYPE_CHECKING:
    from mcp.client._transport import Transport

GOODBYE_TIMEOUT_S = 2.0
"""Longest wait for a server that is told that its session is over."""

CLOSED = "the connection to the server was closed"


@dataclass(slots=True)
class ServerConnection:
    """Connects when it is first needed, and again after a failure.

    Attributes:
        server: The server.
        hosts: The hosts that clients may name.
        tasks: Owns the connection's task.
    """

    server: ClientServer
    hosts: McpHosts
    tasks: asyncio.TaskGroup
    _task: "asyncio.Task[None] | None" = None
    _client: "asyncio.Future[Client] | None" = None
    _end: asyncio.Event = field(default_factory=asyncio.Event)
    _status: int = 0  # of the last HTTP response that was refused
    _excess: str = ""

    async def list_tools(self) -> tuple[McpTool, ...]:
        """Lists the allowed tools. Raises McpCallError."""
        try:
            listed_tools = await listed(await self._connected())
        except Exception as error:
            raise self._failure(error) from error
        tools = (_tool(tool) for tool in listed_tools)
        allowed = [tool for tool in tools if self.server.allowed.matches(tool) and len(tool.schema) <= MAX_SCHEMA_CHARS]
        return tuple(allowed[:MAX_TOOLS])

    async def call(self, tool: str, arguments: dict[str, Any]) -> str:
        """Calls a tool. Raises McpCallError."""
        try:
            client = await self._connected()
            self._status, self._excess = 0, ""
            result = await client.call_tool(tool, arguments)
        except Exception as error:
            raise self._failure(error) from error
        text = text_of(result)
        if result.is_error:
            raise McpCallError("tool_execution_error", text.removeprefix("error: ")[: 8 * MAX_MESSAGE_CHARS])
        return text

    def close(self) -> None:
        """Closes the connection; it is not opened again."""
        self._end.set()

    async def _connected(self) -> Client:
        if self._end.is_set():
            raise McpCallError("protocol_error", CLOSED)
        if refusal := self.hosts.refusal(self.server.url):
            raise McpCallError("protocol_error", refusal)
        if self._task is None or self._task.done() or self._client is None:
            self._client = asyncio.get_running_loop().create_future()
            self._client.add_done_callback(_retrieved)
            self._task = self.tasks.create_task(self._run(self._client), name=f"client mcp {self.server.label}")
        return await asyncio.shield(self._client)

    async def _run(self, opened: "asyncio.Future[Client]") -> None:
        """Keeps the connection open until `close`. Errors are set in `opened`."""
        self._status, self._excess = 0, ""
        try:
            async with AsyncExitStack() as stack:
                async with asyncio.timeout(LIST_TIMEOUT_S):
                    client = await stack.enter_async_context(Client(limited(await self._transport(stack)), cache=None))
                opened.set_result(client)
                await self._end.wait()
        except Exception as error:  # noqa: BLE001 - passed on to the callers
            if not opened.done():
                opened.set_exception(self._failure(error))
        finally:
            if not opened.done():
                opened.set_exception(McpCallError("protocol_error", CLOSED))

    async def _transport(self, stack: AsyncExitStack) -> "Transport":
        # The connection is direct: a proxy would resolve the host's name itself, unchecked.
        http = httpx2.AsyncClient(
            headers={**dict(self.server.headers), **PLAIN},
            timeout=httpx2.Timeout(LIST_TIMEOUT_S, read=None),
            event_hooks={"request": [_limit_goodbye], "response": [self._check_response]},
            verify=httpx2.create_ssl_context() if self.server.url.startswith("https:") else True,
            trust_env=False,
            follow_redirects=False,
        )
        client = await stack.enter_async_context(http)
        return streamable_http_client(self.server.url, http_client=client, max_sse_event_size=MAX_BYTES)

    async def _check_response(self, response: httpx2.Response) -> None:
        """Limits the body, and records a refusal, which the library does not report."""
        body = response.stream
        assert isinstance(body, httpx2.AsyncByteStream)
        if response.request.method == "POST" and response.status_code >= 300:
            self._status = response.status_code
        if coding := coding_of(response.headers):
            response.stream = RefusedBody(body)
            self._excess = f"a compressed answer (Content-Encoding: {coding})"
            return
        events = response.headers.get("content-type", "").startswith("text/event-stream")
        response.stream = LimitedBody(body, events=events, on_excess=self._exceeded)

    def _exceeded(self, what: str) -> None:
        self._excess = what

    def _failure(self, error: BaseException) -> McpCallError:  # noqa: PLR0911 - one for each kind
        """Returns what the client is told. After all but a refusal by the server itself, the next call reconnects."""
        error = first_of(error)
        if isinstance(error, McpCallError):
            return error
        status, excess = self._status, self._excess
        if status and not 300 <= status < 400:
            self._reconnect()
            return McpCallError("http_error", f"the server answers with status {status}", status)
        if status:
            self._reconnect()
            return McpCallError("http_error", "the server redirects the request, which is not followed", status)
        if excess:
            return McpCallError("protocol_error", f"the server returned {excess}, which is not read")
        if isinstance(error, MCPError) and error.code != CONNECTION_CLOSED:
            return McpCallError("protocol_error", str(error.message)[:MAX_MESSAGE_CHARS], int(error.code))
        self._reconnect()
        if any(isinstance(cause, RefusedAddressError) for cause in causes_of(error)):
            return McpCallError("protocol_error", "the address of the host is not public, and is not listed itself")
        if isinstance(error, TimeoutError | httpx2.TimeoutException):
            return McpCallError("protocol_error", "no answer in time")
        if isinstance(error, httpx2.ConnectError | MCPError):
            return McpCallError("protocol_error", "no connection")
        return McpCallError("protocol_error", f"the server's answer is not MCP ({type(error).__name__})")

    def _reconnect(self) -> None:
        """Gives up this connection."""
        end, self._end = self._end, asyncio.Event()
        if end.is_set():
            self._end.set()
        end.set()
        self._client = None


async def _limit_goodbye(request: httpx2.Request) -> None:
    """Limits the time of the last request. Answers to the others may take long, and their callers limit them."""
    if request.method == "DELETE":
        request.extensions["timeout"]["read"] = GOODBYE_TIMEOUT_S


def _retrieved(opened: "asyncio.Future[Client]") -> None:
    """Reads the exception, which otherwise would be logged when nobody waits for it any more."""
    with suppress(asyncio.CancelledError):
        opened.exception()


def _tool(tool: Tool) -> McpTool:
    annotations = {} if tool.annotations is None else tool.annotations.model_dump(by_alias=True, exclude_none=True)
    return McpTool(
        tool.name,
        " ".join((tool.description or tool.title or "").split()),
        json.dumps(tool.input_schema, sort_keys=True, separators=(",", ":")),
        json.dumps(annotations) if annotations else "",
        tool.annotations is not None and tool.annotations.read_only_hint is True,
    )
