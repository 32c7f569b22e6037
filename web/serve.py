"""Implements `repartee serve`: runs the app on uvicorn, prints the banner, and shuts down in order."""

import asyncio
import contextlib
import ipaddress
import logging
import logging.config
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Generator, Mapping
from functools import partial
from pathlib import Path
from types import FrameType

import uvicorn
from rich.console import Console
from starlette.applications import Starlette
from uvicorn.config import STARTUP_FAILURE

from assistant.checks.serving import certificate_finding, trace_finding
from assistant.config.errors import ConfigError
from assistant.config.loading import Loaded
from assistant.config.mcp_hosts import McpHosts
from assistant.config.server_settings import ServerSection
from audio.machine_load import MachineLoadReader
from web.access.access_control import AccessControl
from web.access.client_secrets import ClientSecrets
from web.access.server_token import token_of
from web.app import make_app
from web.connections.socket_reader import MAX_MESSAGE_BYTES
from web.http_api.serving import ServerState
from web.limits.admission import Admission
from web.limits.session_acceptor import SessionAcceptor
from web.limits.session_limits import SessionLimits
from web.observation.metrics import Metrics
from web.observation.server_log import LOGGING
from web.page_api.setup import SetupParts
from web.process import descriptors
from web.process.engine_priority import keep_engines_behind
from web.process.garbage import freeze_loaded_objects
from web.process.stall_watchdog import StallWatchdog
from web.routes import api_routes, make_calls, serving_wyoming
from web.services import ServicesFactory, create_services
from web.sockets.acceptor import Acceptor
from web.sockets.http_timeouts import TimedHttpProtocol, close_oldest_idle
from web.sockets.listening_sockets import BACKLOG, listen
from web.sockets.tls import ServerTls, server_tls
from web.sockets.websocket_backpressure import BackpressureProtocol
from web.startup_banner import StartupBanner
from web.wyoming.address import listen_wyoming

_log = logging.getLogger(__name__)

PROXIES_VARIABLE = "FORWARDED_ALLOW_IPS"
THIS_MACHINE = "127.0.0.1,::1"

DRAIN_S = 1.5
"""Time limit for conversations to end; then their connections are closed. After SIGTERM, replies in progress have
`server.drain_s` before that."""
GRACE_S = 1
"""Time limit for requests in progress; then they are cancelled."""
EXIT_S = 4.8
"""The process ends this long after the first signal and `server.drain_s`. All time limits have passed by then. A
library that hangs in a thread would otherwise keep the process alive forever."""
AT_ONCE_S = 1.0
"""The process ends this long after the second signal."""

PING_S = 20.0
"""Interval of keepalive pings, and time limit for the pong."""


