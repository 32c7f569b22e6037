"""The server from its start to its shutdown, in this process and in one of its own; refused settings."""

import asyncio
import contextlib
import io
import json
import logging
import os
import re
import secrets
import signal
import socket
import subprocess
import sys
import textwrap
import time
import urllib.error
import urllib.request
from collections.abc import AsyncGenerator, Callable, Generator, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Self

import pytest
from rich.console import Console
from support.clocks.stopwatch import Stopwatch
from support.programs import program
from support.servers.session_server import close_frame, eventually
from support.servers.web_server import ScriptedConversations, ScriptedEnginePool, echo
from websockets.asyncio.client import connect as client_connect
from websockets.exceptions import InvalidStatus, WebSocketException
from websockets.sync.client import connect
from websockets.typing import Origin

from assistant.config.errors import ConfigError
from assistant.config.loading import load_settings
from assistant.config.server_settings import ServerSection
from assistant.config.settings import KEYS, Settings
from audio.errors import EngineLoadError
from audio.queue_wait import QueueWait
from web import serve
from web.access.server_token import token_of
from web.limits import admission
from web.observation.metrics import Metrics
from web.observation.server_log import LogFilter
from web.serve import proxies_of
from web.services import Services
from web.sockets.listening_sockets import listen

ROOT = Path(__file__).parent.parent.parent
TOKEN = "a-token-of-enough-characters"

SCRIPTED = textwrap.dedent(
    """
    import asyncio, os, sys, threading
    from pathlib import Path
    from rich.console import Console
    from assistant.config.loading import load_settings
    from web.services import Services
    from web.serve import serve
    from support.servers.web_server import ScriptedConversations, ScriptedEnginePool, echo

    async def stubborn(websocket):
        await websocket.send_text("")
        threading.Thread(target=threading.Event().wait).start()  # a library that never comes back
        while True:
            try:
                await asyncio.sleep(1000)
            except asyncio.CancelledError:
                pass

    if "few" in sys.argv:
        import resource

        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))

    def create_services(settings, environ, metrics):
        engine_pool = ScriptedEnginePool()
        asyncio.get_running_loop().call_later(2 if "late" in sys.argv else 0, engine_pool.may_load.set)
        return Services(engine_pool, ScriptedConversations(stubborn if "stubborn" in sys.argv else echo))

    loaded = load_settings(Path(os.devnull), {}, ["server.port=0"])
    asyncio.run(serve(loaded, os.environ, Console(highlight=False), create_services=create_services))
    """
)


@contextmanager
def process(*arguments: str) -> Generator["subprocess.Popen[str]"]:
    """Runs a server with scripted engines in a process of its own."""
    path = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
    with subprocess.Popen(
        [sys.executable, "-c", SCRIPTED, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**environment(), "PYTHONPATH": path, "PYTHONUNBUFFERED": "1"},
    ) as running:
        try:
            yield running
        finally:
            running.kill()


def environment() -> Mapping[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("REPARTEE_")}


def port_of(running: "subprocess.Popen[str]") -> int:
    """Reads the output until the server is ready; returns its port."""
    assert running.stdout is not None
    printed = ""
    while not printed.endswith("ready\n"):
        line = running.stdout.readline()
        assert line, running.stderr.read() if running.stderr else ""
        printed += line
    return port_in(printed)


def port_in(printed: str) -> int:
    found = re.search(r"page  http://127\.0\.0\.1:(\d+)\n", printed)
    assert found is not None, printed
    return int(found[1])


