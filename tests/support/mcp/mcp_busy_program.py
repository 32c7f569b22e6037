"""An MCP server over stdio that processes one request at a time and reads nothing meanwhile. For the tests."""

import json
import sys
import time

WORK = {"name": "work", "inputSchema": {"type": "object", "properties": {"seconds": {"type": "number"}}}}


def result_of(method: str, params: dict[str, object]) -> object:
    """Returns the result of a request."""
    if method == "initialize":
        said = {"capabilities": {"tools": {}}, "serverInfo": {"name": "busy", "version": "1"}}
        return {"protocolVersion": params["protocolVersion"], **said}
    if method == "tools/list":
        return {"tools": [WORK]}
    if method == "tools/call":
        arguments = params["arguments"]
        assert isinstance(arguments, dict)
        time.sleep(arguments["seconds"])
        return {"content": [{"type": "text", "text": "worked"}]}
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
