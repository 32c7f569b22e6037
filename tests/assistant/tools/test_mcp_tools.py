"""MCP servers in separate processes: a real one, and a plain one that starts faster; and addresses that refuse."""

import asyncio
import gc
import json
import shlex
import ssl
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import ExitStack, asynccontextmanager
from functools import wraps
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import ParamSpec

import pytest
from support.mcp import mcp_plain_program
from support.services.grpc_server import self_signed
from support.services.threaded_http import Quiet, http_server
from support.texts.text_cases import named_cases

from assistant.config.tool_settings import ToolServerSection
from assistant.tools import ToolError, mcp_server, mcp_tools
from assistant.tools.mcp_server import McpServer
from assistant.tools.mcp_tools import McpTools
from audio.errors import EngineLoadError
from llm.environment import CHECK_PROXY

pytestmark = pytest.mark.slow

P = ParamSpec("P")
PROGRAMS = Path(__file__).parents[2] / "support" / "mcp"
PLAIN = PROGRAMS / "mcp_plain_program.py"
COMMAND = f"'{sys.executable}' '{PLAIN}'"
ENVIRON = {"TOOL_SECRET": "open sesame", "OTHER_SECRET": "not for tools"}


def section(name: str = "home", command: str = COMMAND, env: str = "TOOL_SECRET", only: str = "") -> ToolServerSection:
    return ToolServerSection(name=name, command=command, env=env, only=only)


@asynccontextmanager
async def tools_of(*sections: ToolServerSection) -> AsyncGenerator[tuple[McpTools, list[str]]]:
    tools = McpTools(sections, ENVIRON)
    told: list[str] = []
    await tools.load()
    leave = tools.subscribe(told.append)
    try:
        yield tools, told
    finally:
        leave()
        async with asyncio.timeout(10):
            await tools.aclose()


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not holds():  # noqa: ASYNC110 - what happens, happens in another thread
            await asyncio.sleep(0.05)


def limited(test: Callable[P, Awaitable[None]]) -> Callable[P, None]:
    """Runs the test in an event loop for at most 40 s."""

    async def whole(*args: P.args, **kwargs: P.kwargs) -> None:
        async with asyncio.timeout(40):
            await test(*args, **kwargs)

    @wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        asyncio.run(whole(*args, **kwargs))

    return run


@limited
async def test_real_program_is_started_listed_and_called() -> None:
    async with tools_of(section(command=f"'{sys.executable}' '{PROGRAMS / 'mcp_program.py'}'")) as (tools, told):
        assert [function.name for function in tools.functions] == [
            f"home_{name}" for name in ("die", "fail", "picture", "secret", "wait", "weather")
        ]
        weather = tools.functions[-1]
        assert weather.description == "The weather at a place."
        assert json.loads(weather.parameters)["required"] == ["place"]
        assert await tools.call("home_weather", '{"place": "Köln"}') == "In Köln it is sunny."
        assert "the list is full" in await tools.call("home_fail", "{}")
        assert (await tools.call("home_fail", "{}")).startswith("error: ")
        assert await tools.call("home_picture", "{}") == "[image]"
        assert (await tools.call("home_weather", "{}")).startswith("error: ")
        assert await tools.call("home_secret", "{}") == "open sesame nothing"
        with pytest.raises(ToolError, match="no tool home_nothing"):
            await tools.call("home_nothing", "{}")
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await tools.call("home_wait", '{"seconds": 30}')
        assert await tools.call("home_wait", '{"seconds": 0}') == "waited"
        assert told == []


@limited
async def test_servers_may_share_tool_names_and_offer_some_tools() -> None:
    trusted = ToolServerSection(name="work", command=COMMAND, env="TOOL_SECRET", only="weather gone", trusted=True)
    async with tools_of(section(only="weather"), trusted, section("none", only="lost")) as (tools, told):
        assert sorted(told) == [
            "the tool server none has no tool lost: check its key `only`",
            "the tool server work has no tool gone: check its key `only`",
        ]
        assert [(one.name, one.source, one.is_trusted) for one in tools.functions] == [
            ("home_weather", "home", False),
            ("work_weather", "work", True),
        ]
        assert await tools.call("work_weather", '{"place": "Bonn"}') == "In Bonn it is sunny."
        assert tools.detail == "2 tools: home (1), none (0), work (1)"


@limited
async def test_invalid_utf_8_does_not_end_a_program() -> None:
    """Many programs print a greeting to stdout in any encoding; their other output must still be read."""
    code = f'import os, runpy; os.write(1, b"\\xff\\n"); runpy.run_path("{PLAIN}", run_name="__main__")'
    async with tools_of(section(command=f"'{sys.executable}' -c {shlex.quote(code)}")) as (tools, told):
        assert await tools.call("home_weather", '{"place": "Bonn"}') == "In Bonn it is sunny."
        assert told == []


