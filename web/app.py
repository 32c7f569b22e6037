"""Builds the ASGI app: page, Realtime endpoint, health checks, metrics and traces, behind access control."""

import asyncio
import logging
import mimetypes
import os
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware import Middleware
from starlette.requests import HTTPConnection
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket

from web.access.access_control import (
    CALLS_PATH,
    REALTIME_PATHS,
    SETUP_PATH,
    AccessControl,
    Refusal,
    Request,
    is_loopback,
)
from web.access.client_secrets import ClientSecrets, secrets_among
from web.access.cross_origin import is_preflight, preflight_answer, with_origin
from web.access.rate_limits import loop_rates
from web.api_paths import NotFound, RealtimeEndpoint
from web.http_api.errors import FRESH
from web.limits.session_acceptor import SessionAcceptor, pass_config
from web.observation.health import EngineHealth, readiness
from web.observation.metrics import Metrics, watch_loop_lag
from web.observation.trace_stream import PATH as TRACES
from web.observation.trace_stream import TraceStream
from web.page_api.setup import not_offered
from web.phone.caller_access import CallerAccess
from web.phone.endpoint import PHONE_PATHS, PhoneEndpoint
from web.shell import PATH as SERVICE_WORKER
from web.shell import ServiceWorker

STATIC = Path(__file__).parent / "static"
BackgroundTask = Callable[[], Coroutine[Any, Any, None]]
"""A background task of the server that runs until it is cancelled."""

CLOSE_TIMEOUT_S = 1.5
"""Time limit for stopping the engines. An engine that takes longer ends with the process."""

_log = logging.getLogger(__name__)


def make_app(
    engine_pool: EngineHealth,
    access_control: AccessControl,
    session_acceptor: SessionAcceptor,
    metrics: Metrics,
    *,
    loaded: Callable[[Exception | None], None] = lambda _error: None,
    background_tasks: Sequence[BackgroundTask] = (),
    traces: TraceStream | None = None,
    api_routes: Sequence[BaseRoute] = (),
    client_secrets: ClientSecrets | None = None,
    tls_health: Callable[[], Mapping[str, object]] | None = None,
    handover_health: Callable[[], str] | None = None,
    static: Path = STATIC,
) -> Starlette:
    """Creates the app of one server.

    Args:
        engine_pool: The engines. They are loaded in the background when the app starts, and closed when it ends.
        access_control: Checks every request.
        session_acceptor: Handles the connections to /v1/realtime.
        metrics: The metrics served at /metrics.
        loaded: Called once, with None when the engines are ready or with the error that prevented it.
        background_tasks: Background tasks that run as long as the app does.
        traces: Serves turn records at /traces; None: there is no such path.
        api_routes: Further endpoints of OpenAI's API.
        client_secrets: Keys that open sessions with settings of their own; None: there are none.
        tls_health: Returns what /readyz tells about the certificate; None: the server has none.
        handover_health: Returns what /readyz tells about the hand-over to other gateways; None: there is none.
        static: The folder of the page's files.
    """
    # Systems map these extensions differently, and with `nosniff` a browser refuses scripts of the wrong type.
    mimetypes.add_type("text/javascript", ".js")
    mimetypes.add_type("text/css", ".css")
    mimetypes.add_type("application/manifest+json", ".webmanifest")

    files = PageFiles(directory=static, check_dir=False)

    async def page(request: HttpRequest) -> Response:
        return await files.get_response("index.html", request.scope)

    async def healthz(_request: HttpRequest) -> Response:
        return JSONResponse({"status": "alive"}, headers=FRESH)

    async def readyz(request: HttpRequest) -> Response:
        refusing = session_acceptor.refusing()
        status, body = readiness(
            engine_pool.state(),
            draining=session_acceptor.draining,
            refusing=None if refusing is None else refusing.message,
            admits="admits" in request.query_params,
        )
        if tls_health is not None:
            body = {**body, "tls": tls_health()}
        if handover_health is not None:
            body = {**body, "handover": handover_health()}
        return JSONResponse(body, status, headers=FRESH)

    async def figures(request: HttpRequest) -> Response:
        metrics.engines(engine_pool.state())
        metrics.show_load()
        text, content_type = metrics.text(", ".join(request.headers.getlist("accept")))
        return Response(text, headers={"Content-Type": content_type, **FRESH})

    async def no_socket(_request: HttpRequest) -> Response:
        return JSONResponse({"error": _NO_SOCKET}, 426, {"Upgrade": "websocket", **FRESH})

    realtime: list[BaseRoute] = []
    for path in REALTIME_PATHS:
        realtime += [WebSocketRoute(path, RealtimeEndpoint(session_acceptor)), Route(path, no_socket, methods=_METHODS)]
    may_call = CallerAccess(
        lambda scope, offered: access_control.accepts_token(_request_of(scope), offered), client_secrets
    )
    phone = PhoneEndpoint(session_acceptor, may_call, metrics)
    for path in PHONE_PATHS:
        realtime += [WebSocketRoute(path, phone), Route(path, no_socket, methods=_METHODS)]
    routes: list[BaseRoute] = [
        Route("/", page),
        Route(SERVICE_WORKER, ServiceWorker(static).answer),
        Route("/healthz", healthz),
        Route("/readyz", readyz),
        Route("/metrics", figures),
        *realtime,
        *api_routes,
        Route(SETUP_PATH, not_offered),  # after the route of a server that offers it
        WebSocketRoute("/{path:path}", NotFound()),  # a Mount takes WebSockets, too
        Mount("/static", files),
    ]
    if traces is not None:
        routes.append(Route(TRACES, traces))
        session_acceptor.at_drain(traces.end)
    app = Starlette(
        routes=routes,
        middleware=[Middleware(_Gate, access_control=access_control, metrics=metrics, client_secrets=client_secrets)],
        lifespan=_lifespan(engine_pool, metrics, loaded, background_tasks),
    )
    app.router.redirect_slashes = False  # unknown paths get 404, never a redirect
    app.router.default = NotFound()
    return app


