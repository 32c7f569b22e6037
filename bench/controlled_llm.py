"""A fake LLM with configurable timing: an OpenAI-compatible endpoint for measuring the code around it.

    python -m bench.controlled_llm [--port 9101] [--ttft-ms 100] [--tokens-per-s 50] [--reply TEXT] [--log FILE]
        [--connect-ms 0] [--rtt-ms 0] [--slow-rate 0] [--slow-ms 1500] [--keepalive-s 5] [--fault KIND:N]

Answers `POST …/chat/completions` (streamed) and `GET …/models` on loopback. In the reply, {last} is the last word of
the last user message and {count} is its number of words, so that a listener can tell what the model was asked.
`POST …/control` with a JSON object of its settings (`ttft_ms`, `reply` ...) changes them for later requests.
The log has one JSON line for each answer, including cancelled ones. Prints its address once it listens.
"""

import argparse
import asyncio
import json
import random
import re
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

REPLY = "Last word {last}, of {count}. Anything else?"

FAULT = re.compile(r"|status:[45]\d\d|(drop|stall)-after:\d+|garbage")
"""Faults: none; an HTTP status; a dropped or stalled connection after some tokens; a web page instead of JSON."""

MAX_BODY_BYTES = 16 << 20

STALL_S = 600.0


@dataclass(frozen=True, slots=True)
class LlmBehaviour:
    """Settings of the fake LLM.

    Attributes:
        ttft_ms: Time from the complete request to the first token.
        tokens_per_s: Token rate after the first token. A token is a word.
        reply: Text of the reply, with {last} and {count}.
        connect_ms: Delay of the first request of a connection. Simulates TCP and TLS setup with a distant server.
        rtt_ms: Delay of every request, also of requests that keep a connection warm. Simulates a distant network.
        slow_rate: Share of answers whose first token is delayed by `slow_ms`.
        slow_ms: That delay.
        keepalive_s: Idle time after which a connection is closed. Many servers use 5 s.
        fault: "", "status:503", "drop-after:3", "stall-after:0" or "garbage".
    """

    ttft_ms: float = 100.0
    tokens_per_s: float = 50.0
    reply: str = REPLY
    connect_ms: float = 0.0
    rtt_ms: float = 0.0
    slow_rate: float = 0.0
    slow_ms: float = 1500.0
    keepalive_s: float = 5.0
    fault: str = ""

    @property
    def fault_after(self) -> tuple[str, int]:
        """Returns the kind of fault and its number."""
        kind, _, number = self.fault.partition(":")
        return kind, int(number or 0)

    def __post_init__(self) -> None:
        if min(self.connect_ms, self.rtt_ms, self.slow_ms) < 0 or self.keepalive_s <= 0 or not 0 <= self.slow_rate <= 1:
            raise ValueError(f"{self}: delays must be at least 0, keepalive_s above 0, slow_rate from 0 to 1")
        if not FAULT.fullmatch(self.fault):
            raise ValueError(f"{self}: fault must be empty, status:N, drop-after:N, stall-after:N or garbage")
        if not (self.ttft_ms >= 0 and self.tokens_per_s > 0 and self.reply.strip()):
            raise ValueError(f"{self}: ttft_ms must be at least 0, tokens_per_s above 0, and reply not empty")


@dataclass(frozen=True, slots=True)
class Answer:
    """One line of the log.

    Attributes:
        at_s: When the request was complete, wall clock.
        asked: The last user message.
        first_token_ms: Time from then to the first token; None if there was none.
        sent: Number of tokens sent.
        cancelled: Whether the client disconnected before the end.
    """

    at_s: float
    asked: str
    first_token_ms: float | None
    sent: int
    cancelled: bool


def last_asked(messages: object) -> str:
    """Returns the text of the last user message; "" if there is none."""
    if isinstance(messages, list):
        for message in reversed(messages):
            if isinstance(message, dict) and message.get("role") == "user":
                return str(message.get("content") or "")
    return ""


def tokens_of(behaviour: LlmBehaviour, asked: str) -> list[str]:
    """Returns the reply, split before each space."""
    words = asked.split()
    text = behaviour.reply.replace("{count}", str(len(words))).replace("{last}", words[-1] if words else "nothing")
    first, *rest = text.split(" ")
    return [first, *(f" {word}" for word in rest)]


