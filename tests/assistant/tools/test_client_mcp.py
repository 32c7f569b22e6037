"""Connections to MCP servers that a client names: real servers, and one that misbehaves."""

import asyncio
import json
import socket
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from support.services.threaded_http import Quiet, http_server

from assistant.config.mcp_hosts import McpHosts
from assistant.tools import client_mcp_thread
from assistant.tools.client_mcp import ClientServer, McpCallError, ToolFilter
from assistant.tools.client_mcp_thread import ClientMcpThread
from assistant.tools.guarded_lookup import GuardedLookup, RefusedAddressError
from llm.name_lookup import AddressInfo, NameLookup

PROGRAM = Path(__file__).parents[2] / "support" / "mcp" / "mcp_program.py"


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port: int = taken.getsockname()[1]
        return port


@contextmanager
def program(port: int) -> Generator[None]:
    """Runs the test's MCP server over HTTP."""
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen([sys.executable, str(PROGRAM), str(port)], **silent) as process:  # type: ignore[call-overload]
        try:
            yield
        finally:
            process.kill()


async def listening(port: int) -> None:
    async with asyncio.timeout(30):
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                await asyncio.sleep(0.1)
            else:
                writer.close()
                return


@contextmanager
def answering(
    answer: Callable[[BaseHTTPRequestHandler], None], other: Callable[[BaseHTTPRequestHandler], None] | None = None
) -> Generator[tuple[int, list[dict[str, str]]]]:
    """Runs an HTTP server that answers each POST like this; yields its port and the headers that it got.

    `other`: answers each DELETE.
    """
    seen: list[dict[str, str]] = []

    class Handler(Quiet, BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            seen.append({name.lower(): value for name, value in self.headers.items()})
            self.body = self.rfile.read(int(self.headers["content-length"]))
            answer(self)

        def do_DELETE(self) -> None:
            if other is not None:
                other(self)

    with http_server(Handler) as port:
        yield port, seen


def run(hosts: str, test: Callable[[ClientMcpThread], Awaitable[None]]) -> None:
    async def limited() -> None:
        servers = ClientMcpThread(McpHosts.of(hosts))
        try:
            async with asyncio.timeout(60):
                await test(servers)
        finally:
            await servers.aclose()
        for thread in threading.enumerate():
            if thread.name == "client mcp":
                thread.join(5)  # it has closed everything, and is about to end
                assert not thread.is_alive()

    asyncio.run(limited())


async def failure(work: Awaitable[object]) -> McpCallError:
    with pytest.raises(McpCallError) as raised:
        await work
    return raised.value


@pytest.mark.slow
def test_real_server_is_listed_called_and_found_again() -> None:
    port = free_port()
    home = ClientServer("home", f"http://127.0.0.1:{port}/mcp")
    some = ClientServer("some", f"http://localhost:{port}/mcp", allowed=ToolFilter(frozenset({"weather"})))

    async def test(servers: ClientMcpThread) -> None:
        with program(port):
            await listening(port)
            tools = {tool.name: tool for tool in await servers.list_tools(home)}
            assert json.loads(tools["weather"].schema)["required"] == ["place"]
            assert not tools["weather"].read_only
            assert [tool.name for tool in await servers.list_tools(some)] == ["weather"]
            assert await servers.call(home, "weather", '{"place": "Köln"}') == "In Köln it is sunny."
            failed = await failure(servers.call(home, "fail", "{}"))
            assert failed.kind == "tool_execution_error"
            assert "the list is full" in str(failed)
            assert (await failure(servers.call(home, "nothing", "{}"))).kind == "tool_execution_error"
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.3):
                    await servers.call(home, "wait", '{"seconds": 30}')
            assert (await failure(servers.call(home, "die", "{}"))).kind == "protocol_error"
        assert "no connection" in str(await failure(servers.call(home, "weather", '{"place": "Rome"}')))
        with program(port):
            await listening(port)
            assert await servers.call(home, "weather", '{"place": "Rome"}') == "In Rome it is sunny."
            servers.forget(home)
            assert await servers.call(home, "weather", '{"place": "Rome"}') == "In Rome it is sunny."

    run(f"127.0.0.1:{port} localhost:{port}", test)


