"""A Home Assistant in this process, with the integration, and a Repartee server as a program of its own."""

import asyncio
import json
import os
import re
import socket
import subprocess
from collections.abc import AsyncGenerator, Callable, Generator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import custom_components  # noqa: F401 - before the test package, which has one of its own
import pytest
from aiohttp import ClientError, ClientSession, web
from homeassistant.core import HomeAssistant
from homeassistant.setup import async_setup_component
from pytest_homeassistant_custom_component.common import MockConfigEntry

DOMAIN = "repartee"
COMPONENTS = Path(__file__).parents[4] / "deploy" / "homeassistant" / "custom_components"
TOKEN = "a-token-of-this-test"
START_WITHIN_S = 90.0
STEP_S = 0.1
WORDS = ("Once ", "upon ", "a ", "time ", "there ", "was ", "a ", "lamp.")
WORD_EVERY_S = 0.15


@dataclass
class Model:
    """A language model that tells a story word by word, or calls tools.

    Attributes:
        url: Its address.
        calls: Tool calls that it makes, one after another, before it answers.
        asked: The messages of each request.
    """

    url: str = ""
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    asked: list[list[dict[str, Any]]] = field(default_factory=list)

    async def complete(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.asked.append(body["messages"])
        answer = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await answer.prepare(request)
        if self.calls and body.get("tools"):
            name, arguments = self.calls.pop(0)
            function = {"name": name, "arguments": json.dumps(arguments)}
            call = {"index": 0, "id": f"call_{len(self.asked)}", "type": "function", "function": function}
            await _write(answer, {"role": "assistant", "tool_calls": [call]})
            await _write(answer, {}, "tool_calls")
        else:
            for word in WORDS:
                await _write(answer, {"content": word})
                await asyncio.sleep(WORD_EVERY_S)
            await _write(answer, {}, "stop")
        await answer.write(b"data: [DONE]\n\n")
        return answer

    async def models(self, _request: web.Request) -> web.Response:
        return web.json_response({"object": "list", "data": [{"id": "story", "object": "model"}]})


async def _write(answer: web.StreamResponse, delta: dict[str, Any], reason: str | None = None) -> None:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    event = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "story", "choices": [choice]}
    await answer.write(f"data: {json.dumps(event)}\n\n".encode())


@dataclass
class Program:
    """`repartee serve`, which can be started and stopped at the same address."""

    folder: Path
    flags: tuple[str, ...] = ()
    port: int = 0
    process: "subprocess.Popen[str] | None" = None

    def __post_init__(self) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]

    @property
    def url(self) -> str:
        return f"http{'s' if '--tls-self-signed' in self.flags else ''}://127.0.0.1:{self.port}"

    @property
    def log(self) -> Path:
        return self.folder / "serve.log"

    async def start(self) -> None:
        command = [os.environ["TESTED_PROGRAM"], "serve", "--port", str(self.port), *self.flags]
        environ = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "PYTHON"))}
        environ |= {"REPARTEE_TOKEN": TOKEN, "XDG_DATA_HOME": str(self.folder / "data")}
        with self.log.open("w") as log:
            self.process = subprocess.Popen(command, cwd=self.folder, env=environ, stdout=log, stderr=log, text=True)  # noqa: ASYNC220
        async with asyncio.timeout(START_WITHIN_S), ClientSession() as http:
            while not await self._ready(http):
                assert self.process.poll() is None, self.log.read_text()
                await asyncio.sleep(STEP_S)

    async def _ready(self, http: ClientSession) -> bool:
        try:
            async with http.get(f"{self.url}/readyz", ssl=False) as answer:
                return answer.status == 200
        except ClientError:
            return False

    async def stop(self) -> None:
        if self.process is not None:
            self.process.terminate()
            await asyncio.to_thread(self.process.wait)
            self.process = None

    @property
    def fingerprint(self) -> str:
        printed = re.search(r"([0-9A-Fa-f]{2}:){31}[0-9A-Fa-f]{2}", self.log.read_text())
        assert printed is not None, self.log.read_text()
        return printed[0]


@pytest.fixture(autouse=True)
def integration(enable_custom_integrations: None, socket_enabled: None) -> None:
    """Lets Home Assistant find the integration, and the test open sockets of this machine."""


@pytest.fixture
async def model() -> AsyncGenerator[Model]:
    teller, app = Model(), web.Application()
    app.router.add_post("/v1/chat/completions", teller.complete)
    app.router.add_get("/v1/models", teller.models)
    runner = web.AppRunner(app, shutdown_timeout=1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    assert runner.addresses
    teller.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    yield teller
    await runner.cleanup()


@pytest.fixture
def programs(tmp_path_factory: pytest.TempPathFactory) -> Generator[Callable[..., Program]]:
    made: list[Program] = []

    def program(*flags: str) -> Program:
        made.append(Program(tmp_path_factory.mktemp("repartee"), flags))
        return made[-1]

    yield program
    for started in made:
        if started.process is not None:
            started.process.terminate()
            started.process.wait()


@pytest.fixture
async def server(programs: Callable[..., Program], model: Model) -> Program:
    """Returns a running server with a language model."""
    program = programs("--config", "own.toml")
    (program.folder / "own.toml").write_text(
        f'[[llm.endpoints]]\nname = "teller"\nurl = "{model.url}"\nmodel = "story"\n[assistant]\nlanguage = "en"\n'
    )
    await program.start()
    return program


@pytest.fixture
async def home(hass: HomeAssistant) -> HomeAssistant:
    """Returns a Home Assistant with two rooms."""
    for name in ("homeassistant", "conversation", "assist_pipeline"):
        assert await async_setup_component(hass, name, {})
    return hass


@pytest.fixture
async def entry(home: HomeAssistant, server: Program) -> MockConfigEntry:
    """Returns the entry of the server, set up."""
    data = {"url": server.url, "token": TOKEN, "fingerprint": ""}
    made = MockConfigEntry(domain=DOMAIN, title="Repartee", data=data, unique_id=server.url)
    made.add_to_hass(home)
    assert await home.config_entries.async_setup(made.entry_id)
    await home.async_block_till_done()
    return made
