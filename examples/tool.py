"""A tool for the language model: a shopping list in a file, as an MCP server.

Add it to your configuration (`repartee config` names the file), then say "put milk on the shopping list":

    [[tools.servers]]
    name = "shopping"
    command = "/path/to/.venv/bin/python /path/to/examples/tool.py /path/to/shopping.txt"

It needs the package mcp (docs/tools.md) and a language model that can call functions.
"""

import sys
from pathlib import Path

from mcp.server.mcpserver import MCPServer

FILE = Path(sys.argv[1] if len(sys.argv) > 1 else "shopping.txt")

server = MCPServer("shopping")


# The model reads the name, the docstring and the types of the arguments. Results are spoken: keep them short.
@server.tool()
def add_to_list(thing: str) -> str:
    """Put one thing on the shopping list."""
    with FILE.open("a", encoding="utf-8") as file:
        file.write(" ".join(thing.split()) + "\n")
    return f"{thing} is on the list"


@server.tool()
def read_list() -> str:
    """Tell what is on the shopping list."""
    things = FILE.read_text(encoding="utf-8").split("\n")[:-1] if FILE.exists() else []
    return ", ".join(things) or "the list is empty"


if __name__ == "__main__":
    server.run()  # over standard input and output, so print nothing
