"""Runs the client programs against a server."""

import asyncio
import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clients.answering_service import answering_service
from clients.browser import browser_report, page_server
from clients.environments import CLIENTS, node_modules_of, python_of
from clients.hearing import QuestionRecognizer
from clients.networks import STALL_S, stalling_calls_port, stalling_port, tls_port
from support.servers.session_server import WHAT_TIME, SessionServer, real_engines, recording, session_server

PROGRAM_WITHIN_S = 200
START_WITHIN_S = 30


@dataclass(frozen=True)
class Outcome:
    """The answer of the server to one feature of a client, and why."""

    answer: str
    detail: str
    seconds: float


Outcomes = dict[str, Outcome]


@dataclass(frozen=True)
class Client:
    """A client program.

    Attributes:
        name: Key in expected.toml.
        program: Its file below tests/clients.
        environment: Folder below tests/clients whose lock has the packages.
        in_browser: Whether it runs in Chromium.
        mcp: Whether it names an MCP server.
    """

    name: str
    program: str
    environment: str
    in_browser: bool = False
    mcp: bool = False

    def command(self) -> tuple[list[str], dict[str, str]]:
        """Returns the command and additional environment variables. Raises CannotInstallError."""
        program = str(CLIENTS / self.program)
        if self.program.endswith(".mjs"):
            return ["node", program], {"CLIENT_PACKAGES": str(node_modules_of(self.environment))}
        return [str(python_of(self.environment)), program], {
            "PYTHONPATH": str(CLIENTS / "shared"),
            "PYTHONSAFEPATH": "1",
        }


CLIENT_PROGRAMS = (
    Client("openai", "openai/program_async.py", "openai", mcp=True),
    Client("openai-sync", "openai/program_sync.py", "openai"),
    Client("openai-1", "openai/program_async.py", "openai_1", mcp=True),
    Client("openai-1-beta", "openai_1/program_beta.py", "openai_1"),
    Client("openai-npm", "javascript/openai.mjs", "javascript"),
    Client("mastra", "javascript/mastra.mjs", "javascript"),
    Client("openai-realtime-api", "javascript/openai_realtime_api.mjs", "javascript"),
    Client("openai-agents", "openai_agents/program.py", "openai_agents"),
    Client("openai-agents-voice", "openai_agents/program_voice.py", "openai_agents"),
    Client("agents-node", "javascript/agents_node.mjs", "javascript", mcp=True),
    Client("agents-browser", "javascript/agents_browser.mjs", "javascript", in_browser=True),
    Client("livekit", "livekit/program.py", "livekit"),
    Client("pipecat", "pipecat/program.py", "pipecat"),
    Client("pydantic-ai", "pydantic_ai/program.py", "pydantic_ai"),
    Client("strands", "strands/program.py", "strands"),
)


@dataclass(frozen=True)
class ClientServer:
    """A server that clients of all kinds can use.

    Attributes:
        server: The server.
        fields: The settings for a client program.
    """

    server: SessionServer
    fields: dict[str, Any]


@asynccontextmanager
async def client_server(folder: Path, *, mcp: bool = False, origin: str = "") -> AsyncGenerator[ClientServer]:
    """Runs a server with TLS beside plain HTTP, and a language model that answers every client.

    With `mcp` also an MCP server that clients may name. `origin`: of pages that may use the server.
    """
    certificate, key, speech = await asyncio.to_thread(_make_files, folder)
    async with AsyncExitStack() as stack:
        llm = await stack.enter_async_context(answering_service())
        mcp_port = await stack.enter_async_context(mcp_server()) if mcp else 0
        settings = ["skills.before_llm=false", "server.max_sessions=8", *service_settings(llm, mcp_port)]
        loader = real_engines(folder / "traces", "", *settings)
        loader.recognizer = QuestionRecognizer
        hosts = ("127.0.0.1", "localhost")
        server = await stack.enter_async_context(
            session_server(loader, allowed_hosts=hosts, allowed_origins=[origin] if origin else ())
        )
        port = await stack.enter_async_context(tls_port(server.port, certificate, key))
        stalling = await stack.enter_async_context(stalling_port(server.port))
        stalling_tls = await stack.enter_async_context(tls_port(stalling, certificate, key))
        fields: dict[str, Any] = {
            "url": server.openai,
            "tls_url": f"https://localhost:{port}/v1",
            "stalled_url": f"http://127.0.0.1:{stalling}/v1",
            "stalled_tls_url": f"https://localhost:{stalling_tls}/v1",
            "certificate": str(certificate),
            "speech": str(speech),
            "mcp_url": f"http://127.0.0.1:{mcp_port}/mcp" if mcp else "",
        }
        if origin:
            calls = await stack.enter_async_context(stalling_calls_port(server.port))
            fields |= {"stalled_calls_url": f"http://127.0.0.1:{calls}/v1/realtime/calls", "stall_s": STALL_S}
        yield ClientServer(server, fields)


