"""A language model that takes as long as it is told to: an OpenAI-compatible endpoint for measuring what is around one.

    python -m bench.controlled_llm [--port 9101] [--ttft-ms 100] [--tokens-per-s 50] [--reply TEXT] [--log FILE]

Answers `POST …/chat/completions` (streamed) and `GET …/models` on loopback. In the reply, {last} is the last word of
the last user message and {count} the number of its words, so that a listener can tell what the model was asked.
`POST …/control` with a JSON object of `ttft_ms`, `tokens_per_s` and `reply` changes them for the requests that follow.
The log has one JSON line for each answer, also for those that the client gave up. Prints its address once it listens.
"""

import argparse
import asyncio
import json
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

REPLY = "Last word {last}, of {count}. Anything else?"

IDLE_S = 5.0
"""An idle connection is closed after it, as many servers do."""

LONGEST_BODY = 16 << 20


@dataclass(frozen=True, slots=True)
class Manner:
    """How it answers.

    Attributes:
        ttft_ms: From the whole request to the first token.
        tokens_per_s: After it. A token is a word.
        reply: What it says, with {last} and {count}.
    """

    ttft_ms: float = 100.0
    tokens_per_s: float = 50.0
    reply: str = REPLY

    def __post_init__(self) -> None:
        if not (self.ttft_ms >= 0 and self.tokens_per_s > 0 and self.reply.strip()):
            raise ValueError(f"{self}: ttft_ms must be at least 0, tokens_per_s above 0, and reply not empty")


@dataclass(frozen=True, slots=True)
class Answer:
    """One line of the log.

    Attributes:
        at_s: When the request had come, wall clock.
        asked: The last user message.
        first_token_ms: From then to the first token; None: there was none.
        sent: Tokens that went out.
        cancelled: The client left before the end.
    """

    at_s: float
    asked: str
    first_token_ms: float | None
    sent: int
    cancelled: bool


def last_asked(messages: object) -> str:
    """The text of the last user message; "" where there is none."""
    if isinstance(messages, list):
        for message in reversed(messages):
            if isinstance(message, dict) and message.get("role") == "user":
                return str(message.get("content") or "")
    return ""


def tokens_of(manner: Manner, asked: str) -> list[str]:
    """The reply, cut before each blank."""
    words = asked.split()
    text = manner.reply.replace("{count}", str(len(words))).replace("{last}", words[-1] if words else "nothing")
    first, *rest = text.split(" ")
    return [first, *(f" {word}" for word in rest)]


class ControlledLlm:
    """Serves connections.

    Attributes:
        manner: Of the requests to come.
    """

    def __init__(self, manner: Manner, log: Callable[[Answer], None]) -> None:
        """`log` is told of each answer."""
        self.manner = manner
        self._log = log

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, until it is idle for too long or the client leaves."""
        try:
            while await self._one_request(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, TimeoutError):
            pass
        finally:
            writer.close()

    async def _one_request(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        async with asyncio.timeout(IDLE_S):
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            method, path, _ = head.split(" ", 2)
            fields = dict(line.lower().split(":", 1) for line in head.split("\r\n")[1:] if ":" in line)
            length = int(fields.get("content-length", "0"))
            if length > LONGEST_BODY:
                raise ConnectionError("a request that long is none of ours")
            body = await reader.readexactly(length)
        if method == "GET" and path.endswith("/models"):
            return await _json(writer, "200 OK", {"object": "list", "data": [{"id": "controlled", "object": "model"}]})
        if method == "POST" and path.endswith("/control"):
            return await self._control(writer, body)
        if method == "POST" and path.endswith("/chat/completions"):
            return await self._answer(reader, writer, json.loads(body))
        return await _json(writer, "404 Not Found", {"error": {"message": f"nothing at {method} {path}"}})

    async def _control(self, writer: asyncio.StreamWriter, body: bytes) -> bool:
        try:
            self.manner = replace(self.manner, **json.loads(body))
        except (TypeError, ValueError) as error:
            return await _json(writer, "400 Bad Request", {"error": {"message": str(error)}})
        return await _json(writer, "200 OK", asdict(self.manner))

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: Any) -> bool:
        loop = asyncio.get_running_loop()
        manner, came_s, at_s = self.manner, loop.time(), datetime.now(UTC).timestamp()
        asked = last_asked(request.get("messages"))
        sent, first_token_ms, whole = 0, None, False
        try:
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
            for token in tokens_of(manner, asked):
                due_s = came_s + manner.ttft_ms / 1000 + sent / manner.tokens_per_s
                if await _left_before(due_s, reader):
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
    """Wait until then; True as soon as the client has gone, or speaks out of turn."""
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


def _event(writer: asyncio.StreamWriter, delta: dict[str, str], finish: str | None = None) -> None:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    data = {"id": "controlled", "object": "chat.completion.chunk", "model": "controlled", "choices": [choice]}
    _chunk(writer, b"data: " + json.dumps(data).encode() + b"\n\n")


def _chunk(writer: asyncio.StreamWriter, data: bytes) -> None:
    writer.write(b"%x\r\n%b\r\n" % (len(data), data))


async def run(port: int, manner: Manner, log: Path | None) -> None:
    """Serve until cancelled; each answer is a line of the log at once."""

    def note(answer: Answer) -> None:
        if log is not None:
            with log.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(answer)) + "\n")

    server = await asyncio.start_server(ControlledLlm(manner, note).serve, "127.0.0.1", port)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", flush=True)
    async with server:
        await server.serve_forever()


def main() -> None:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=9101, help="0: any free one")
    parser.add_argument("--ttft-ms", type=float, default=100.0)
    parser.add_argument("--tokens-per-s", type=float, default=50.0)
    parser.add_argument("--reply", default=REPLY)
    parser.add_argument("--log", type=Path)
    options = parser.parse_args()
    try:
        asyncio.run(run(options.port, Manner(options.ttft_ms, options.tokens_per_s, options.reply), options.log))
    except KeyboardInterrupt:
        sys.exit(0)


if __name__ == "__main__":
    main()