@dataclass
class Serving:
    """`serve` with scripted engines in this process.

    Attributes:
        output: What it prints.
        metrics: Its metrics, as soon as it has made them.
        error: Why its engines cannot be loaded.
    """

    output: io.StringIO = field(default_factory=io.StringIO)
    metrics: Metrics = field(default_factory=Metrics)
    error: Exception | None = None
    _is_ending: bool = False

    @property
    def port(self) -> int:
        return port_in(self.output.getvalue())

    @property
    def ws(self) -> str:
        return f"ws://127.0.0.1:{self.port}/v1/realtime"

    @asynccontextmanager
    async def running(self, *settings: str, **environ: str) -> AsyncGenerator[Self]:
        """Serves while the block runs, or until a signal in it."""
        loaded = load_settings(Path(os.devnull), {}, ["server.port=0", *settings])
        console = Console(file=self.output, width=200, highlight=False)
        serving = asyncio.create_task(serve.serve(loaded, environ, console, create_services=self._services))
        await eventually(lambda: serving.done() or self.output.getvalue().endswith("ready\n"))
        if not serving.done():
            yield self
        if not serving.done() and not self._is_ending:
            self.send_signal(signal.SIGTERM)
        await serving

    def send_signal(self, number: signal.Signals) -> None:
        """Sends this process a signal that ends the server."""
        self._is_ending = True
        os.kill(os.getpid(), number)

    def _services(self, _settings: Settings, _environ: Mapping[str, str], metrics: Metrics) -> Services:
        self.metrics = metrics
        engine_pool = ScriptedEnginePool(error=self.error)
        engine_pool.may_load.set()
        return Services(engine_pool, ScriptedConversations(echo))


