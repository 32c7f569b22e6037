"""No command shows a key, also if a service repeats what it was sent."""

import json
import os
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from support.programs.program import repartee
from support.services.threaded_http import Quiet, http_server

VARIABLES = {
    "NEAR_KEY": "canary-of-the-endpoint",
    "HEADER_KEY": "canary-of-the-header",
    "HOME_KEY": "canary-of-the-home",
    "TOOLS_KEY": "canary-of-the-tools",
    "REPARTEE_TOKEN": "canary-token-of-the-server",
}
WRITTEN = ("canary-in-the-query", "canary-of-the-cache", "canary-argument")
"""Secrets in the file itself: as far as a setting takes one, it is not shown."""

CONFIG = """\
[cache]
enabled = true
store = "redis"
redis_url = "redis://user:canary-of-the-cache@127.0.0.1:9/0?password=canary-of-the-cache"

[home]
url = "{address}"
token_env = "HOME_KEY"

[[llm.endpoints]]
name = "near"
kind = "openai"
url = "{address}/v1?key=canary-in-the-query"
model = "m"
api_key_env = "NEAR_KEY"
headers = {{ x-key = "${{HEADER_KEY}}" }}

[[tools.servers]]
name = "far"
url = "{address}/mcp"
token_env = "TOOLS_KEY"

[[tools.servers]]
name = "here"
command = "no-such-program --key canary-argument"
env = "TOOLS_KEY"
"""


@contextmanager
def repeating_service(status: int) -> Generator[str]:
    """Runs a service that refuses every request and repeats its path and headers in the error."""

    class Handler(Quiet, BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("content-length", 0)))
            seen = f"{self.path} {dict(self.headers)}"
            body = json.dumps({"error": {"message": f"Incorrect API key provided: {seen}"}, "detail": seen}).encode()
            self.send_response(status)
            self.send_header("Location", f"http://127.0.0.1:9{self.path}")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_GET  # noqa: N815 - of the base class

    with http_server(Handler) as port:
        yield f"http://127.0.0.1:{port}"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "status", "expected"),
    [
        (("config",), 401, "redis://…@127.0.0.1:9/0?…"),
        (("endpoints",), 401, "rejects the key"),
        (("endpoints",), 302, "answers HTTP 302"),
        (("doctor", "--json"), 401, "long-lived access token"),
    ],
    ids=["config", "endpoints", "endpoints with redirect", "doctor"],
)
def test_no_command_shows_a_secret(command: tuple[str, ...], status: int, expected: str, tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("REPARTEE_")}
    environment |= {**VARIABLES, "COLUMNS": "400", "HF_HUB_OFFLINE": "1"}
    config = tmp_path / "config.toml"
    with repeating_service(status) as address:
        config.write_text(CONFIG.format(address=address))
        done = repartee(*command, "--config", str(config), cwd=tmp_path, env=environment, timeout_s=100)
    said = done.stdout + done.stderr
    assert expected in said
    assert [one for one in (*VARIABLES.values(), *WRITTEN) if one in said] == []
