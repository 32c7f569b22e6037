"""An MCP server for the tests: `python tests/support/mcp/mcp_program.py [PORT]`; without a port, over stdio."""

import asyncio
import os
import sys

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ImageContent

server = MCPServer("tests")


@server.tool()
def weather(place: str) -> str:
    """The weather at a place."""
    return f"In {place} it is sunny."


@server.tool()
async def wait(seconds: float) -> str:
    """Wait for so long."""
    await asyncio.sleep(seconds)
    return "waited"


@server.tool()
def fail() -> str:
    """Fail, saying why."""
    raise ToolError("the list is full")


@server.tool()
def picture() -> ImageContent:
    """Draw something."""
    return ImageContent(type="image", data="AAAA", mime_type="image/png")


@server.tool()
def secret() -> str:
    """Returns the environment."""
    return f"{os.environ.get('TOOL_SECRET', 'nothing')} {os.environ.get('OTHER_SECRET', 'nothing')}"


@server.tool()
def die() -> str:
    """End the server's process."""
    os._exit(3)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
    else:
        server.run("stdio")
