"""Runs or connects to one MCP server, lists and calls its tools, and reconnects when the connection is lost.

Runs on the event loop of `assistant/tools/mcp_tools.py`. The official `mcp` package (extra `mcp`) implements the
protocol.
"""

import asyncio
import json
import logging
import ssl
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import httpx2
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED, INVALID_REQUEST, PARSE_ERROR, CallToolResult, Tool

from assistant.config.tool_settings import ToolServerSection
from assistant.support.exception_groups import first_of
from assistant.support.notice import notice
from assistant.tools import ToolError
from assistant.tools.mcp_limits import MAX_BYTES, TOO_LARGE, LimitedBody, LimitedParts, RefusedBody
from assistant.tools.mcp_stdio import running
from assistant.tools.names import named
from llm.chat import Function
from llm.environment import CHECK_PROXY, environment_of_client, goes_through_proxy, proxy_for
from llm.errors import causes_of
from llm.http.encoding import PLAIN, coding_of

if TYPE_CHECKING:
    from mcp.client._transport import (
        Transport,
        TransportStreams,
    )  # names of the package's own inside: not needed to run

CONNECT_TIMEOUT_S = 20.0
"""Longest time to start a program or connect to an address, and list its tools. Some programs install themselves
first."""

CHECK_INTERVAL_S = 15.0
CHECK_TIMEOUT_S = 5.0
"""Health check: interval, and the time after which a server that does not list its tools counts as lost."""

FIRST_RETRY_S, MAX_RETRY_S = 1.0, 60.0
"""Delay before a reconnection: doubled after each failure, reset after a connection that lasted."""

for _name in ("mcp", "client", "httpx2"):
    # These libraries log the content of messages that they cannot read.
    logging.getLogger(_name).setLevel(logging.CRITICAL + 1)

MAX_TOOLS = 64
MAX_PAGES = 20
MAX_DESCRIPTION_CHARS = 1024
MAX_SCHEMA_CHARS = 20_000
"""Characters. Every prompt contains all descriptions and schemas."""


