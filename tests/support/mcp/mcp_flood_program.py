"""An MCP server whose tool `flood` returns too much. Uses plain JSON, since a library would take minutes.

`python tests/support/mcp/mcp_flood_program.py` serves over stdio; with the argument `http` over HTTP, with its port as
the first line.
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PART = '{"type":"text","text":"x"}'
TOOL = {"name": "flood", "inputSchema": {"type": "object", "properties": {"kind": {"type": "string"}}}}


def flood(kind: str) -> str:
    """Returns the content of a result."""
    return {
        "million parts": ",".join([PART] * 1_000_000),
        "many parts": ",".join([PART] * 3000),
        "nested": '{"type":"text","text":"x","_meta":{"a":[' + ",".join(["[]"] * 200_000) + "]}}",
        "long text": '{"type":"text","text":"' + "x" * 30_000_000 + '"}',
        "picture": '{"type":"image","mimeType":"image/png","data":"' + "A" * 2_000_000 + '"}',
        "few": PART,
    }[kind]


def answer(request: dict[str, object]) -> str:
    """Returns the answer to a request as JSON."""
    result = "{}"
    match request.get("method"):
        case "initialize":
            info = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}}
            result = json.dumps(info | {"serverInfo": {"name": "flood", "version": "1"}})
        case "tools/list":
            result = json.dumps({"tools": [TOOL]})
        case "tools/call":
            params = request["params"]
            assert isinstance(params, dict)
            result = f'{{"content":[{flood(params["arguments"]["kind"])}]}}'
        case "ping":
            pass
        case _:
            error = {"code": -32601, "message": "no such method"}
            return json.dumps({"jsonrpc": "2.0", "id": request["id"], "error": error})
    return f'{{"jsonrpc":"2.0","id":{json.dumps(request["id"])},"result":{result}}}'


def say(line: str) -> None:
    """Writes one line."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


class Handler(BaseHTTPRequestHandler):
    """Streamable HTTP; uses server-sent events if the path asks for them."""

    def log_message(self, *_: object) -> None:
        """Logs nothing."""

    def do_GET(self) -> None:
        """Refuses the stream of notifications."""
        self.send_response(405)
        self.send_header("content-length", "0")
        self.end_headers()

    def do_POST(self) -> None:
        """Answers a message."""
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        events = self.path == "/events"
        text = answer(request) if "id" in request else ""
        body = f"data: {text}\n\n" if events else text
        self.send_response(200 if text else 202)
        self.send_header("content-type", "text/event-stream" if events else "application/json")
        if self.path == "/gzip" and request.get("method") == "tools/call":
            self.send_header("content-encoding", "gzip, gzip")
        self.send_header("content-length", str(len(body) if text else 0))
        self.end_headers()
        if text:
            self.wfile.write(body.encode())


if __name__ == "__main__":
    if sys.argv[1:] == ["http"]:
        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        say(str(server.server_address[1]))
        server.serve_forever()
    for line in sys.stdin:
        if "id" in (message := json.loads(line)):
            say(answer(message))