def _lifespan(
    engine_pool: EngineHealth,
    metrics: Metrics,
    loaded: Callable[[Exception | None], None],
    background_tasks: Sequence[BackgroundTask],
) -> Callable[[Starlette], AbstractAsyncContextManager[None]]:
    async def load() -> None:
        try:
            await engine_pool.load()
        except Exception as error:  # noqa: BLE001 - reported through `loaded`
            loaded(error)
        else:
            loaded(None)

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncGenerator[None]:
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(load(), name="load engines"),
                group.create_task(watch_loop_lag(metrics), name="loop lag"),
                *(group.create_task(task(), name="task") for task in background_tasks),
            ]
            yield
            for task in tasks:
                task.cancel()
        try:
            async with asyncio.timeout(CLOSE_TIMEOUT_S):
                await engine_pool.aclose()
        except TimeoutError:
            _log.warning(
                "the engines did not stop within %g s; the server ends without them. Nothing needs to be done",
                CLOSE_TIMEOUT_S,
            )

    return lifespan


# ---- response headers ----

_METHODS = ("DELETE", "GET", "OPTIONS", "PATCH", "POST", "PUT")

_NO_SOCKET = {
    "type": "invalid_request_error",
    "param": None,
    "code": "no_websocket",
    "message": "this address accepts WebSocket only: connect to it as ws:// or wss://; proxies must pass on the "
    "headers Upgrade and Connection (docs/serving.md)",
}
"""Body of the answer to a plain HTTP request. The usual cause is a proxy that drops the two headers."""

SECURITY_HEADERS: Mapping[str, str] = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Permissions-Policy": "microphone=(self), camera=(), geolocation=()",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


