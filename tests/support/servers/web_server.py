"""A server for tests: the real app on the real uvicorn, on a free loopback port, with scripted engines and talk."""

import asyncio
import signal
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from starlette.websockets import WebSocket

from assistant.config.server_settings import ServerSection
from web.access.access_control import AccessControl
from web.app import STATIC, make_app
from web.limits.session_acceptor import Conversations, SessionAcceptor
from web.limits.session_limits import SessionLimits
from web.observation.health import EngineState
from web.observation.metrics import Metrics
from web.observation.trace_stream import TraceStream
from web.serve import Server, uvicorn_config
from web.sockets.listening_sockets import listen
from web.sockets.tls import ServerTls


class InProcessServer(Server):
    """A server that leaves the signal handlers of the tests in place, and notices at once that it is to end.

    Servers of one test do not end in reverse order of their start: each would restore the handler of the other.
    """

    async def main_loop(self) -> None:
        while not await self.on_tick(0):  # noqa: ASYNC110 - it is uvicorn's way
            await asyncio.sleep(0.01)

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        before = {one: signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)}
        with super().capture_signals():
            if threading.current_thread() is threading.main_thread():  # elsewhere no handler is set
                for one, handler in before.items():
                    signal.signal(one, handler)
            yield


@dataclass
class ScriptedEnginePool:
    """An engine pool that becomes ready when the test sets `may_load`."""

    states: list[EngineState] = field(default_factory=lambda: [EngineState("stt", "ready", "scripted")])
    error: Exception | None = None
    may_load: asyncio.Event = field(default_factory=asyncio.Event)
    closed: bool = False

    async def load(self) -> None:
        await self.may_load.wait()
        if self.error is not None:
            raise self.error
        self.states = [EngineState(one.stage, "ready", one.name or "scripted") for one in self.states]

    def state(self) -> Sequence[EngineState]:
        return self.states

    async def aclose(self) -> None:
        self.closed = True


Converse = Callable[[WebSocket], Awaitable[None]]


class ScriptedConversations(Conversations):
    """Conversations that run a function; `resumable` and `kept_elsewhere` take a token."""

    def __init__(
        self,
        converse: Converse,
        resumable: Callable[[str], bool] = lambda _token: False,
        kept_elsewhere: Callable[[str], bool] = lambda _token: False,
    ) -> None:
        self._converse = converse
        self._resumable = resumable
        self._kept_elsewhere = kept_elsewhere

    async def converse(self, websocket: WebSocket) -> None:
        await self._converse(websocket)

    def resumable(self, token: str) -> bool:
        return self._resumable(token)

    async def kept_elsewhere(self, token: str) -> bool:
        return self._kept_elsewhere(token)


async def echo(websocket: WebSocket) -> None:
    """Sends its query, then echoes everything."""
    await websocket.send_text(websocket.url.query)
    while True:
        await websocket.send_text(await websocket.receive_text())


@dataclass(frozen=True, slots=True)
class RunningServer:
    """A running server."""

    port: int
    metrics: Metrics
    limits: SessionLimits
    server: Server
    traces: TraceStream

    @property
    def http(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def ws(self) -> str:
        return f"ws://127.0.0.1:{self.port}/v1/realtime"


@asynccontextmanager
async def running_server(
    engine_pool: ScriptedEnginePool | None = None,
    converse: Converse = echo,
    *,
    section: ServerSection | None = None,
    token: str | None = None,
    static: Path = STATIC,
    resumable: str = "",
    tls: ServerTls | None = None,
) -> AsyncGenerator[RunningServer]:
    """Runs the server while the block runs; `resumable`: token of a conversation that waits for its client."""
    engine_pool = engine_pool or ScriptedEnginePool()
    section = section or ServerSection(port=0)
    sockets = listen(section.host, 0, loopback_only=True)
    port = sockets[0].getsockname()[1]
    metrics, limits = Metrics(), SessionLimits(section.max_sessions)
    acceptor = SessionAcceptor(
        ScriptedConversations(converse, lambda name: bool(resumable) and name == resumable),
        engine_pool,
        limits,
        metrics,
        max_session_s=section.max_session_s,
        idle_timeout_s=section.idle_timeout_s,
    )
    access_control = AccessControl(
        section.host,
        port,
        token=token,
        allowed_hosts=[*section.hosts, *(f"{name}:{port}" for name in (tls.host_names if tls else ()))],
        allowed_origins=section.origins,
    )
    traces = TraceStream()
    health = None if tls is None else tls.health
    app = make_app(engine_pool, access_control, acceptor, metrics, traces=traces, static=static, tls_health=health)
    server = InProcessServer(uvicorn_config(app, section, {}), acceptor, tls=tls)
    async with asyncio.TaskGroup() as group:
        serving = group.create_task(server.serve(sockets=sockets))
        try:
            yield RunningServer(port, metrics, limits, server, traces)
        finally:
            server.should_exit = True
            await serving