def service_settings(llm: str, mcp_port: int) -> list[str]:
    """Returns the settings of the language model, which takes images, and of the MCP server."""
    settings = [f'llm.endpoints=[{{name = "near", kind = "openai", url = "{llm}", model = "m", images = true}}]']
    if mcp_port:
        settings.append(f"tools.client_mcp_hosts=127.0.0.1:{mcp_port}")
    return settings


@asynccontextmanager
async def mcp_server() -> AsyncGenerator[int]:
    """Runs tests/support/mcp/mcp_program.py. Yields its port."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
    program = await asyncio.create_subprocess_exec(
        sys.executable,
        str(CLIENTS.parent / "support" / "mcp" / "mcp_program.py"),
        str(port),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        async with asyncio.timeout(START_WITHIN_S):
            while True:
                try:
                    _, writer = await asyncio.open_connection("127.0.0.1", port)
                except OSError:
                    await asyncio.sleep(0.1)
                else:
                    writer.close()
                    break
        yield port
    finally:
        program.terminate()
        await program.wait()


def _make_files(folder: Path) -> tuple[Path, Path, Path]:
    folder.mkdir(parents=True, exist_ok=True)
    speech = folder / "speech.pcm"
    speech.write_bytes(recording(WHAT_TIME).astype("<i2").tobytes())
    return *make_certificate(folder), speech


async def outcomes_of(client: Client, folder: Path, only: tuple[str, ...] = ()) -> Outcomes:
    """Runs a client program against a server of its own. Returns the answer for each feature."""
    if client.in_browser:
        packages = await asyncio.to_thread(node_modules_of, client.environment)
        with page_server(packages) as pages:
            async with client_server(folder, origin=pages.origin) as running:
                lines = await browser_report({**running.fields, "only": only}, pages, PROGRAM_WITHIN_S)
        return parsed("\n".join(lines), "")
    command, variables = await asyncio.to_thread(client.command)
    async with client_server(folder, mcp=client.mcp) as running:
        trusted = dict.fromkeys(("NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE"), running.fields["certificate"])
        program = await asyncio.create_subprocess_exec(
            *command,
            json.dumps({**running.fields, "only": only}),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **variables, **trusted},
        )
        try:
            async with asyncio.timeout(PROGRAM_WITHIN_S):
                output, errors = await program.communicate()
        except TimeoutError:
            program.kill()
            output, errors = await program.communicate()
    return parsed(output.decode(), errors.decode())


def parsed(output: str, errors: str) -> Outcomes:
    """Reads the report of a client program. Raises if there is none."""
    lines = [json.loads(line) for line in output.splitlines() if line.startswith('{"feature"')]
    if not lines:
        raise AssertionError(f"the program reported nothing:\n{output}\n{errors[-3000:]}")
    return {line["feature"]: Outcome(line["answer"], line["detail"], line["s"]) for line in lines}


def make_certificate(folder: Path) -> tuple[Path, Path]:
    """Makes a self-signed certificate for this machine. Returns the files of certificate and key."""
    openssl = shutil.which("openssl")
    assert openssl, "openssl is missing"
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    names = "subjectAltName=DNS:localhost,IP:127.0.0.1"
    made = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    files = ["-keyout", str(key), "-out", str(certificate), "-subj", "/CN=localhost", "-addext", names]
    subprocess.run([openssl, *made, *files], check=True, capture_output=True)
    return certificate, key


def run(client: Client, folder: Path, only: tuple[str, ...] = (), say: Callable[[str], object] = print) -> Outcomes:
    """Runs one client and tells each answer."""
    outcomes = asyncio.run(outcomes_of(client, folder, only))
    for name, outcome in outcomes.items():
        say(f"{client.name:24} {name:28} {outcome.answer:8} {outcome.seconds:5.1f} s  {outcome.detail}")
    return outcomes


if __name__ == "__main__":
    import tempfile

    (chosen,) = [client for client in CLIENT_PROGRAMS if client.name == sys.argv[1]]
    with tempfile.TemporaryDirectory() as temporary:
        run(chosen, Path(temporary), tuple(sys.argv[2:]))