def content_security_policy(host: str) -> str:
    """Returns the policy of a page at this host: own resources only, nothing inline.

    Access control has checked the host.
    """
    # Browsers differ on whether 'self' includes the page's own WebSocket, so it is listed.
    return (
        f"default-src 'self'; connect-src 'self' ws://{host} wss://{host}; worker-src 'self'; img-src 'self' data:; "
        "object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


class PageFiles(StaticFiles):
    """Serves files that browsers revalidate each time: file names have no version, and a page must not mix versions."""

    def file_response(
        self, full_path: str | os.PathLike[str], stat_result: os.stat_result, scope: Scope, status_code: int = 200
    ) -> Response:
        response = super().file_response(full_path, stat_result, scope, status_code)
        response.headers["Cache-Control"] = "no-cache"
        return response


# ---- access control and request limit ----

_BUSY = Refusal(
    503, "too_many_requests", "the server is handling its maximum number of requests; try again in a moment"
)

_TOO_FAST = Refusal(429, "rate_limit_exceeded", "this address opens connections too fast; try again in a moment")

_TOO_MANY_KEYS = Refusal(
    429, "rate_limit_exceeded", "this address sends wrong keys too fast; correct the key and try again in a moment"
)

MAX_REQUESTS = 100
"""HTTP requests answered at a time. Most take milliseconds; each follower of /traces occupies one."""
_HEADERS = {401: {"WWW-Authenticate": "Bearer"}, 429: {"Retry-After": "1"}}
HEALTH = frozenset({"/healthz", "/readyz"})
"""Paths exempt from the limit: a supervisor kills a server that does not answer health checks."""


class _Gate:
    """ASGI middleware: checks every request with access control and adds security headers to every response."""

    def __init__(
        self, app: ASGIApp, access_control: AccessControl, metrics: Metrics, client_secrets: ClientSecrets | None
    ) -> None:
        self._app = app
        self._client_secrets = client_secrets
        self._access_control = access_control
        self._metrics = metrics
        self._requests = 0
        self._rates = loop_rates()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        request = _request_of(scope)
        refusal = self._access_control.decide_sender(request)
        if refusal is None and scope["type"] == "http":
            send = with_origin(scope, send)
            if is_preflight(scope):  # without a key: browsers send none
                await preflight_answer(scope)(scope, receive, send)
                return
        refusal = refusal or await self._refusal(request, scope)
        if refusal is not None:
            self._metrics.request_refused(refusal.code)
            await self._refuse(refusal, scope, receive, send)
        elif scope["type"] == "http":
            await self._answer(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _refusal(self, request: Request, scope: Scope) -> Refusal | None:
        """Returns why a request of a permitted sender is refused.

        A client beyond its rate gets 429, whether or not its key is right.
        """
        too_fast = self._too_fast(request, scope)
        if too_fast is not None:
            return too_fast
        refusal = self._access_control.decide_key(await self._with_secret(request, scope))
        # The first steps are open to all, and tell whether the token is right.
        wrong = refusal is not None or (
            request.path == SETUP_PATH and not self._access_control.accepts_token(request, ())
        )
        if wrong and request.keys and not self._rates.allows("wrong_keys", request.peer or ""):
            return _TOO_MANY_KEYS
        return refusal

    async def _with_secret(self, request: Request, scope: Scope) -> Request:
        """Looks up the client secret with which a session begins, and passes its settings to the session."""
        if self._client_secrets is None or (scope["type"] != "websocket" and scope["path"] != CALLS_PATH):
            return request
        sent = secrets_among(request.keys)
        if not sent:
            return request
        config = await self._client_secrets.find_anywhere(sent)
        pass_config(scope, config)
        return replace(request, secret_is_valid=config is not None)

    def _too_fast(self, request: Request, scope: Scope) -> Refusal | None:
        """Counts a WebSocket. Those of this machine are not limited: they may be a proxy's, for all its clients.

        An address that has sent too many wrong keys has no client secret looked up.
        """
        if request.peer is not None and is_loopback(request.peer):
            return None
        if secrets_among(request.keys) and self._rates.is_used_up("wrong_keys", request.peer or ""):
            return _TOO_MANY_KEYS
        if scope["type"] != "websocket":
            return None
        return None if self._rates.allows("connections", request.peer or "") else _TOO_FAST

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._requests >= MAX_REQUESTS and scope["path"] not in HEALTH:
            self._metrics.request_refused(_BUSY.code)
            await self._refuse(_BUSY, scope, receive, send)
            return
        self._requests += 1
        try:
            await self._app(scope, receive, _with_security(send, content_security_policy(Headers(scope=scope)["host"])))
        finally:
            self._requests -= 1

    async def _refuse(self, refusal: Refusal, scope: Scope, receive: Receive, send: Send) -> None:
        error = {"message": refusal.message, "type": "invalid_request_error", "param": None, "code": refusal.code}
        headers = dict(FRESH) | _HEADERS.get(refusal.status, {})
        response = JSONResponse({"error": error}, refusal.status, headers)
        if scope["type"] == "http":
            await response(scope, receive, _with_security(send, "default-src 'none'"))
        else:
            websocket = WebSocket(scope, receive, send)
            await websocket.receive()  # the handshake
            await websocket.send_denial_response(response)


def _with_security(send: Send, policy: str) -> Send:
    async def send_with_security(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers["Content-Security-Policy"] = policy
            for name, value in SECURITY_HEADERS.items():
                headers[name] = value
        await send(message)

    return send_with_security


def _request_of(scope: Scope) -> Request:
    connection = HTTPConnection(scope)
    headers = connection.headers
    client = scope.get("client")
    return Request(
        path=scope["path"],
        scheme="https" if scope["scheme"] in {"https", "wss"} else "http",
        hosts=tuple(headers.getlist("host")),
        origins=tuple(headers.getlist("origin")),
        authorizations=tuple(headers.getlist("authorization")),
        subprotocols=tuple(scope.get("subprotocols", ())),
        sites=tuple(headers.getlist("sec-fetch-site")),
        peer=client[0] if client else None,
    )
