"""MCP servers that a client names for its session: what is known of a server and its tools, and which need approval.

No I/O. `assistant/tools/client_mcp_thread.py` connects to the servers.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from assistant.history.mcp_items import FailureKind
from assistant.history.untrusted_results import client_source
from assistant.tools import ToolError
from assistant.tools.names import named
from llm.chat import Function

LIST_TIMEOUT_S = 10.0
"""Longest time to connect to a server and list its tools."""

MAX_MESSAGE_CHARS = 500
"""Characters of a server's error message that are passed on."""

MAX_DESCRIPTION_CHARS = 1024
"""Characters of a function's description, with that of its server. Every prompt contains all descriptions."""


class McpCallError(ToolError):
    """A call failed. Unlike other ToolErrors, the text may be the server's own; it goes to the client and the model.

    Attributes:
        kind: Where it failed, as in the protocol's items.
        code: The code of the protocol or of HTTP; 0 for a tool's own error.
    """

    def __init__(self, kind: FailureKind, message: str, code: int = 0) -> None:
        super().__init__(message)
        self.kind: FailureKind = kind
        self.code = code


@dataclass(frozen=True, slots=True)
class ToolFilter:
    """Selects tools. None: any.

    Attributes:
        names: Their names.
        read_only: Whether the server annotates them as read-only.
    """

    names: frozenset[str] | None = None
    read_only: bool | None = None

    def matches(self, tool: "McpTool") -> bool:
        """Returns whether the tool is selected."""
        return (self.names is None or tool.name in self.names) and self.read_only in {None, tool.read_only}


ALL_TOOLS = ToolFilter()
NO_TOOLS = ToolFilter(frozenset())


@dataclass(frozen=True, slots=True)
class McpTool:
    """A tool of a server.

    Attributes:
        name: The server's name for it.
        schema: JSON Schema of its arguments, as JSON text.
        annotations: The server's annotations, as JSON text; "" for none.
        read_only: Whether they say that it changes nothing.
    """

    name: str
    description: str
    schema: str
    annotations: str = ""
    read_only: bool = False


@dataclass(frozen=True, slots=True)
class ClientServer:
    """A server as the client describes it.

    Attributes:
        label: The client's name for it.
        url: Its address.
        headers: Headers of every request, with their values, which may be secret.
        description: What it offers; "" if unknown.
        allowed: The tools that are offered.
        always: Tools whose calls need approval even if `never` selects them.
        never: Tools whose calls need no approval. All others need it.
        shown_allowed: `allowed` as the client wrote it, for the session object.
        shown_approval: The same for `always` and `never`.
        path: Where the client described it, for errors.
    """

    label: str
    url: str
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    description: str = ""
    allowed: ToolFilter = ALL_TOOLS
    always: ToolFilter = NO_TOOLS
    never: ToolFilter = NO_TOOLS
    shown_allowed: object = field(default=None, compare=False)
    shown_approval: object = field(default=None, compare=False)
    path: str = field(default="", compare=False)

    @property
    def connection(self) -> tuple[str, str, tuple[tuple[str, str], ...], ToolFilter]:
        """Key that is equal for descriptions of the same connection and the same list of tools."""
        return self.label, self.url, self.headers, self.allowed

    def needs_approval(self, tool: McpTool) -> bool:
        """Returns whether a call of this tool needs the client's approval."""
        return self.always.matches(tool) or not self.never.matches(tool)


def function_name(label: str, tool: str) -> str:
    """Returns the name by which the model knows a tool."""
    return next(iter(named(label, [tool])))


def functions_of(server: ClientServer, tools: Sequence[McpTool]) -> dict[str, tuple[Function, McpTool]]:
    """Returns the functions for the model, by their names."""
    by_name = {tool.name: tool for tool in tools}
    functions = {}
    for name, own_name in named(server.label, by_name).items():
        tool = by_name[own_name]
        about = ": ".join(part for part in (server.description, tool.description) if part)
        functions[name] = (
            Function(name, about[:MAX_DESCRIPTION_CHARS], tool.schema, False, source=client_source(server.label)),
            tool,
        )
    return functions


class ClientServers(Protocol):
    """Connections to the servers that a client has named."""

    async def list_tools(self, server: ClientServer) -> tuple[McpTool, ...]:
        """Connects and lists the allowed tools. Raises McpCallError."""
        ...

    async def call(self, server: ClientServer, tool: str, arguments: str) -> str:
        """Calls a tool. `arguments` is a JSON object. Raises McpCallError."""
        ...

    def forget(self, server: ClientServer) -> None:
        """Closes the connection to a server."""
        ...

    async def aclose(self) -> None:
        """Closes all connections. Idempotent."""
        ...


@dataclass(frozen=True, slots=True)
class ClientTools:
    """The tools of a client's servers that one reply may call.

    Attributes:
        servers: The connections.
        offered: Function, server and tool, by the function's name.
    """

    servers: ClientServers
    offered: Mapping[str, tuple[Function, ClientServer, McpTool]]

    @property
    def functions(self) -> tuple[Function, ...]:
        """The functions, in order."""
        return tuple(function for function, _, _ in self.offered.values())

    def needs_approval(self, name: str) -> bool:
        """Returns whether a call of this function needs approval; False if it is not one of these tools."""
        if name not in self.offered:
            return False
        _, server, tool = self.offered[name]
        return server.needs_approval(tool)

    async def call(self, name: str, arguments: str) -> str:
        """Calls a function. Raises McpCallError."""
        _, server, tool = self.offered[name]
        return await self.servers.call(server, tool.name, arguments)
