"""An MCP server over stdio that starts at once, processes one request at a time and reads nothing meanwhile."""

import json
import os
import sys
import time


def tool(name: str, argument: str = "", kind: str = "string") -> dict[str, object]:
    """Returns the description of a tool."""
    properties = {argument: {"type": kind}} if argument else {}
    return {"name": name, "inputSchema": {"type": "object", "properties": properties}}


TOOLS = [tool("die"), tool("weather", "place"), tool("work", "seconds", "number")]


def called(name: object, arguments: dict[str, float]) -> str:
    """Returns the result of a tool."""
    if name == "die":
        os._exit(3)
    if name == "work":
        time.sleep(arguments["seconds"])
        return "worked"
    return f"In {arguments['place']} it is sunny."


def result_of(method: str, params: dict[str, object]) -> object:
    """Returns the result of a request."""
    if method == "initialize":
        said = {"capabilities": {"tools": {}}, "serverInfo": {"name": "plain", "version": "1"}}
        return {"protocolVersion": params["protocolVersion"], **said}
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call":
        arguments = params["arguments"]
        assert isinstance(arguments, dict)
        return {"content": [{"type": "text", "text": called(params["name"], arguments)}]}
    return None


if __name__ == "__main__":
    for line in sys.stdin:
        asked = json.loads(line)
        if "id" in asked:
            result = result_of(asked["method"], asked.get("params", {}))
            failure = {"error": {"code": -32601, "message": "no such method"}}
            answer = {"jsonrpc": "2.0", "id": asked["id"], **(failure if result is None else {"result": result})}
            sys.stdout.write(json.dumps(answer) + "\n")
            sys.stdout.flush()