async def serve(
    loaded: Loaded,
    environ: Mapping[str, str],
    console: Console,
    *,
    insecure: bool = False,
    config: Path | None = None,
    create_services: ServicesFactory = create_services,
) -> bool:
    """Serves until SIGINT or SIGTERM, or until the page asks for a restart.

    Returns whether the process is to start again.

    Args:
        loaded: The settings.
        environ: Environment variables: API keys of services, REPARTEE_TOKEN.
        console: Where the banner is printed.
        insecure: Serve other machines even without a token.
        config: The configuration file that was named; the page changes it. None: the user's.
        create_services: Creates the engines and the conversation handler.

    Raises:
        ConfigError: The address cannot be used, or other machines could connect without a token.
        AudioError: An engine cannot be loaded.
    """
    section = loaded.settings.server
    token = token_of(environ)
    tls = server_tls(section, environ)
    descriptors.raise_limit()
    with contextlib.ExitStack() as closing:
        sockets = listen(section.host, section.port, loopback_only=token is None and not insecure)
        for listener in sockets:
            closing.enter_context(listener)
        port = sockets[0].getsockname()[1]
        wyoming = closing.enter_context(listen_wyoming(section.wyoming)) if section.wyoming else None
        access_control = AccessControl(
            section.host,
            port,
            token=token,
            insecure=insecure,
            allowed_hosts=[*section.hosts, *(f"{name}:{port}" for name in (tls.host_names if tls else ()))],
            allowed_origins=section.origins,
        )
        metrics = Metrics()
        services = create_services(loaded.settings, environ, metrics)
        admission = (
            Admission(metrics.load, time.monotonic, machine=MachineLoadReader())
            if section.admission == "measured"
            else None
        )
        limits = SessionLimits(section.max_sessions, admission)
        session_acceptor = SessionAcceptor(
            services.conversations,
            services.engine_pool,
            limits,
            metrics,
            max_session_s=section.max_session_s,
            idle_timeout_s=section.idle_timeout_s,
        )
        banner = StartupBanner(console, services.engine_pool)
        failures: list[Exception] = []
        loading_ended = asyncio.Event()

        def engines_loaded(error: Exception | None) -> None:
            if error is None:
                freeze_loaded_objects()
                metrics.engines_loaded()
                loading_ended.set()
                banner.ready()
            else:
                failures.append(error)
                server.should_exit = True

        client_secrets = ClientSecrets(
            asyncio.get_running_loop().time,
            services.handovers,
            McpHosts.of(loaded.settings.tools.client_mcp_hosts),
        )
        state = ServerState(services.engine_pool, limits, lambda: session_acceptor.turn_in_progress)
        session_acceptor.at_drain(state.ended.set)
        parts = services.api_parts
        calls = None if parts is None else make_calls(parts, state, session_acceptor)
        app = make_app(
            services.engine_pool,
            access_control,
            session_acceptor,
            metrics,
            loaded=engines_loaded,
            background_tasks=(
                *services.background_tasks,
                *(() if admission is None else (admission.run,)),
                partial(StallWatchdog(metrics.stalled).run_after, loading_ended),
                partial(keep_engines_behind, loading_ended, lambda: limits.current),
                *(() if calls is None else (calls.run,)),
                *(() if tls is None else (tls.keep_current,)),
                *(() if wyoming is None else (serving_wyoming(wyoming, parts, session_acceptor, state.ended),)),
            ),
            tls_health=None if tls is None else tls.health,
            handover_health=None if services.handovers is None else services.handovers.health,
            traces=services.traces,
            api_routes=()
            if parts is None
            else api_routes(
                parts,
                client_secrets,
                state,
                metrics.request_refused,
                max_audio_requests=section.max_audio_requests,
                tokens_are_checked=token is not None,
                calls=calls,
                setup=SetupParts.of(loaded, config, environ, access_control),
                restart=lambda: server.restart(),  # noqa: PLW0108 - it is made below
            ),
            client_secrets=client_secrets,
        )
        server = Server(uvicorn_config(app, section, environ), session_acceptor, drain_s=section.drain_s, tls=tls)
        logging.config.dictConfig(dict(LOGGING))
        banner.listening(section.host, port, token=token is not None, insecure=insecure, tls=tls, wyoming=wyoming)
        if token is not None and wyoming is not None and wyoming.token_warning:
            _log.warning("%s", wyoming.token_warning)
        findings = [trace_finding(loaded.settings.trace.dir)]
        findings += [certificate_finding(section, environ)] if tls is not None else []
        for finding in findings:
            if finding.level == "warn":
                _log.warning("%s; %s", finding.text, finding.remedy)
        await server.serve(sockets=sockets)
    if failures:
        raise failures[0]
    if not server.restarts:
        banner.bye()
    return server.restarts


def proxies_of(environ: Mapping[str, str]) -> str:
    """Returns the addresses of trusted proxies: FORWARDED_ALLOW_IPS, by default the loopback addresses.

    Raises ConfigError for an invalid address: uvicorn would treat it as a name, which never matches a proxy.
    """
    given = environ.get(PROXIES_VARIABLE) or THIS_MACHINE
    for proxy in (part.strip() for part in given.split(",")):
        try:
            if proxy and proxy != "*":
                ipaddress.ip_network(proxy)
        except ValueError as error:
            problem = f"environment {PROXIES_VARIABLE}: {proxy!r} is not the address of a proxy ({error})"
            raise ConfigError([f"{problem}; write proxies as 10.0.0.2,172.17.0.0/16, or * for all"]) from error
    return given


def uvicorn_config(app: Starlette, section: ServerSection, environ: Mapping[str, str]) -> uvicorn.Config:
    """Builds uvicorn's configuration. Raises ConfigError as `proxies_of` does."""
    return uvicorn.Config(
        app,
        loop="asyncio",
        http=TimedHttpProtocol,
        ws=BackpressureProtocol,
        ws_per_message_deflate=False,  # audio does not get smaller, and compression takes a millisecond per message
        # A message that is too long is answered with an error. Beyond twice the limit the connection is closed.
        ws_max_size=2 * MAX_MESSAGE_BYTES,
        ws_ping_interval=PING_S,
        ws_ping_timeout=PING_S,
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=True,
        forwarded_allow_ips=proxies_of(environ),
        limit_concurrency=None,  # it would count idle connections and refuse health checks: see `web.app`
        timeout_graceful_shutdown=GRACE_S,
        backlog=BACKLOG,
    )