class ControlledLlm:
    """Serves connections.

    Attributes:
        behaviour: Settings for new requests.
    """

    def __init__(self, behaviour: LlmBehaviour, log: Callable[[Answer], None], *, seed: int = 1) -> None:
        """`log` is called with each answer; `seed` determines which answers are slow."""
        self.behaviour = behaviour
        self._log = log
        self._luck = random.Random(seed)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serves one connection until it is idle for too long or the client disconnects."""
        delay_ms = self.behaviour.connect_ms
        try:
            while await self._one_request(reader, writer, delay_ms):
                delay_ms = 0.0
        except (ConnectionError, asyncio.IncompleteReadError, TimeoutError):
            pass
        finally:
            writer.close()

    async def _one_request(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, connect_ms: float) -> bool:
        async with asyncio.timeout(self.behaviour.keepalive_s):
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            method, path, _ = head.split(" ", 2)
            fields = dict(line.lower().split(":", 1) for line in head.split("\r\n")[1:] if ":" in line)
            length = int(fields.get("content-length", "0"))
            if length > MAX_BODY_BYTES:
                raise ConnectionError("the request is longer than any of this bench")
            body = await reader.readexactly(length)
        if not path.endswith("/control"):
            await asyncio.sleep((connect_ms + self.behaviour.rtt_ms) / 1000)
        if method == "GET" and path.endswith("/models"):
            return await _json(writer, "200 OK", {"object": "list", "data": [{"id": "controlled", "object": "model"}]})
        if method == "POST" and path.endswith("/control"):
            return await self._control(writer, body)
        if method == "POST" and path.endswith("/chat/completions"):
            return await self._answer(reader, writer, json.loads(body))
        return await _json(writer, "404 Not Found", {"error": {"message": f"nothing at {method} {path}"}})

    async def _control(self, writer: asyncio.StreamWriter, body: bytes) -> bool:
        try:
            self.behaviour = replace(self.behaviour, **json.loads(body))
        except (TypeError, ValueError) as error:
            return await _json(writer, "400 Bad Request", {"error": {"message": str(error)}})
        return await _json(writer, "200 OK", asdict(self.behaviour))

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: Any) -> bool:
        loop = asyncio.get_running_loop()
        behaviour, came_s, at_s = self.behaviour, loop.time(), datetime.now(UTC).timestamp()
        asked = last_asked(request.get("messages"))
        sent, first_token_ms, whole = 0, None, False
        kind, number = behaviour.fault_after
        ttft_ms = behaviour.ttft_ms + (behaviour.slow_ms if self._luck.random() < behaviour.slow_rate else 0.0)
        try:
            if kind == "status":
                return await _json(writer, f"{number} Injected", {"error": {"message": "injected"}})
            if kind == "garbage":
                return await _page(writer)
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
            for token in tokens_of(behaviour, asked):
                due_s = came_s + ttft_ms / 1000 + sent / behaviour.tokens_per_s
                if kind == "stall-after" and sent >= number:
                    due_s += STALL_S
                if await _left_before(due_s, reader):
                    return False
                if kind == "drop-after" and sent >= number:
                    writer.transport.abort()
                    return False
                first_token_ms = first_token_ms or (loop.time() - came_s) * 1000
                _event(writer, {"content": token} if sent else {"role": "assistant", "content": token})
                sent += 1
                await writer.drain()
            _event(writer, {}, finish="stop")
            _chunk(writer, b"data: [DONE]\n\n")
            writer.write(b"0\r\n\r\n")
            await writer.drain()
            whole = True
        finally:
            self._log(Answer(at_s, asked, first_token_ms, sent, cancelled=not whole))
        return True


async def _left_before(due_s: float, reader: asyncio.StreamReader) -> bool:
    """Waits until `due_s`. Returns True as soon as the client disconnects or sends unexpected data."""
    try:
        async with asyncio.timeout_at(due_s):
            await reader.read(1)
    except TimeoutError:
        return False
    return True


async def _json(writer: asyncio.StreamWriter, status: str, value: object) -> bool:
    data = json.dumps(value).encode()
    head = f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {len(data)}\r\n\r\n"
    writer.write(head.encode() + data)
    await writer.drain()
    return True


async def _page(writer: asyncio.StreamWriter) -> bool:
    page = b"<!doctype html><title>Sign in</title>"
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: %d\r\n\r\n%b" % (len(page), page))
    await writer.drain()
    return True


def _event(writer: asyncio.StreamWriter, delta: dict[str, str], finish: str | None = None) -> None:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    data = {"id": "controlled", "object": "chat.completion.chunk", "model": "controlled", "choices": [choice]}
    _chunk(writer, b"data: " + json.dumps(data).encode() + b"\n\n")


def _chunk(writer: asyncio.StreamWriter, data: bytes) -> None:
    writer.write(b"%x\r\n%b\r\n" % (len(data), data))


async def run(port: int, behaviour: LlmBehaviour, log: Path | None) -> None:
    """Serves until cancelled. Logs each answer at once."""

    def note(answer: Answer) -> None:
        if log is not None:
            with log.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(answer)) + "\n")

    server = await asyncio.start_server(ControlledLlm(behaviour, note).serve, "127.0.0.1", port)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", flush=True)
    async with server:
        await server.serve_forever()


def main() -> None:
    """Serves until interrupted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=9101, help="port; 0: any free port")
    parser.add_argument("--ttft-ms", type=float, default=100.0)
    parser.add_argument("--tokens-per-s", type=float, default=50.0)
    parser.add_argument("--reply", default=REPLY)
    parser.add_argument("--connect-ms", type=float, default=0.0)
    parser.add_argument("--rtt-ms", type=float, default=0.0)
    parser.add_argument("--slow-rate", type=float, default=0.0)
    parser.add_argument("--slow-ms", type=float, default=1500.0)
    parser.add_argument("--keepalive-s", type=float, default=5.0)
    parser.add_argument("--fault", default="")
    parser.add_argument("--log", type=Path)
    options = vars(parser.parse_args())
    port, log = options.pop("port"), options.pop("log")
    try:
        asyncio.run(run(port, LlmBehaviour(**options), log))
    except KeyboardInterrupt:
        sys.exit(0)


if __name__ == "__main__":
    main()