@limited
async def test_lost_server_is_reported_and_reconnected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp_server, "FIRST_RETRY_S", 0.2)
    async with tools_of(section()) as (tools, told):
        before = tools.functions
        with pytest.raises(ToolError, match="home"):
            await tools.call("home_die", "{}")
        await until(lambda: bool(told))
        assert told[0].startswith("the tool server home is not available (")
        assert tools.functions == before, "prompts would change"
        with pytest.raises(ToolError, match="not there at the moment"):
            await tools.call("home_weather", '{"place": "Bonn"}')
        await until(lambda: not tools.troubles)
        assert await tools.call("home_weather", '{"place": "Bonn"}') == "In Bonn it is sunny."
        assert len(told) == 1


@limited
async def test_unreachable_server_does_not_affect_the_others() -> None:
    async with tools_of(section("gone", "/nowhere/at/all", ""), section()) as (tools, told):
        assert len(tools.functions) == 3
        assert told == ["the tool server gone is not available (no such program): its tools cannot be called"]


@limited
async def test_missing_variable_is_named() -> None:
    with pytest.raises(EngineLoadError, match="tool server home: the environment variable GONE_KEY is not set"):
        await McpTools((section(env="GONE_KEY"),), ENVIRON).load()


SILENT = section("silent", f"'{sys.executable}' -c 'import time; time.sleep(60)'", "")


async def stopped(tools: McpTools) -> None:
    async with asyncio.timeout(5):
        await tools.aclose()
    thread = tools._thread
    assert thread is not None
    await until(lambda: not thread.is_alive())


@pytest.mark.parametrize("look_s", [10, 0.3], ids=["before the first look", "after the first look"])
def test_server_can_be_stopped_after_a_cancelled_load(monkeypatch: pytest.MonkeyPatch, look_s: float) -> None:
    monkeypatch.setattr(mcp_tools, "START_WAIT_S", look_s)

    async def test() -> None:
        tools = McpTools((SILENT,), ENVIRON)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await tools.load()
        if look_s < 1:
            await until(lambda: tools.troubles == ["the tool server silent is not available yet"])
        await stopped(tools)
        await asyncio.sleep(0)  # lets the last message of the thread arrive

    complaints: list[object] = []

    async def listening() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _loop, context: complaints.append(context))
        await test()
        gc.collect()

    limited(listening)()
    assert complaints == []


def test_connection_that_fails_while_closing_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    @asynccontextmanager
    async def failing(_: McpServer) -> AsyncGenerator[None]:
        try:
            await asyncio.Event().wait()
            yield
        except asyncio.CancelledError:
            raise ExceptionGroup("taken down", [OSError("no more")]) from None

    monkeypatch.setattr(McpServer, "_connected", failing)

    async def test() -> None:
        running = asyncio.create_task(McpServer(section(), ENVIRON, lambda _: None).run())
        await asyncio.sleep(0.05)
        running.cancel()
        await asyncio.wait({running}, timeout=0.5)
        ended = running.cancelled()
        running.cancel()
        assert ended

    limited(test)()


@limited
async def test_busy_single_threaded_server_is_not_considered_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """During a call such a server lists nothing; it was considered lost, and killed after it had acted."""
    monkeypatch.setattr(mcp_server, "CHECK_INTERVAL_S", 0.2)
    monkeypatch.setattr(mcp_server, "CHECK_TIMEOUT_S", 0.5)
    async with tools_of(section("busy")) as (tools, told):
        assert await tools.call("busy_work", '{"seconds": 1.2}') == "worked"
        await asyncio.sleep(0.5)
        assert await tools.call("busy_work", '{"seconds": 0}') == "worked"
        assert told == []


