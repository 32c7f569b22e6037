"""A scripted LLM service with faults, on a real loopback socket.

A script is a tuple of steps for one connection's next POST. The last script of a server serves all further requests.
With `by_turn` a script belongs to a turn and serves all requests of that turn: speculative attempts may ask several
times, depending on how fast the machine recognizes speech.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field

from llm.chat import ChatEvent, ChatModel, Message

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
HEAD_UNTIL_CLOSE = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
LAST_CHUNK = b"0\r\n\r\n"
DONE = b"data: [DONE]\n\n"

HELLO = (Message("system", "You are terse."), Message("user", "what is the tallest mountain"))
"""Default messages of the tests."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Waits. If the client disconnects, the script ends."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Drip:
    """Repeats the same bytes until the client disconnects."""

    data: bytes
    every_s: float


class Close:
    """Closes the connection cleanly."""


class Abort:
    """Resets the connection."""


Step = bytes | Wait | Drip | Close | Abort
Script = tuple[Step, ...]


def event(content: object = None, *, finish: str | None = None, **delta: object) -> bytes:
    """Returns one chat.completion.chunk as SSE."""
    fields = delta if content is None else {"content": content, **delta}
    choice = {"index": 0, "delta": fields, "finish_reason": finish}
    return b"data: " + json.dumps({"object": "chat.completion.chunk", "choices": [choice]}).encode() + b"\n\n"


def usage(prompt_tokens: int, completion_tokens: int) -> bytes:
    """Returns the closing chunk with token counts."""
    counts = {"prompt_tokens": prompt_tokens, "completion_tokens": completion_tokens}
    return b"data: " + json.dumps({"choices": [], "usage": counts}).encode() + b"\n\n"


def chunk(data: bytes) -> bytes:
    """Encodes data in chunked transfer encoding."""
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


def answer(*texts: str) -> Script:
    """Returns a complete answer without faults."""
    body = event(role="assistant", content="") + b"".join(map(event, texts)) + event(finish="stop") + DONE
    return (HEAD, chunk(body), LAST_CHUNK)


def status(code: int, body: object = None, headers: str = "") -> Script:
    """Returns an answer other than 200."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return (f"HTTP/1.1 {code} X\r\n{headers}content-length: {len(data)}\r\n\r\n".encode() + data,)


@dataclass
class Seen:
    """One request, as seen by the server."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Server:
    """State of the server for tests.

    Attributes:
        url: Base URL of the service.
        by_turn: Whether a script belongs to a turn (counted by user messages) or to a request.
        models: Script for every GET (the list of models) and, without the body, HEAD.
        seen: Requests so far.
        asked: Set after the first request.
        connections: Number of accepted connections.
        open: Open connections.
        quiet: Set while no connection is open.
        left_at_s: Loop time at which the client was found to have disconnected before the end of a script.
    """

    scripts: list[Script]
    url: str = ""
    by_turn: bool = False
    models: Script = field(default_factory=lambda: status(200, {"data": []}))
    seen: list[Seen] = field(default_factory=list)
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    connections: int = 0
    open: set[asyncio.StreamWriter] = field(default_factory=set)
    quiet: asyncio.Event = field(default_factory=asyncio.Event)
    left_at_s: asyncio.Future[float] = field(default_factory=lambda: asyncio.get_running_loop().create_future())

    @property
    def posts(self) -> list[Seen]:
        """Returns the completion requests."""
        return [request for request in self.seen if request.method == "POST"]

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serves one connection."""
        self.connections += 1
        self.open.add(writer)
        self.quiet.clear()
        try:
            while True:
                await self._one_request(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()
            self.open.discard(writer)
            if not self.open:
                self.quiet.set()

    async def hang_up(self) -> None:
        """Closes open connections, and waits until the last script has ended."""
        for writer in self.open:
            writer.transport.abort()
        if self.open:
            async with asyncio.timeout(10):
                await self.quiet.wait()

    async def _one_request(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        request_line, *lines = head.split("\r\n")
        method, path, _ = request_line.split(" ", 2)
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        self.seen.append(Seen(method, path, headers, body))
        self.asked.set()
        if method == "HEAD":
            writer.write(b"".join(step for step in self.models if isinstance(step, bytes)).partition(b"\r\n\r\n")[0])
            writer.write(b"\r\n\r\n")
            return
        for step in self.models if method == "GET" else self._next_script():
            await self._do(step, reader, writer)

    def _next_script(self) -> Script:
        if self.by_turn:
            messages = json.loads(self.seen[-1].body)["messages"]
            turn = [message["role"] for message in messages].count("user")
            return self.scripts[min(turn, len(self.scripts)) - 1]
        return self.scripts.pop(0) if len(self.scripts) > 1 else self.scripts[0]

    async def _do(self, step: Step, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        match step:
            case bytes():
                writer.write(step)
                await writer.drain()
            case Wait(seconds):
                await self._wait(seconds, reader)
            case Drip(data, every_s):
                while True:
                    writer.write(data)
                    await self._wait(every_s, reader)
            case Close():
                raise ConnectionError("as the script says")
            case Abort():
                writer.transport.abort()
                raise ConnectionError("as the script says")

    async def _wait(self, seconds: float, reader: asyncio.StreamReader) -> None:
        try:
            async with asyncio.timeout(seconds):
                await reader.read(1)
        except TimeoutError:
            return
        finally:
            if reader.at_eof() and not self.left_at_s.done():
                self.left_at_s.set_result(asyncio.get_running_loop().time())
        raise ConnectionError("the client has left")


def calling(name: str, arguments: str) -> Script:
    """Returns a script that calls a function."""
    call = {"index": 0, "id": "call_1", "type": "function", "function": {"name": name, "arguments": arguments}}
    return (HEAD, chunk(event(role="assistant", tool_calls=[call]) + event(finish="tool_calls") + DONE), LAST_CHUNK)


@asynccontextmanager
async def serving(*scripts: Script, by_turn: bool = False) -> AsyncGenerator[Server]:
    """Serves scripts on a free loopback port."""
    server = Server(list(scripts), by_turn=by_turn)
    listener = await asyncio.start_server(server.handle, "127.0.0.1", 0)
    server.url = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}/v1"
    try:
        yield server
    finally:
        listener.close()
        await server.hang_up()


async def ask(model: ChatModel, messages: Sequence[Message] = HELLO) -> list[ChatEvent]:
    """Returns all events of one answer."""
    async with aclosing(model.stream(messages)) as events:
        return [event async for event in events]
