"""Real MCP servers in separate processes, over stdio and over HTTP."""

import asyncio
import gc
import json
import shlex
import socket
import ssl
import subprocess
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
from support.services.grpc_server import self_signed

from assistant.config.tool_settings import ToolServerSection
from assistant.tools import ToolError, mcp_server, mcp_tools
from assistant.tools.mcp_server import McpServer
from assistant.tools.mcp_tools import McpTools
from audio.errors import EngineLoadError
from llm.environment import CHECK_PROXY

pytestmark = pytest.mark.slow

PROGRAM = Path(__file__).parent.parent.parent / "support" / "mcp" / "mcp_program.py"
COMMAND = f"'{sys.executable}' '{PROGRAM}'"
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


def run(test: Callable[[], Awaitable[None]]) -> None:
    async def limited() -> None:
        async with asyncio.timeout(40):
            await test()

    asyncio.run(limited())


def test_program_is_started_listed_and_called() -> None:
    async def test() -> None:
        async with tools_of(section()) as (tools, told):
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
            assert told == []

    run(test)


def test_servers_may_share_tool_names_and_offer_some_tools() -> None:
    async def test() -> None:
        async with tools_of(section(only="weather"), section("work", only="weather gone")) as (tools, told):
            assert told == ["the tool server work has no tool gone: check its key `only`"]
            assert [function.name for function in tools.functions] == ["home_weather", "work_weather"]
            assert await tools.call("work_weather", '{"place": "Bonn"}') == "In Bonn it is sunny."
            assert tools.detail == "2 tools: home (1), work (1)"

    run(test)


def test_results_of_a_server_are_data_unless_it_is_trusted() -> None:
    async def test() -> None:
        trusted = ToolServerSection(
            name="work", command=COMMAND, env="TOOL_SECRET", only="weather", background="weather", trusted=True
        )
        async with tools_of(section(only="weather"), trusted) as (tools, _):
            assert [(one.source, one.is_trusted) for one in tools.functions] == [("home", False), ("work", True)]
            assert [one.mode for one in tools.functions] == ["", "background"]

    run(test)


def test_invalid_utf_8_does_not_end_a_program() -> None:
    """Many programs print a greeting to stdout in any encoding; their other output must still be read."""
    code = f'import os, runpy; os.write(1, b"\\xff\\n"); runpy.run_path("{PROGRAM}", run_name="__main__")'

    async def test() -> None:
        async with tools_of(section(command=f"'{sys.executable}' -c {shlex.quote(code)}")) as (tools, told):
            assert await tools.call("home_weather", '{"place": "Bonn"}') == "In Bonn it is sunny."
            assert told == []

    run(test)


def test_no_tool_is_offered_if_the_selected_ones_are_missing() -> None:
    async def test() -> None:
        async with tools_of(section(only="gone")) as (tools, told):
            assert tools.functions == ()
            assert told == ["the tool server home has no tool gone: check its key `only`"]

    run(test)


def test_call_can_be_cancelled_while_others_continue() -> None:
    async def test() -> None:
        async with tools_of(section()) as (tools, _):
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.2):
                    await tools.call("home_wait", '{"seconds": 30}')
            assert await tools.call("home_wait", '{"seconds": 0}') == "waited"

    run(test)


def test_lost_server_is_reported_and_reconnected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp_server, "FIRST_RETRY_S", 0.5)

    async def test() -> None:
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

    run(test)


def test_unreachable_server_does_not_affect_the_others() -> None:
    async def test() -> None:
        async with tools_of(section("gone", "/nowhere/at/all", ""), section()) as (tools, told):
            assert len(tools.functions) == 6
            assert told == ["the tool server gone is not available (no such program): its tools cannot be called"]

    run(test)


def test_missing_variable_is_named() -> None:
    async def test() -> None:
        with pytest.raises(EngineLoadError, match="tool server home: the environment variable GONE_KEY is not set"):
            await McpTools((section(env="GONE_KEY"),), ENVIRON).load()

    run(test)


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

    run(listening)
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

    run(test)