@dataclass(slots=True)
class McpServer:
    """Manages the connection to one configured server.

    Attributes:
        environ: Environment variables.
        report_problem: Called with one sentence about each problem.
        functions: The server's functions. They stay during an interruption, so that prompts do not change.
        attempted: Set after the first connection attempt.
        trouble: Why its tools cannot be called now; "" if they can.
        remarks: Other problems, each once.
    """

    section: ToolServerSection
    environ: Mapping[str, str]
    report_problem: Callable[[str], None]
    functions: tuple[Function, ...] = ()
    attempted: asyncio.Event = field(default_factory=asyncio.Event)
    trouble: str = ""
    remarks: list[str] = field(default_factory=list)
    _tools: Mapping[str, str] = field(default_factory=dict)
    _client: Client | None = None
    _calls: int = 0  # number of running calls
    _excess: str = ""  # describes the limit exceeded by the last such HTTP response
    _refusal: str = ""  # while connecting to an address: the problem and the remedy
    _check_requested: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self) -> None:
        """Keeps the server connected until cancelled."""
        retry_s = FIRST_RETRY_S
        loop = asyncio.get_running_loop()
        while True:
            began_s = loop.time()
            self._refusal = self._excess = ""
            try:
                async with self._connected() as client:
                    self._client, self.trouble = client, ""
                    self.attempted.set()
                    try:
                        await self._monitor(client)
                    finally:
                        self._client = None  # before closing, which takes a while, so that no call starts then
            except Exception as error:  # the library and the system raise many kinds
                if (task := asyncio.current_task()) is not None and task.cancelling():
                    raise asyncio.CancelledError from error  # an error during closing had replaced the cancellation
                if loop.time() - began_s > MAX_RETRY_S:
                    retry_s = FIRST_RETRY_S
                self._report_lost(error, retry_s)
            self.attempted.set()
            await asyncio.sleep(retry_s)
            retry_s = min(2 * retry_s, MAX_RETRY_S)

    async def call(self, name: str, arguments: str) -> str:
        """Calls one of `functions`. Raises ToolError."""
        client = self._client
        if client is None:
            raise ToolError(f"the tool server {self.section.name} is not there at the moment; say so")
        self._calls += 1
        self._excess = ""
        try:
            result = await client.call_tool(self._tools[name], json.loads(arguments))
        except MCPError as error:
            if what := error.message if error.code == TOO_LARGE else self._excess:
                self._excess = ""
                say = f"the tool server {self.section.name} returned {what}, which is not read; ask for less"
                raise ToolError(say) from None
            self._check_requested.set()
            raise ToolError(f"the tool server {self.section.name} refused the call (code {error.code})") from error
        except Exception as error:
            self._check_requested.set()
            raise ToolError(f"the tool server {self.section.name} failed ({type(error).__name__})") from error
        finally:
            self._calls -= 1
        return text_of(result)

    # ---- connection ----

    @asynccontextmanager
    async def _connected(self) -> AsyncGenerator[Client]:
        """Connects and lists the tools."""
        async with AsyncExitStack() as stack:
            async with asyncio.timeout(CONNECT_TIMEOUT_S):
                transport = await self._transport(stack)
                client = await stack.enter_async_context(Client(limited(transport), cache=None))
                self._update_tools(await listed(client))
            yield client

    async def _transport(self, stack: AsyncExitStack) -> "Transport":
        section = self.section
        if section.url:
            token = self.environ[section.token_env] if section.token_env else ""
            headers = {**PLAIN, **({"Authorization": f"Bearer {token}"} if token else {})}
            # No read timeout: an event stream may be silent for long, and calls have their own timeouts.
            timeout = httpx2.Timeout(CONNECT_TIMEOUT_S, read=None)
            hooks = {"response": [self._check_response]}
            try:
                with environment_of_client():
                    http = httpx2.AsyncClient(
                        headers=headers,
                        timeout=timeout,
                        event_hooks=hooks,
                        verify=httpx2.create_ssl_context() if section.url.startswith("https:") else True,
                        proxy=proxy_for(section.url),
                        trust_env=False,
                    )
            except ValueError as error:
                self._refusal = str(error)
                raise
            client = await stack.enter_async_context(http)
            return streamable_http_client(section.url, http_client=client, max_sse_event_size=MAX_BYTES)
        program, *arguments = section.argv
        env = {name: self.environ[name] for name in section.variables}
        return running([program, *arguments], env)

    async def _check_response(self, response: httpx2.Response) -> None:
        """Limits the body, and records why the server refused a request, which the library does not report.

        A refused GET or DELETE is not always an error.
        """
        body = response.stream
        assert isinstance(body, httpx2.AsyncByteStream)
        if coding := coding_of(response.headers):
            response.stream = RefusedBody(body)
            self._excess = f"a compressed answer (Content-Encoding: {coding})"
            self._refusal = f"it sends compressed answers (Content-Encoding: {coding}); turn compression off there"
            return
        events = response.headers.get("content-type", "").startswith("text/event-stream")
        response.stream = LimitedBody(body, events=events, on_excess=self._exceeded)
        if self._client is None and response.request.method == "POST":
            kind = response.headers.get("content-type", "")
            self._refusal = refusal_of(response.status_code, kind, self.section.token_env)

    def _exceeded(self, what: str) -> None:
        self._excess = what

    async def _monitor(self, client: Client) -> None:
        """Checks the server regularly. Raises an error when it is lost."""
        while True:
            try:
                async with asyncio.timeout(CHECK_INTERVAL_S):
                    await self._check_requested.wait()
            except TimeoutError:
                pass
            self._check_requested.clear()
            if self._calls:
                continue  # many servers answer nothing else during a call
            async with asyncio.timeout(CHECK_TIMEOUT_S):
                self._update_tools(await listed(client))

    def _report_lost(self, error: Exception, retry_s: float) -> None:
        excess_text = f"it answers with {self._excess}, which is not accepted; see its log" if self._excess else ""
        reason = self._refusal or excess_text or reason_of(error, self.section.url)
        trouble = notice("tool_server_gone", name=self.section.name, reason=reason)
        if trouble != self.trouble:  # reported once, not at every attempt
            self.trouble = trouble
            seconds = f"{retry_s:g}"
            self.report_problem(notice("tool_server_lost", name=self.section.name, reason=reason, seconds=seconds))

    # ---- tools ----

    def _update_tools(self, tools: Sequence[Tool]) -> None:
        allowed_names = self.section.only.split()
        tools_by_name = {tool.name: tool for tool in tools}
        if lacking := [name for name in allowed_names if name not in tools_by_name]:
            self._report_once(notice("tools_lacking", name=self.section.name, tools=", ".join(lacking)))
        names = named(self.section.name, [name for name in tools_by_name if not allowed_names or name in allowed_names])
        functions = [_function(name, tools_by_name[tool], self.section, tool) for name, tool in names.items()]
        fitting = [function for function in functions if len(function.parameters) <= MAX_SCHEMA_CHARS][:MAX_TOOLS]
        if len(fitting) < len(functions):
            left_out = len(functions) - len(fitting)
            self._report_once(notice("tools_left_out", name=self.section.name, count=left_out))
        self._tools, self.functions = names, tuple(fitting)

    def _report_once(self, what: str) -> None:
        if what not in self.remarks:
            self.remarks.append(what)
            self.report_problem(what)