class Server(uvicorn.Server):
    """A uvicorn server that ends every session in order, within time limits, and exits with code 0.

    After SIGTERM, replies in progress finish first, and health checks are still answered. After Ctrl-C they do not
    finish.
    """

    def __init__(
        self,
        config: uvicorn.Config,
        session_acceptor: SessionAcceptor,
        *,
        drain_s: float = 0.0,
        tls: ServerTls | None = None,
    ) -> None:
        """Creates the server; `drain_s` is the time for replies in progress after SIGTERM."""
        super().__init__(config)
        self._tls = None if tls is None else tls.context
        self._session_acceptor = session_acceptor
        self._drain_s = drain_s
        self.restarts = False  # whether the process starts again when all has ended
        self._finishing = False  # whether replies in progress are waited for
        self._at_once = asyncio.Event()

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        """Installs the signal handlers while the server runs, also if it was started with the signals ignored."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        self._loop = asyncio.get_running_loop()
        numbers = [signal.SIGINT, signal.SIGTERM]
        hangup = getattr(signal, "SIGHUP", None)  # not every system has it
        if hangup is not None and signal.getsignal(hangup) is not signal.SIG_IGN:  # nohup
            numbers.append(hangup)
        before = {number: signal.signal(number, self.handle_exit) for number in numbers}
        try:
            yield
        finally:
            for signal_number, handler in before.items():
                signal.signal(signal_number, handler)

    def restart(self) -> None:
        """Ends as after SIGTERM, and lets the process start again with the same arguments."""
        if not self.should_exit:
            self.restarts = True
            self.handle_exit(signal.SIGTERM, None)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Starts the shutdown at the first signal; ends at once at the second."""
        if self.should_exit:
            self.force_exit = True
            self._loop.call_soon_threadsafe(self._at_once.set)
            self.restarts = False  # somebody wants it to end
            _exit_after(self._leave, AT_ONCE_S)
            return
        self._finishing = sig != signal.SIGINT and self._drain_s > 0
        self._session_acceptor.close()
        _exit_after(self._leave, EXIT_S + (self._drain_s if self._finishing else 0.0))
        super().handle_exit(sig, frame)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Starts as uvicorn does, except that `Acceptor` accepts the connections."""
        if sockets is None or sys.platform == "win32":
            self.config.ssl = self._tls
            await super().startup(sockets)
            return
        await self.lifespan.startup()
        if self.lifespan.should_exit:
            sys.exit(STARTUP_FAILURE)
        connections = self.server_state.connections
        acceptors = [
            Acceptor(listener, self._protocol, lambda: close_oldest_idle(connections), self._tls)
            for listener in sockets
        ]
        self.servers = acceptors  # type: ignore[assignment] # uvicorn uses only close and wait_closed
        self.started = True

    def _protocol(self) -> asyncio.Protocol:
        return TimedHttpProtocol(self.config, self.server_state, self.lifespan.state)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Lets replies in progress finish, stops listening, ends the sessions, and closes what is left."""
        if self._finishing:
            await self._unless_second_signal(self._session_acceptor.finish(self._drain_s))
            _exit_after(self._leave, EXIT_S)
        for listening in self.servers:
            listening.close()
        await self._unless_second_signal(self._session_acceptor.drain(DRAIN_S))
        await super().shutdown(sockets)

    async def _unless_second_signal(self, ending: Coroutine[None, None, None]) -> None:
        """Waits for `ending` or for a second signal."""
        async with asyncio.TaskGroup() as tasks:
            both = [tasks.create_task(ending), tasks.create_task(self._wait_for_second_signal())]
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            for task in both:
                task.cancel()

    async def _wait_for_second_signal(self) -> None:
        await self._at_once.wait()

    def _leave(self) -> None:
        if self.restarts:
            replace_process()
        os._exit(0)


def replace_process() -> None:
    """Replaces this process by one with the same arguments. A service manager notices nothing."""
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])  # noqa: S606 - the arguments of this process


def _exit_after(end: Callable[[], None], seconds: float) -> None:
    """Calls `end` after this time, whatever is still running: it ends or replaces the process."""
    last = threading.Timer(seconds, end)
    last.daemon = True
    last.start()
