"""Who serves language models on this machine: the usual ports of 127.0.0.1 are asked for their lists of models.

Nothing else: no model is loaded or asked anything, no other host is looked at, no proxy and no credentials are used.

On h11 alone, since it runs while a conversation starts: importing httpx takes 80 ms, and its first request 50 more.
"""

import asyncio
from collections.abc import Container, Sequence
from contextlib import suppress
from dataclasses import dataclass

import h11

from llm.model_list import model_list_of, wants_key

PORTS = (11434, 8080, 8000, 1234)
"""Where Ollama, llama.cpp, vLLM and LM Studio listen unless told otherwise, in the order in which they are offered."""

TIMEOUT_S = 0.4
"""On loopback a list is there within milliseconds; who takes longer is busy, or somebody else."""

MAX_BYTES = 256 << 10
"""Of a list: about a hundred bytes a model."""

UNKNOWN = "an OpenAI-compatible server"
"""The name of a server that does not say what it is."""

LISTS_ALL = frozenset({"Ollama", "vLLM", "LM Studio"})
"""Products that have no model but those that they list. llama.cpp answers to any name, and clouds know more than they
list: variants, deployments, names of their own."""

_HOST = "127.0.0.1"
_BLOCK_BYTES = 64 << 10


@dataclass(frozen=True, slots=True)
class FoundServer:
    """A server of language models.

    Attributes:
        name: The product, or `UNKNOWN`.
        url: Base address, as the configuration wants it.
        models: Its chat models, in its own order.
        round_trip_ms: From the request, once connected, to the head of the answer.
        needs_key: It answers only with a key, so that nothing more is known of it.
        others: Models it has that are evidently not for chat.
    """

    name: str
    url: str
    models: tuple[str, ...]
    round_trip_ms: float
    needs_key: bool = False
    others: tuple[str, ...] = ()

    @property
    def usable(self) -> bool:
        """Whether a conversation can be held with it as it is."""
        return bool(self.models)


def is_listed(model: str, listed: Container[str]) -> bool:
    """Whether it is in a list, perhaps as Ollama writes it, whose names have a tag, or Gemini, by a path."""
    return model in listed or f"{model}:latest" in listed or f"models/{model}" in listed


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int
    body: bytes
    round_trip_ms: float


async def discover(ports: Sequence[int] = PORTS, timeout_s: float = TIMEOUT_S) -> tuple[FoundServer, ...]:
    """The servers of language models on 127.0.0.1, in the order of `ports`. Never fails.

    All are asked at once and each has `timeout_s`. What is no list of models (a web page, a redirect, anything huge)
    is somebody else's and left out.
    """
    async with asyncio.TaskGroup() as asking:
        tasks = [asking.create_task(look(port, timeout_s), name=f"port {port}") for port in ports]
    return tuple(found for task in tasks if (found := task.result()) is not None)


async def look(port: int, timeout_s: float) -> FoundServer | None:
    """The server on one port of 127.0.0.1; None if there is none, or none such. Never fails."""
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
    """The answer to GET /v1/models; None if it is too long. The caller brings the deadline."""
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