@asynccontextmanager
async def limited(transport: "Transport") -> "AsyncGenerator[TransportStreams]":
    """Wraps the transport to limit the number of parts in results."""
    async with transport as (messages, sending):
        yield LimitedParts(messages), sending


async def listed(client: Client) -> list[Tool]:
    """Returns all tools of a server."""
    tools: list[Tool] = []
    cursor: str | None = None
    for _ in range(MAX_PAGES):
        page = await client.list_tools(cursor=cursor)
        tools += page.tools
        cursor = page.next_cursor
        if not cursor:
            break
    return tools


def _function(name: str, tool: "Tool", section: ToolServerSection, own_name: str) -> Function:
    description = " ".join((tool.description or tool.title or "").split())[:MAX_DESCRIPTION_CHARS]
    schema = json.dumps(tool.input_schema, sort_keys=True, separators=(",", ":"))
    return Function(name, description, schema, section.trusted, section.mode_of(own_name), section.name)


def text_of(result: CallToolResult) -> str:
    """Returns the texts of a result for the model; other content only by its kind. A failure is marked."""
    parts = [block.text if block.type == "text" else f"[{block.type}]" for block in result.content]
    if not parts and result.structured_content is not None:
        parts = [json.dumps(result.structured_content, ensure_ascii=False)]
    text = "\n".join(parts) or "done"
    return f"error: {text}" if result.is_error else text


def refusal_of(status: int, content_type: str, token_env: str) -> str:  # noqa: PLR0911 - one for each kind
    """Returns why an address does not speak MCP, and the remedy; "" if it does."""
    if status in {401, 403}:
        remedy = f"correct {token_env}" if token_env else "set token_env to the variable that holds it"
        return f"it {'rejects the' if token_env else 'requires a'} token; {remedy}"
    if status in {404, 405}:
        return "there is no MCP server at its address; correct its url"
    if status == 407:
        return f"a proxy in front of it refuses; {CHECK_PROXY}"
    if status == 429:
        return "it accepts no more requests for now; wait, or raise its quota"
    if content_type.startswith("text/html"):
        return "there is a web page at its address; correct its url"
    if status < 300:
        return ""
    return f"it answers with status {status}; {'' if status >= 500 else 'correct its url, or '}see its log"


def reason_of(error: BaseException, url: str) -> str:  # noqa: PLR0911 - one for each kind
    """Returns why a connection failed, without content of the conversation, from the innermost error."""
    error = first_of(error)
    if isinstance(error, TimeoutError | httpx2.TimeoutException):
        return "no answer in time"
    if any(isinstance(cause, ssl.SSLCertVerificationError) for cause in causes_of(error)):
        return "its certificate is not trusted; correct its url, or set SSL_CERT_FILE"
    if isinstance(error, httpx2.ProxyError):
        return f"a proxy in front of it refuses; {CHECK_PROXY}"
    if isinstance(error, httpx2.ConnectError):
        if goes_through_proxy(url):
            return f"no connection to the proxy in front of it; {CHECK_PROXY}"
        return "no connection; start it, or correct its url"
    if isinstance(error, FileNotFoundError):
        return "no such program"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    if isinstance(error, MCPError) and error.code == CONNECTION_CLOSED:
        return "it ended, or closed the connection, before it had answered"
    if isinstance(error, MCPError) and error.code == TOO_LARGE:
        return f"it answers with {error.message}, which is not accepted; see its log"
    if isinstance(error, MCPError) and error.code not in {PARSE_ERROR, INVALID_REQUEST}:
        return f"it refuses the request (code {error.code}); see its log"
    if isinstance(error, MCPError | ValueError):
        return "its answer is not MCP; correct its url or command"
    return type(error).__name__
