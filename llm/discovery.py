"""Finds language-model servers on this machine: asks the usual ports of 127.0.0.1 for their list of models.

It does nothing else: it loads no model, sends no prompt, contacts no other host, and uses no proxy and no credentials.

It uses h11 directly because it runs while a conversation starts: importing httpx takes 80 ms, and its first request
another 50 ms.
"""

import asyncio
from collections.abc import Container, Sequence
from contextlib import suppress
from dataclasses import dataclass

import h11

from llm.model_list import model_list_of, wants_key

PORTS = (11434, 8080, 8000, 1234)
"""Default ports of Ollama, llama.cpp, vLLM and LM Studio, in the order in which they are offered."""

TIMEOUT_S = 0.4
"""Deadline for one port. A loopback server answers within milliseconds; a slower one is busy or not a model server."""

MAX_BYTES = 256 << 10
"""Maximum size of a list; one model takes about a hundred bytes."""

UNKNOWN = "an OpenAI-compatible server"
"""Name of a server that does not identify itself."""

LISTS_ALL = frozenset({"Ollama", "vLLM", "LM Studio"})
"""Products that serve only the models they list.

llama.cpp accepts any name. Clouds accept more names than they list (variants, deployments, aliases)."""

_HOST = "127.0.0.1"
_BLOCK_BYTES = 64 << 10


@dataclass(frozen=True, slots=True)
class FoundServer:
    """A language-model server.

    Attributes:
        name: The product, or `UNKNOWN`.
        url: Base address, in the form the configuration uses.
        models: Its chat models, in its own order.
        round_trip_ms: Time from the request, once connected, to the response headers.
        needs_key: Whether it requires a key; nothing else is known then.
        others: Its models that are evidently not for chat.
    """

    name: str
    url: str
    models: tuple[str, ...]
    round_trip_ms: float
    needs_key: bool = False
    others: tuple[str, ...] = ()

    @property
    def usable(self) -> bool:
        """Whether it has a model that can be used without further configuration."""
        return bool(self.models)


def is_listed(model: str, listed: Container[str]) -> bool:
    """Returns whether a model is in a list, allowing for Ollama's tags and Gemini's path prefix."""
    return model in listed or f"{model}:latest" in listed or f"models/{model}" in listed


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int
    body: bytes
    round_trip_ms: float


async def discover(ports: Sequence[int] = PORTS, timeout_s: float = TIMEOUT_S) -> tuple[FoundServer, ...]:
    """Returns the language-model servers on 127.0.0.1, in the order of `ports`. Never fails.

    All ports are asked at the same time, each with the deadline `timeout_s`. Answers that are no list of models (web
    pages, redirects, oversized bodies) are ignored.
    """
    async with asyncio.TaskGroup() as asking:
        tasks = [asking.create_task(look(port, timeout_s), name=f"port {port}") for port in ports]
    return tuple(server for task in tasks if (server := task.result()) is not None)


async def look(port: int, timeout_s: float) -> FoundServer | None:
    """Returns the language-model server on one port of 127.0.0.1, or None. Never fails."""
    with suppress(OSError, TimeoutError, h11.RemoteProtocolError):
        async with asyncio.timeout(timeout_s):
            answer = await _get(port)
        return _recognised(f"http://{_HOST}:{port}/v1", answer) if answer is not None else None
    return None


def _recognised(url: str, answer: _Answer) -> FoundServer | None:
    if answer.status in {401, 403} and wants_key(answer.body):
        return FoundServer(UNKNOWN, url, (), answer.round_trip_ms, needs_key=True)
    models = model_list_of(answer.body) if answer.status == 200 else None
    if models is None or not models.declared:
        return None
    return FoundServer(models.product or UNKNOWN, url, models.chat, answer.round_trip_ms, others=models.others)


async def _get(port: int) -> _Answer | None:
    """Sends GET /v1/models and returns the answer; None if it is too long. The caller sets the deadline."""
    reader, writer = await asyncio.open_connection(_HOST, port)
    try:
        connection = h11.Connection(h11.CLIENT)
        headers = [("host", f"{_HOST}:{port}"), ("accept", "application/json")]
        headers += [("accept-encoding", "identity"), ("connection", "close")]
        request = connection.send(h11.Request(method="GET", target="/v1/models", headers=headers))
        writer.write((request or b"") + (connection.send(h11.EndOfMessage()) or b""))
        return await _read(connection, reader)
    finally:
        writer.close()


async def _read(connection: h11.Connection, reader: asyncio.StreamReader) -> _Answer | None:
    loop = asyncio.get_running_loop()
    began_s = loop.time()
    status, round_trip_ms, body = 0, 0.0, bytearray()
    while len(body) <= MAX_BYTES:
        event = connection.next_event()
        if event is h11.NEED_DATA:
            connection.receive_data(await reader.read(_BLOCK_BYTES))
        elif isinstance(event, h11.Response):
            status, round_trip_ms = event.status_code, (loop.time() - began_s) * 1000
            if any(name == b"content-encoding" and value.lower() != b"identity" for name, value in event.headers):
                return None
        elif isinstance(event, h11.Data):
            body += event.data
        elif isinstance(event, h11.EndOfMessage):
            return _Answer(status, bytes(body), round_trip_ms)
        elif not isinstance(event, h11.InformationalResponse):
            return None
    return None