@pytest.fixture(autouse=True)
def _process_goes_on(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Lets this process outlive a server that runs in it, and keeps its logging."""
    monkeypatch.setattr(serve, "_exit_after", lambda _end, _seconds: None)
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:], root.level = handlers, level


def repartee(*arguments: str, **environ: str) -> "subprocess.CompletedProcess[str]":
    return program.repartee("serve", *arguments, env={**environment(), **environ})


# Settings


def test_list_settings_are_separated_by_blanks() -> None:
    section = ServerSection(
        allowed_hosts="voice.example [::1]:9000", allowed_origins="https://a.example  http://b.example:81"
    )
    assert section.hosts == ("voice.example", "[::1]:9000")
    assert section.origins == ("https://a.example", "http://b.example:81")


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("server.allowed_hosts", "https://voice.example"),
        ("server.allowed_hosts", "a.example,b.example"),
        ("server.allowed_origins", "*"),
        ("server.allowed_origins", "null"),
        ("server.allowed_origins", "app.example"),
        ("server.allowed_origins", "https://app.example/path"),
        ("server.host", ""),
    ],
    ids=[
        "host with scheme",
        "hosts with comma",
        "star as origin",
        "null as origin",
        "origin without scheme",
        "origin with path",
        "empty host",
    ],
)
def test_invalid_host_or_origin_setting_is_refused(key: str, text: str) -> None:
    with pytest.raises(ValueError, match="must be"):
        KEYS[key].read(text)


def test_invalid_token_is_refused() -> None:
    assert token_of({}) is None
    assert token_of({"REPARTEE_TOKEN": ""}) is None
    assert token_of({"REPARTEE_TOKEN": TOKEN}) == TOKEN
    for wrong in ("short", "with blanks in between", "with/slashes/and=equals", "x" * 513):
        with pytest.raises(ConfigError, match="16 to 512") as refused:
            token_of({"REPARTEE_TOKEN": wrong})
        assert wrong not in str(refused.value)


@pytest.mark.parametrize(
    "token",
    ["x" * 20, "abababababababab", "passwordpassword", "abcdefghijklmnop", "1234567890123456", "aabbccddeeffgghh"],
)
def test_token_that_is_easily_guessed_is_refused(token: str) -> None:
    with pytest.raises(ConfigError, match=r"easily guessed.*make one with"):
        token_of({"REPARTEE_TOKEN": token})


@pytest.mark.parametrize("make", [secrets.token_urlsafe, secrets.token_hex], ids=["letters", "hexadecimal"])
def test_random_token_is_accepted(make: Callable[[int], str]) -> None:
    for _ in range(200):
        assert token_of({"REPARTEE_TOKEN": (token := make(16))}) == token


@pytest.mark.parametrize(
    ("given", "believed"),
    [
        ("", "127.0.0.1,::1"),
        ("10.0.0.2, 172.17.0.0/16,::1", "10.0.0.2, 172.17.0.0/16,::1"),
        ("*", "*"),
        ("::1,", "::1,"),
    ],
    ids=["default", "addresses and network", "star", "trailing comma"],
)
def test_trusted_proxies_are_local_or_configured(given: str, believed: str) -> None:
    assert proxies_of({"FORWARDED_ALLOW_IPS": given}) == believed


@pytest.mark.parametrize(
    "wrong",
    ["caddy", "172.17.0.1/16", "10.0.0.2:80", "10.0.0.0/33"],
    ids=["name", "host bits set", "port", "prefix too long"],
)
def test_invalid_proxy_address_is_named(wrong: str) -> None:
    with pytest.raises(ConfigError, match=f"^environment FORWARDED_ALLOW_IPS: '{wrong}' is not the address of a proxy"):
        proxies_of({"FORWARDED_ALLOW_IPS": f"127.0.0.1,{wrong}"})


# Where it listens


def test_port_in_use_is_reported_with_remedy() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigError, match=f"--port {port}: in use on 127.0.0.1.*--port 0"):
            listen("127.0.0.1", port, loopback_only=True)


def test_port_0_selects_a_free_port() -> None:
    (one,) = listen("127.0.0.1", 0, loopback_only=True)
    with one, socket.create_connection(one.getsockname(), timeout=5):
        assert one.getsockname()[1] > 0


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_other_machines_need_token_or_insecure(host: str) -> None:
    with pytest.raises(ConfigError, match=r"REPARTEE_TOKEN.*--insecure"):
        listen(host, 0, loopback_only=True)
    for one in listen("0.0.0.0", 0, loopback_only=False):
        one.close()


@pytest.mark.parametrize(
    "host", ["192.0.2.1", "a..b", "." * 3, "a" * 64], ids=["other machine", "empty label", "dots", "label too long"]
)
def test_foreign_bind_address_is_reported(host: str) -> None:
    with pytest.raises(ConfigError, match=rf"--host {re.escape(host)}: not an address of this machine"):
        listen(host, 0, loopback_only=False)


# The program


@pytest.mark.slow
def test_command_line_mistakes_are_one_line(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        for arguments, environ, said in (
            (("--port", port), {}, f"--port {port}: in use"),
            (  # encryption alone lets nobody in
                ("--host", "0.0.0.0", "--port", "0", "--tls-self-signed"),
                {"XDG_DATA_HOME": str(tmp_path)},
                "REPARTEE_TOKEN",
            ),
            (("--port", "99999"), {}, '--port "99999": must be'),
        ):
            done = repartee(*arguments, **environ)
            assert done.returncode == 2, done
            assert done.stderr.startswith("repartee: ")
            assert said in done.stderr
            assert len(done.stderr.splitlines()) == 1
            assert done.stdout == ""


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP], ids=lambda number: number.name)
async def test_signal_ends_the_server_in_order(how: signal.Signals, capfd: pytest.CaptureFixture[str]) -> None:
    async with Serving().running() as server:
        with pytest.raises(InvalidStatus):  # a refusal is not logged
            await client_connect(server.ws, origin=Origin("https://evil.example"), proxy=None)
        async with client_connect(server.ws, proxy=None) as client:
            assert await client.recv() == ""
            server.send_signal(how)
            assert json.loads(await client.recv())["error"]["code"] == "server_draining"
            assert (await close_frame(client)).code == 1012
    assert server.output.getvalue().endswith("ended\n")
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("setting", ["measured", "fixed"])
async def test_overloaded_server_refuses_the_third_conversation_if_it_measures(
    setting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(admission, "UPDATE_EVERY_S", 0.02)
    waits = QueueWait()
    for _ in range(8):
        waits.record(9.0)
    async with Serving().running(f"server.admission={setting}") as server, AsyncExitStack() as clients:
        server.metrics.load.queue_waits = lambda: {"stt": waits}
        await asyncio.sleep(0.2)

        async def answer() -> str:
            return str(await (await clients.enter_async_context(client_connect(server.ws, proxy=None))).recv())

        assert [await answer(), await answer()] == ["", ""]
        if setting == "fixed":
            assert await answer() == ""
            return
        error = json.loads(await answer())["error"]
        assert (error["code"], error["retry_after_s"]) == ("server_busy", 10)
        assert "the wait for stt is 9000 ms at p95, limit 300 ms" in error["message"]


@pytest.mark.slow
def test_server_continues_if_its_output_is_closed() -> None:
    def is_ready(port: int) -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=20) as answer:
                return bool(answer.status == 200)
        except urllib.error.HTTPError:
            return False

    with process("late") as running:
        assert running.stdout is not None
        said = ""
        while "page  " not in said:
            said = running.stdout.readline()
        running.stdout.close()
        running.stdout = None
        port = int(said.rpartition(":")[2])
        watch = Stopwatch()
        while not is_ready(port):
            assert watch.undisturbed_s < 10
            time.sleep(0.1)
        running.terminate()
        _, err = running.communicate(timeout=20)
        assert (running.returncode, err) == (0, "")


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        (
            "uvicorn.error",
            "Traceback ...\n  await receive()\nasyncio.exceptions.CancelledError\n",
            False,
        ),  # a second signal
        ("uvicorn.error", "Traceback ...\n  await receive()\nOSError: no space\n", True),
        ("web.connections.engine_pool", "gave up: asyncio.exceptions.CancelledError", True),
        ("uvicorn.error", "ASGI callable returned without completing handshake.", False),
    ],
    ids=["cancelled request", "disk error", "other logger", "incomplete handshake"],
)
def test_log_filter_drops_useless_lines(name: str, text: str, *, said: bool) -> None:
    record = logging.LogRecord(name, logging.ERROR, "", 0, text, None, None)
    assert LogFilter().filter(record) is said


@pytest.mark.parametrize(
    "mistake", ["Invalid HTTP request received.", "opening handshake failed: %s"], ids=["HTTP request", "handshake"]
)
def test_client_mistakes_log_one_short_line_a_minute(mistake: str) -> None:
    filtering = LogFilter()

    def said(at_s: float) -> str | None:
        arguments = ("x" * 10_000,) if "%s" in mistake else None
        error = ValueError("no")
        traceback = (ValueError, error, error.__traceback__)
        record = logging.LogRecord("uvicorn.error", logging.ERROR, "", 0, mistake, arguments, traceback)
        record.created = at_s
        return logging.Formatter().format(record) if filtering.filter(record) else None

    lines = [said(1000.0 + n / 10) for n in range(1210)]
    assert [n for n, line in enumerate(lines) if line is not None] == [0, 600, 1200]
    assert "logged at most once a minute" in str(lines[0])
    assert all(line is None or (len(line) < 600 and "\n" not in line) for line in lines)


HANDSHAKE = (
    b"GET /v1/realtime HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
)


async def test_malformed_requests_do_not_fill_the_log(capfd: pytest.CaptureFixture[str]) -> None:
    """One line is about the request that begins like TLS; malformed handshakes are not logged."""
    malformed = (
        HANDSHAKE + b"Sec-WebSocket-Protocol: realtime, \xe4\r\n\r\n",
        HANDSHAKE + b"Sec-WebSocket-Extensions: ((\r\n\r\n",
        b"\x16\x03\x01\r\n\r\n",
    )
    async with Serving().running() as server:
        for data in malformed * 50:
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            writer.write(data)
            await reader.read()  # until the server closes the connection
            writer.close()
        logging.getLogger().handlers[0].flush()
    logged = capfd.readouterr().err
    assert len(logged.splitlines()) == 1, logged


async def test_start_and_broken_handshakes_print_no_token(capfd: pytest.CaptureFixture[str]) -> None:
    upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    protocol = f"Sec-WebSocket-Protocol: realtime, openai-insecure-api-key.{TOKEN}\r\n"
    async with Serving().running(REPARTEE_TOKEN=TOKEN) as server:
        assert "REPARTEE_TOKEN" in server.output.getvalue()
        for path in ("/v1/realtime", f"/v1/phone?token={TOKEN}", "/nothing"):
            for headers in (
                upgrade + key + protocol,
                upgrade + protocol,
                upgrade + key.replace("==", "") + protocol,
                upgrade + key + f"Authorization: Bearer {TOKEN}\r\nbad header {TOKEN}\r\n",
                f"Authorization: Bearer {TOKEN}\r\nContent-Length: x\r\n",
            ):
                reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
                writer.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n{headers}\r\n".encode())
                await reader.read(1000)
                writer.write(b"\xff" * 100)  # no frame
                await asyncio.sleep(0.01)
                writer.close()
        logging.getLogger().handlers[0].flush()
    assert TOKEN not in server.output.getvalue() + capfd.readouterr().err


async def test_unwritable_trace_folder_is_reported_at_start(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    async with Serving().running(f"trace.dir={tmp_path}/file/traces"):
        logging.getLogger().handlers[0].flush()
    assert capfd.readouterr().err == (
        f"repartee: {tmp_path}/file is a file: no traces will be written; "
        "make it writable, or name another folder: --set trace.dir=FOLDER\n"
    )


@pytest.mark.parametrize(("host", "warnings"), [("0.0.0.0", 1), ("127.0.0.1", 0)])
async def test_wyoming_address_that_the_token_does_not_protect_is_told(
    host: str, warnings: int, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serve, "serving_wyoming", lambda *_: partial(asyncio.sleep, 0))  # it needs real services
    server = Serving()
    async with server.running(f"server.wyoming=tcp://{host}:0", REPARTEE_TOKEN=TOKEN):
        logging.getLogger().handlers[0].flush()
    for told in (server.output.getvalue(), capfd.readouterr().err):
        assert told.count("REPARTEE_TOKEN does not protect tcp://localhost:") == warnings


async def test_server_without_engines_ends_with_the_reason() -> None:
    with pytest.raises(EngineLoadError, match="the model is not there"):
        async with Serving(error=EngineLoadError("the model is not there.")).running():
            pass


@pytest.mark.slow
def test_server_ends_within_five_seconds_whatever_hangs() -> None:
    with process("stubborn") as running:
        with connect(f"ws://127.0.0.1:{port_of(running)}/v1/realtime", proxy=None) as client:
            client.recv(20)
            running.send_signal(signal.SIGTERM)
            watch = Stopwatch()
            running.wait(timeout=30)
            assert watch.undisturbed_s < 5.5
        assert running.returncode == 0


@pytest.mark.slow
def test_exhausted_descriptors_keep_conversations_and_health() -> None:
    with process("few") as server:
        port = port_of(server)
        with connect(f"ws://127.0.0.1:{port}/v1/realtime", proxy=None) as talking:
            assert talking.recv(20) == ""
            with contextlib.ExitStack() as closing:
                for _ in range(120):
                    closing.enter_context(socket.create_connection(("127.0.0.1", port), timeout=20))
                refused = 0
                for _ in range(20):
                    try:
                        client = connect(f"ws://127.0.0.1:{port}/v1/realtime", proxy=None, open_timeout=20)
                        closing.callback(client.close)
                        refused += "error" in str(client.recv(20))
                    except (OSError, TimeoutError, WebSocketException):
                        refused += 1
                assert refused > 10
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=20) as healthy:
                    assert healthy.status == 200
                for n in range(20):
                    talking.send(f"{n}")
                    assert talking.recv(20) == f"{n}"
        server.terminate()
        _, errors = server.communicate(timeout=30)
    assert len(errors.splitlines()) <= 4, errors
    assert "Traceback" not in errors


@pytest.mark.slow
def test_engine_error_is_one_line() -> None:
    done = repartee("--port", "0", "--set", "skills.enabled=false")
    assert done.returncode == 2
    assert done.stderr == (
        "repartee: nothing can answer: skills.enabled is false and there is no [[llm.endpoints]]; enable the skills or "
        "add an endpoint.\n"
    )