def test_redirect_is_not_followed_and_headers_are_sent_once() -> None:
    def redirect(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(307)
        handler.send_header("Location", f"http://127.0.0.1:{handler.server.server_port}/elsewhere")  # type: ignore[attr-defined]
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    with answering(redirect) as (port, seen):
        server = ClientServer("home", f"http://127.0.0.1:{port}/mcp", (("Authorization", "Bearer secret"),))

        async def test(servers: ClientMcpThread) -> None:
            failed = await failure(servers.list_tools(server))
            assert (failed.kind, failed.code) == ("http_error", 307)
            assert "not followed" in str(failed)

        run(f"127.0.0.1:{port}", test)
    assert {headers["authorization"] for headers in seen} == {"Bearer secret"}
    assert {headers["accept-encoding"] for headers in seen} == {"identity"}


@pytest.mark.parametrize(
    ("status", "headers", "body", "kind", "about"),
    [
        (401, {}, b"", "http_error", "status 401"),
        (500, {}, b"secret inside", "http_error", "status 500"),
        (200, {"Content-Type": "text/html"}, b"<html>", "protocol_error", ""),
        (200, {"Content-Type": "application/json", "Content-Encoding": "gzip"}, b"x", "protocol_error", "compressed"),
        (200, {"Content-Type": "application/json"}, b"[" * 30_000, "protocol_error", "more than 20000 values"),
        (200, {"Content-Type": "application/json"}, b" " * (5 << 20), "protocol_error", "more than 4 MB"),
    ],
)
def test_wrong_answer_is_an_error(status: int, headers: dict[str, str], body: bytes, kind: str, about: str) -> None:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(body)

    with answering(answer) as (port, _):

        async def test(servers: ClientMcpThread) -> None:
            failed = await failure(servers.list_tools(ClientServer("home", f"http://127.0.0.1:{port}/mcp")))
            assert failed.kind == kind
            assert about in str(failed)
            assert "secret" not in str(failed)

        run(f"127.0.0.1:{port}", test)


def _as_server(handler: BaseHTTPRequestHandler) -> None:
    """Answers a POST as an MCP server without tools does."""
    asked = json.loads(handler.body)  # type: ignore[attr-defined]
    result: dict[str, object] = {"tools": []}
    if asked["method"] == "initialize":
        version = asked["params"]["protocolVersion"]
        info = {"name": "scripted", "version": "1"}
        result = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
    body = json.dumps({"jsonrpc": "2.0", "id": asked.get("id"), "result": result}).encode() if "id" in asked else b""
    handler.send_response(200 if body else 202)
    for name, value in (
        ("Content-Type", "application/json"), ("Mcp-Session-Id", "one"), ("Content-Length", str(len(body)))
    ):  # fmt: skip
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(body)


def test_server_that_does_not_answer_a_goodbye_does_not_keep_the_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    from assistant.tools import client_mcp_connection  # noqa: PLC0415 - an extra

    monkeypatch.setattr(client_mcp_connection, "GOODBYE_TIMEOUT_S", 0.3)
    asked: list[str] = []
    ended = threading.Event()

    def hang(handler: BaseHTTPRequestHandler) -> None:
        asked.append(handler.command)
        ended.wait(30)

    with answering(_as_server, other=hang) as (port, _):

        async def test(servers: ClientMcpThread) -> None:
            assert await servers.list_tools(ClientServer("home", f"http://127.0.0.1:{port}/mcp")) == ()

        try:
            run(f"127.0.0.1:{port}", test)
        finally:
            ended.set()
    assert "DELETE" in asked


def test_unlisted_host_is_not_connected_to() -> None:
    with answering(lambda _handler: None) as (port, seen):

        async def test(servers: ClientMcpThread) -> None:
            server = ClientServer("home", f"http://127.0.0.1:{port}/mcp")
            assert "does not list its host" in str(await failure(servers.list_tools(server)))

        run("127.0.0.1:9", test)
    assert seen == []


def test_name_that_resolves_to_this_machine_is_not_connected_to(monkeypatch: pytest.MonkeyPatch) -> None:
    """The address is checked when the connection is made, so a name cannot change its address in between."""
    with answering(lambda _handler: None) as (port, seen):

        class FakeLookup(NameLookup):
            async def getaddrinfo(self, host: Any, port: Any, **_options: Any) -> AddressInfo:  # type: ignore[override]
                return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]

        def guarded(hosts: McpHosts) -> GuardedLookup:
            return GuardedLookup(hosts, FakeLookup())

        monkeypatch.setattr(client_mcp_thread, "GuardedLookup", guarded)

        async def test(servers: ClientMcpThread) -> None:
            server = ClientServer("home", f"http://tools.example.org:{port}/mcp")
            assert "not public" in str(await failure(servers.list_tools(server)))

        run(f"tools.example.org:{port}", test)
        assert seen == []


def test_lookup_returns_only_allowed_addresses() -> None:
    class FakeLookup(NameLookup):
        async def getaddrinfo(self, host: Any, port: Any, **_options: Any) -> AddressInfo:  # type: ignore[override]
            addresses = ["10.0.0.1", "93.184.216.34"] if host == "mixed" else ["10.0.0.1"]
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in addresses]

    async def test() -> None:
        lookup = GuardedLookup(McpHosts.of("mixed inner"), FakeLookup())
        assert [entry[4][0] for entry in await lookup.getaddrinfo("mixed", 443)] == ["93.184.216.34"]
        with pytest.raises(RefusedAddressError):
            await lookup.getaddrinfo("inner", 443)

    asyncio.run(test())