@named_cases(
    ("status", "kind", "token_env", "reason"),
    {
        "token required": (
            401,
            "application/json",
            "",
            "it requires a token; set token_env to the variable that holds it",
        ),
        "wrong token": (403, "text/html", "TOOL_SECRET", "it rejects the token; correct TOOL_SECRET"),
        "not found": (404, "text/html", "", "there is no MCP server at its address; correct its url"),
        "method not allowed": (405, "text/plain", "", "there is no MCP server at its address; correct its url"),
        "web page": (200, "text/html; charset=utf-8", "", "there is a web page at its address; correct its url"),
        "server error": (503, "text/plain", "", "it answers with status 503; see its log"),
        "bad request": (400, "application/json", "", "it answers with status 400; correct its url, or see its log"),
        "redirect": (302, "text/plain", "", "it answers with status 302; correct its url, or see its log"),
        "proxy authentication": (407, "text/plain", "", f"a proxy in front of it refuses; {CHECK_PROXY}"),
        "too many requests": (
            429,
            "application/json",
            "",
            "it accepts no more requests for now; wait, or raise its quota",
        ),
        "other JSON": (200, "application/json", "", "its answer is not MCP; correct its url or command"),
        "plain text": (200, "text/plain", "", "its answer is not MCP; correct its url or command"),
        "no connection": (None, "", "", "no connection; start it, or correct its url"),
    },
)
def test_refusing_address_has_a_remedy(status: int | None, kind: str, token_env: str, reason: str) -> None:
    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        head = f"HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\ncontent-length: 6\r\nconnection: close\r\n\r\n"
        writer.write(head.encode() + b"<html>")
        await writer.drain()
        writer.close()

    async def test() -> None:
        listener = await asyncio.start_server(refuse, "127.0.0.1", 0)
        port = listener.sockets[0].getsockname()[1]
        if status is None:
            listener.close()
        async with tools_of(ToolServerSection(name="far", url=f"http://127.0.0.1:{port}/x", token_env=token_env)) as (
            _,
            told,
        ):
            assert told == [f"the tool server far is not available ({reason}): its tools cannot be called"]
        listener.close()

    limited(test)()


def test_untrusted_certificate_is_reported_and_can_be_trusted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    key, certificate = self_signed(tmp_path)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 404 X\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        await writer.drain()
        writer.close()

    async def test() -> None:
        async with await asyncio.start_server(refuse, "127.0.0.1", 0, ssl=context) as listener:
            server = ToolServerSection(name="far", url=f"https://localhost:{listener.sockets[0].getsockname()[1]}/mcp")
            async with tools_of(server) as (_, told):
                assert "its certificate is not trusted; correct its url, or set SSL_CERT_FILE" in told[0]
            monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
            async with tools_of(server) as (_, told):
                assert "there is no MCP server at its address" in told[0]

    limited(test)()


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        (
            "ALL_PROXY",
            "socks5://me:secret@127.0.0.1:1",
            "the proxy in the environment needs a package: install httpx[socks]",
        ),
        (
            "HTTPS_PROXY",
            "http://me:secret@[::1",
            "HTTPS_PROXY in the environment is not a valid proxy address",
        ),
        (
            "SSL_CERT_FILE",
            "/nowhere/ca.pem",
            "SSL_CERT_FILE in the environment (/nowhere/ca.pem) contains no readable certificates",
        ),
        ("HTTPS_PROXY", "http://me:secret@127.0.0.1:9", f"no connection to the proxy in front of it; {CHECK_PROXY}"),
    ],
    ids=["SOCKS proxy", "invalid proxy", "missing certificates", "unreachable proxy"],
)
@limited
async def test_unusable_environment_is_reported(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, reason: str
) -> None:
    monkeypatch.setenv(name, value)
    async with tools_of(ToolServerSection(name="far", url="https://far.example/mcp")) as (_, told):
        assert told[0].startswith(f"the tool server far is not available ({reason}")
        assert "secret" not in told[0]


def test_server_at_an_address_is_called_and_survives_restart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp_server, "FIRST_RETRY_S", 0.2)
    monkeypatch.setenv("HTTP_PROXY", "http://proxy.invalid:1")  # applies to other machines, not to this one
    tokens = set[str]()

    class Handler(Quiet, BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            tokens.add(self.headers["authorization"])
            asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
            result = mcp_plain_program.result_of(asked["method"], asked.get("params", {}))
            body = json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result or {}}) if "id" in asked else ""
            self.send_response(200 if body else 202)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body.encode())

    async def test() -> None:
        with ExitStack() as first:
            port = first.enter_context(http_server(Handler))
            server = ToolServerSection(name="far", url=f"http://127.0.0.1:{port}/mcp", token_env="TOOL_SECRET")
            async with tools_of(server) as (tools, told):
                assert await tools.call("far_weather", '{"place": "Rome"}') == "In Rome it is sunny."
                first.close()
                with pytest.raises(ToolError):
                    await tools.call("far_weather", '{"place": "Rome"}')
                await until(lambda: bool(told))
                with http_server(Handler, port):
                    await until(lambda: not tools.troubles)
                    assert await tools.call("far_weather", '{"place": "Rome"}') == "In Rome it is sunny."

    limited(test)()
    assert tokens == {"Bearer open sesame"}
