"""Connects to the MCP servers that a client names, in a thread of its own.

A client chooses what is connected to, so the connections are narrower than those of `assistant/tools/mcp_server.py`:
only listed hosts, no redirects, no proxy, and no address inside a network unless it is listed. The `mcp` package (extra
`mcp`) implements the protocol; it is imported in the thread, because that takes a second.
"""

import asyncio
import json
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from assistant.config.mcp_hosts import McpHosts
from assistant.tools.client_mcp import LIST_TIMEOUT_S, ClientServer, McpCallError, McpTool
from assistant.tools.guarded_lookup import GuardedLookup

CLOSE_TIMEOUT_S = 5.0
"""Longest time to close the connections at the end."""


def mcp_available() -> bool:
    """Returns whether the package mcp is installed."""
    return find_spec("mcp") is not None


async def load_package(hosts: McpHosts) -> None:
    """Imports the package mcp, if a client may name servers, so that no conversation waits for it."""
    if hosts.entries and mcp_available():
        with suppress(ImportError):  # it is reported when a server is named
            await asyncio.to_thread(import_module, "assistant.tools.client_mcp_connection")


class ClientMcpThread:
    """Implements `ClientServers`. The thread starts with the first server and ends with `aclose`."""

    def __init__(self, hosts: McpHosts) -> None:
        """`hosts`: the hosts that clients may name."""
        self._hosts = hosts
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._started: Future[None] = Future()
        self._stop: asyncio.Event | None = None
        self._ended: Future[None] = Future()
        self._tasks: asyncio.TaskGroup
        self._connections: dict[object, Any] = {}  # ServerConnection, whose module is imported in the thread

    async def list_tools(self, server: ClientServer) -> tuple[McpTool, ...]:
        """See `ClientServers.list_tools`."""
        try:
            async with asyncio.timeout(LIST_TIMEOUT_S):
                tools: tuple[McpTool, ...] = await self._run(lambda: self._connection(server).list_tools())
                return tools
        except TimeoutError:
            raise McpCallError("protocol_error", f"no answer within {LIST_TIMEOUT_S:g} s") from None

    async def call(self, server: ClientServer, tool: str, arguments: str) -> str:
        """See `ClientServers.call`. The caller limits the time."""
        output: str = await self._run(lambda: self._connection(server).call(tool, json.loads(arguments)))
        return output

    def forget(self, server: ClientServer) -> None:
        """See `ClientServers.forget`."""
        if self._loop is not None and not self._ended.done():
            with suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(self._drop, server)

    async def aclose(self) -> None:
        """See `ClientServers.aclose`."""
        if self._thread is None:
            return
        with suppress(Exception):
            async with asyncio.timeout(CLOSE_TIMEOUT_S):
                await asyncio.wrap_future(self._started)
                assert self._loop is not None
                assert self._stop is not None
                with suppress(RuntimeError):
                    self._loop.call_soon_threadsafe(self._stop.set)
                await asyncio.shield(asyncio.wrap_future(self._ended))

    # ---- between the threads ----

    async def _run(self, work: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
        """Runs a coroutine in the thread, which is started if needed. Cancellation is passed on."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run_thread, name="client mcp", daemon=True)
            self._thread.start()
        await asyncio.shield(asyncio.wrap_future(self._started))
        assert self._loop is not None

        async def started() -> Any:
            return await work()

        running: Coroutine[Any, Any, Any] = started()
        try:
            asked = asyncio.run_coroutine_threadsafe(running, self._loop)
        except RuntimeError as error:
            running.close()
            raise McpCallError("protocol_error", "the connection was closed") from error
        return await asyncio.wrap_future(asked)

    # ---- thread ----

    def _run_thread(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as error:  # noqa: BLE001 - passed on to the waiting callers
            if not self._started.done():
                self._started.set_exception(error)
        finally:
            self._ended.set_result(None)

    async def _serve(self) -> None:
        from assistant.tools import client_mcp_connection  # noqa: F401, PLC0415 - slow to import

        loop = asyncio.get_running_loop()
        setattr(loop, "getaddrinfo", GuardedLookup(self._hosts).getaddrinfo)  # noqa: B010 - of this loop only
        async with asyncio.TaskGroup() as self._tasks:
            self._loop, self._stop = loop, asyncio.Event()
            self._started.set_result(None)
            await self._stop.wait()
            for connection in self._connections.values():
                connection.close()

    def _connection(self, server: ClientServer) -> Any:
        from assistant.tools.client_mcp_connection import ServerConnection  # noqa: PLC0415 - imported already

        known = self._connections.get(server.connection)
        if known is None:
            known = self._connections[server.connection] = ServerConnection(server, self._hosts, self._tasks)
        return known

    def _drop(self, server: ClientServer) -> None:
        if (connection := self._connections.pop(server.connection, None)) is not None:
            connection.close()
