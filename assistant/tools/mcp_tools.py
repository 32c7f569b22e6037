"""Manages the tools of all configured MCP servers, which start once per process.

They run in a separate thread with its own event loop: the protocol library is slow to import and run, and a slow server
must not delay a conversation. Calls and problem reports pass between the two loops.
"""

import asyncio
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field

from assistant.config.tool_settings import ToolServerSection
from assistant.tools import ToolError
from assistant.tools.mcp_server import McpServer
from audio.errors import EngineLoadError
from llm.chat import Function
from llm.name_lookup import use_name_lookup

START_WAIT_S = 10.0
"""Seconds that the start waits for servers. A slower server is added when it is connected."""


@dataclass(slots=True)
class McpTools:
    """Implements `assistant.tools.Tools`.

    Attributes:
        sections: The servers.
        environ: Environment variables.
    """

    name = "tools"

    sections: Sequence[ToolServerSection]
    environ: Mapping[str, str]
    _servers: Sequence[McpServer] = ()
    _main_loop: asyncio.AbstractEventLoop | None = None
    _tools_loop: asyncio.AbstractEventLoop | None = None
    _thread: threading.Thread | None = None
    _stop: "Future[None]" = field(default_factory=Future)
    _ended: "Future[None]" = field(default_factory=Future)
    _listeners: list[Callable[[str], None]] = field(default_factory=list)

    async def load(self) -> None:
        """Starts the servers and waits a limited time for them. Servers that are not connected by then are retried.

        After a cancellation, `aclose` stops the servers.

        Raises EngineLoadError if a variable that a server needs is missing.
        """
        for section in self.sections:
            for name in section.variables:
                if not self.environ.get(name):
                    raise EngineLoadError(
                        f"tool server {section.name}: the environment variable {name} is not set; set it, "
                        "or remove it from env or token_env."
                    )
        self._main_loop = asyncio.get_running_loop()
        checked: Future[None] = Future()
        self._thread = threading.Thread(target=self._run_thread, args=(checked,), name="tools", daemon=True)
        self._thread.start()
        waiting = asyncio.wrap_future(checked)
        waiting.add_done_callback(asyncio.Future.exception)  # the exception may never be retrieved otherwise
        await asyncio.shield(waiting)  # the thread sets the result, whether it is awaited or not

    @property
    def functions(self) -> tuple[Function, ...]:
        """Functions of all servers, in the order of the configuration."""
        return tuple(function for server in self._servers for function in server.functions)

    @property
    def troubles(self) -> list[str]:
        """Current problems of all servers."""
        remarks = [(server.trouble, *server.remarks) for server in self._servers]
        return [what for remark in remarks for what in remark if what]

    @property
    def detail(self) -> str:
        """One line for display."""
        there = [f"{server.section.name} ({len(server.functions)})" for server in self._servers if not server.trouble]
        count = len(self.functions)
        return f"{count} tool{'s' * (count != 1)}: {', '.join(there)}" if there else "no server is available"

    async def call(self, name: str, arguments: str) -> str:
        """See `Tools.call`."""
        for server in self._servers:
            if any(function.name == name for function in server.functions):
                assert self._tools_loop is not None
                try:
                    asked = asyncio.run_coroutine_threadsafe(server.call(name, arguments), self._tools_loop)
                except RuntimeError as error:
                    raise ToolError("the tools were stopped") from error
                return await asyncio.wrap_future(asked)
        raise ToolError(f"there is no tool {name} any more")

    def subscribe(self, report_problem: Callable[[str], None]) -> Callable[[], None]:
        """See `Tools.subscribe`."""
        self._listeners.append(report_problem)
        for trouble in self.troubles:
            report_problem(trouble)
        return lambda: self._listeners.remove(report_problem)

    async def aclose(self) -> None:
        """Stops the servers. Idempotent; the caller sets the timeout."""
        if self._thread is None:
            return
        if not self._stop.done():
            self._stop.set_result(None)
        await asyncio.shield(asyncio.wrap_future(self._ended))

    # ---- thread ----

    def _run_thread(self, checked: "Future[None]") -> None:
        try:
            asyncio.run(self._serve(checked))
        finally:
            if not checked.done():
                checked.set_exception(
                    EngineLoadError("the tools did not start; see `repartee config` for their servers.")
                )
            self._ended.set_result(None)

    async def _serve(self, checked: "Future[None]") -> None:
        self._tools_loop = asyncio.get_running_loop()
        use_name_lookup()
        servers = [McpServer(section, self.environ, self._report) for section in self.sections]
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(server.run(), name=f"tools of {server.section.name}") for server in servers]
            tasks.append(group.create_task(self._first_check(servers, checked), name="first look"))
            await asyncio.wrap_future(self._stop)
            for task in tasks:
                task.cancel()

    async def _first_check(self, servers: Sequence[McpServer], checked: "Future[None]") -> None:
        try:
            async with asyncio.timeout(START_WAIT_S):
                for server in servers:
                    await server.attempted.wait()
        except TimeoutError:
            for server in servers:
                if not server.attempted.is_set():
                    server.trouble = f"the tool server {server.section.name} is not available yet"
        self._servers = servers
        checked.set_result(None)

    def _report(self, what: str) -> None:
        if self._main_loop is not None:
            with suppress(RuntimeError):  # the process is ending, and its loop is closed
                self._main_loop.call_soon_threadsafe(self._notify, what)

    def _notify(self, what: str) -> None:
        for listener in tuple(self._listeners):
            listener(what)