BUSY = Path(__file__).parent.parent.parent / "support" / "mcp" / "mcp_busy_program.py"


def test_busy_single_threaded_server_is_not_considered_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """During a call such a server lists nothing; it was considered lost, and killed after it had acted."""
    monkeypatch.setattr(mcp_server, "CHECK_INTERVAL_S", 0.2)
    monkeypatch.setattr(mcp_server, "CHECK_TIMEOUT_S", 0.5)

    async def test() -> None:
        async with tools_of(section("busy", f"'{sys.executable}' '{BUSY}'", "")) as (tools, told):
            assert await tools.call("busy_work", '{"seconds": 2}') == "worked"
            await asyncio.sleep(0.5)
            assert await tools.call("busy_work", '{"seconds": 0}') == "worked"
            assert told == []

    run(test)


@pytest.mark.parametrize(
    ("status", "kind", "token_env", "reason"),
    [
        (401, "application/json", "", "it requires a token; set token_env to the variable that holds it"),
        (403, "text/html", "TOOL_SECRET", "it rejects the token; correct TOOL_SECRET"),
        (404, "text/html", "", "there is no MCP server at its address; correct its url"),
        (405, "text/plain", "", "there is no MCP server at its address; correct its url"),
        (200, "text/html; charset=utf-8", "", "there is a web page at its address; correct its url"),
        (503, "text/plain", "", "it answers with status 503; see its log"),
        (400, "application/json", "", "it answers with status 400; correct its url, or see its log"),
        (302, "text/plain", "", "it answers with status 302; correct its url, or see its log"),
        (407, "text/plain", "", f"a proxy in front of it refuses; {CHECK_PROXY}"),
        (429, "application/json", "", "it accepts no more requests for now; wait, or raise its quota"),
        (200, "application/json", "", "its answer is not MCP; correct its url or command"),
        (200, "text/plain", "", "its answer is not MCP; correct its url or command"),
        (None, "", "", "no connection; start it, or correct its url"),
    ],
    ids=[
        "token required",
        "wrong token",
        "not found",
        "method not allowed",
        "web page",
        "server error",
        "bad request",
        "redirect",
        "proxy authentication",
        "too many requests",
        "other JSON",
        "plain text",
        "no connection",
    ],
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

    run(test)


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

    run(test)


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
def test_unusable_environment_is_reported(monkeypatch: pytest.MonkeyPatch, name: str, value: str, reason: str) -> None:
    monkeypatch.setenv(name, value)

    async def test() -> None:
        async with tools_of(ToolServerSection(name="far", url="https://far.example/mcp")) as (_, told):
            assert told[0].startswith(f"the tool server far is not available ({reason}")
            assert "secret" not in told[0]

    run(test)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def test_server_at_an_address_is_called_and_survives_restart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp_server, "FIRST_RETRY_S", 0.5)
    monkeypatch.setenv("HTTP_PROXY", "http://proxy.invalid:1")  # applies to other machines, not to this one
    port = free_port()

    def start() -> "subprocess.Popen[bytes]":
        command = [sys.executable, str(PROGRAM), str(port)]
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    async def listening() -> None:
        async with asyncio.timeout(20), httpx.AsyncClient(trust_env=False) as client:
            while True:
                try:
                    await client.get(f"http://127.0.0.1:{port}/")
                except httpx.TransportError:
                    await asyncio.sleep(0.05)
                else:
                    return

    async def test() -> None:
        program = start()
        try:
            await listening()
            server = ToolServerSection(name="far", url=f"http://127.0.0.1:{port}/mcp", token_env="TOOL_SECRET")
            async with tools_of(server) as (tools, told):
                assert await tools.call("far_weather", '{"place": "Rome"}') == "In Rome it is sunny."
                program.kill()
                program.wait()
                with pytest.raises(ToolError):
                    await tools.call("far_weather", '{"place": "Rome"}')
                await until(lambda: bool(told))
                program = start()
                await until(lambda: not tools.troubles)
                assert await tools.call("far_weather", '{"place": "Rome"}') == "In Rome it is sunny."
        finally:
            program.kill()
            program.wait()

    run(test)
