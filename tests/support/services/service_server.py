"""A local server that answers as Home Assistant and Open-Meteo do (service_recordings/), with their faults."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from assistant.home.likeness import folded

RECORDINGS = Path(__file__).parents[2] / "service_recordings"
TOKEN = "ey.test-token.x"


def recording(name: str) -> bytes:
    """Returns an answer of the folder service_recordings/."""
    return (RECORDINGS / f"{name}.json").read_bytes()


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer of the server.

    Attributes:
        body: The body.
        status: The status.
        after_s: Delay before the answer.
        headers: Further header lines.
        repeats: How often the body is sent, without a Content-Length, for a body that is too large.
    """

    body: bytes = b""
    status: int = 200
    after_s: float = 0.0
    headers: str = ""
    repeats: int = 1


@dataclass(frozen=True, slots=True)
class Request:
    """A request that the server got."""

    method: str
    path: str
    query: dict[str, str]
    token: str
    body: bytes

    @property
    def json(self) -> dict[str, object]:
        """The body."""
        found = json.loads(self.body)
        assert isinstance(found, dict)
        return found


@dataclass
class ServiceServer:
    """Answers as a home and as a weather service.

    Attributes:
        faults: Answers in place of the usual ones, by the beginning of the path.
        requests: The requests so far.
        url: Its address.
        listener: Its socket.
    """

    faults: dict[str, Reply] = field(default_factory=dict)
    requests: list[Request] = field(default_factory=list)
    url: str = ""
    listener: asyncio.Server | None = None
    _open: dict[asyncio.StreamWriter, asyncio.Task[None]] = field(default_factory=dict)

    @property
    def calls(self) -> list[tuple[str, dict[str, object]]]:
        """The service calls so far: "light/turn_on", and the body."""
        prefix = "/api/services/"
        return [(r.path.removeprefix(prefix), r.json) for r in self.requests if r.path.startswith(prefix)]

    def of(self, path: str) -> list[Request]:
        """Returns the requests of this path."""
        return [request for request in self.requests if request.path == path]

    def _reply(self, request: Request) -> Reply:
        for path, fault in self.faults.items():
            if request.path.startswith(path):
                return fault
        if request.path.startswith("/api/"):
            return self._home(request)
        if request.path == "/v1/search":
            name = folded(request.query["name"])
            known = {"paris", "springfield"}
            return Reply(recording(f"weather_{name}" if name in known else "weather_none"))
        return Reply(recording("weather_forecast")) if request.path == "/v1/forecast" else Reply(status=404)

    def _home(self, request: Request) -> Reply:
        if request.token != TOKEN:
            return Reply(b"401: Unauthorized", 401)
        if request.path == "/api/states":
            return Reply(recording("home_states"))
        if request.path == "/api/template":
            return Reply(recording("home_places"))
        targets = request.json["entity_id"]
        assert isinstance(targets, list)
        on = {"turn_on": "on", "turn_off": "off"}.get(request.path.rpartition("/")[2])
        states = json.loads(recording("home_states"))
        changed = [state | ({"state": on} if on else {}) for state in states if state["entity_id"] in targets]
        return Reply(json.dumps(changed).encode())

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serves one connection."""
        task = asyncio.current_task()
        assert task is not None
        self._open[writer] = task
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                first, *lines = head.split("\r\n")
                method, target, _ = first.split(" ", 2)
                headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
                body = await reader.readexactly(int(headers.get("content-length", 0)))
                parts = urlsplit(target)
                query = {name: values[0] for name, values in parse_qs(parts.query).items()}
                token = headers.get("authorization", "").removeprefix("Bearer ")
                self.requests.append(Request(method, parts.path, query, token, body))
                await self._send(self._reply(self.requests[-1]), writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()
            del self._open[writer]

    async def stop(self) -> None:
        """Stops listening, and closes the connections."""
        assert self.listener is not None
        self.listener.close()
        await self.hang_up()
        await self.listener.wait_closed()

    async def hang_up(self) -> None:
        """Closes the connections, and waits until they are served no more."""
        tasks = list(self._open.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _send(self, reply: Reply, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(reply.after_s)
        length = f"content-length: {len(reply.body)}\r\n" if reply.repeats == 1 else "connection: close\r\n"
        writer.write(f"HTTP/1.1 {reply.status} X\r\n{reply.headers}{length}\r\n".encode())
        for _ in range(reply.repeats):
            writer.write(reply.body)
            await writer.drain()
        if reply.repeats > 1:
            raise ConnectionError


@asynccontextmanager
async def service_server() -> AsyncGenerator[ServiceServer]:
    """Runs a server on a free port."""
    served = ServiceServer()
    served.listener = await asyncio.start_server(served.handle, "127.0.0.1", 0)
    served.url = f"http://127.0.0.1:{served.listener.sockets[0].getsockname()[1]}"
    try:
        yield served
    finally:
        await served.stop()
