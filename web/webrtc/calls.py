"""POST /v1/realtime/calls and below: begins a WebRTC call with an SDP offer, and hangs it up.

The body is the offer (application/sdp), or a form with `sdp` and `session`. A call goes on after its request, in the
task group of `Calls.run`.
"""

import asyncio
import logging
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from python_multipart.multipart import parse_options_header
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Scope, Send

from declarations.extra import installing
from web.access.access_control import CALLS_PATH, REALTIME_PATHS, is_loopback
from web.http_api.bodies import BodyReader
from web.http_api.errors import ApiError
from web.http_api.serving import ServerState, respond
from web.limits.session_acceptor import is_guest, pass_config, passed_config
from web.sockets.websocket_backpressure import set_abort
from web.webrtc.candidates import with_checked_candidates
from web.webrtc.offer import check_offer
from web.wire.incoming.event_limits import MAX_VALUES, has_too_many_values
from web.wire.incoming.parse import object_of
from web.wire.incoming.session_fields import updated
from web.wire.outgoing.session_object import Service
from web.wire.values.fields import FieldError, Refusals
from web.wire.values.session_config import AudioFormat, SessionConfig

if TYPE_CHECKING:
    from web.webrtc.call import Call

SETTLE_TIMEOUT_S = 15.0
"""Time limit for a session to begin: 3 s for a slot, and the time to make its engines."""

MAX_ANSWERING = 16
"""Calls that are being answered at a time."""

LOADED_WITHIN_S = 5.0
"""Longest wait for the import of aiortc, which begins with the server."""

_RETRY_AFTER = {"Retry-After": "5"}

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Calls:
    """The WebRTC calls of a server.

    Attributes:
        session: The ASGI endpoint of the Realtime WebSocket; each call is shown to it as a connection.
        state: Whether the server takes requests.
        bodies: Reads the requests.
        initial_config: Returns the settings of a session before its client changes them.
        service: Returns the description of the server.
    """

    session: ASGIApp
    state: ServerState
    initial_config: Callable[[], SessionConfig]
    service: Callable[[], Service]
    bodies: BodyReader = field(default_factory=BodyReader)
    _calls: "dict[str, Call]" = field(default_factory=dict)
    _tasks: asyncio.TaskGroup | None = None
    _running: asyncio.Event = field(default_factory=asyncio.Event)
    _answering: int = 0

    async def run(self) -> None:
        """Runs the calls until cancelled. Then all of them end."""
        await asyncio.to_thread(_make_call)  # aiortc's import takes 0.3 s, which no conversation must wait for
        async with asyncio.TaskGroup() as tasks:
            self._tasks = tasks
            self._running.set()
            await asyncio.get_running_loop().create_future()

    async def create(self, request: Request, send: Send) -> None:
        """Answers POST /v1/realtime/calls."""
        self.state.check()
        try:
            async with asyncio.timeout(LOADED_WITHIN_S):
                await self._running.wait()
        except TimeoutError:
            raise ApiError.busy("WebRTC is still being loaded; try again in a moment", 1) from None
        assert self._tasks is not None
        make = _make_call()
        if make is None:
            message = f"this server has no WebRTC: {installing('webrtc')}, or connect to /v1/realtime by WebSocket"
            raise ApiError(501, "webrtc_not_installed", message)
        offer, session = await self._read(request)  # a client that sends it slowly occupies no place below
        check_offer(offer)
        if self._answering >= MAX_ANSWERING:
            raise ApiError.busy("the server is answering its maximum number of calls; try again in a moment", 1)
        self._answering += 1
        try:
            offer = with_checked_candidates(offer, is_local=_is_local(request))
            config = self._config(request.scope, session)
            call, answer = await self._begin(self._tasks, make, _scope_of(request.scope, config), offer)
        finally:
            self._answering -= 1
        headers = {"Location": f"{CALLS_PATH}/{call.call_id}"}
        await respond(request, Response(answer, 201, headers, "application/sdp"), send)

    async def hang_up(self, request: Request, send: Send) -> None:
        """Answers POST /v1/realtime/calls/{id}/hangup."""
        call = self._calls.get(request.path_params["call_id"])
        if call is None:
            raise ApiError(404, "call_not_found", "there is no such call, or it is over", "call_id")
        call.hang_up()
        await respond(request, Response(status_code=200), send)

    async def sip_only(self, _request: Request, _send: Send) -> None:
        """Refuses accept, reject and refer: these are for calls that come by SIP."""
        message = "this server has no SIP calls, only WebRTC calls, which begin at once; to end one, use hangup"
        raise ApiError(400, "not_supported", message, "call_id")

    async def _read(self, request: Request) -> tuple[str, str | None]:
        """Returns the offer, and the session of a form. Raises ApiError."""
        kind, _options = parse_options_header(request.headers.get("content-type", ""))
        if kind == b"application/sdp":
            return await self.bodies.text(request), None
        if kind != b"multipart/form-data":
            message = "the body must be application/sdp, or multipart/form-data with sdp and session"
            raise ApiError(415, "invalid_content_type", message)
        form = await self.bodies.text_form(request)
        unknown = next((name for name in form if name not in {"sdp", "session"}), None)
        if unknown is not None:
            raise ApiError(400, "unknown_parameter", "the form has a field other than sdp and session", unknown[:64])
        if not form.get("sdp"):
            raise ApiError(400, "missing_required_parameter", "sdp is missing or empty", "sdp")
        return form["sdp"], form.get("session")

    def _config(self, scope: Scope, session: str | None) -> SessionConfig:
        """Returns the settings of the call: those of its client secret or the server's, changed by the form."""
        config = config_of_call(passed_config(scope) or self.initial_config())
        return config if session is None else config_of_form(config, session, self.service())

    async def _begin(
        self, tasks: asyncio.TaskGroup, make: "type[Call]", scope: Scope, offer: str
    ) -> "tuple[Call, str]":
        """Begins the session of a call, and answers its offer. Raises ApiError."""
        call = make(f"rtc_{secrets.token_hex(16)}", scope)
        set_abort(scope, call.hang_up)
        self._calls[call.call_id] = call
        tasks.create_task(self._run(call), name="webrtc call")
        try:
            async with asyncio.timeout(SETTLE_TIMEOUT_S):
                await call.settled.wait()
            _check_began(call)
            return call, await call.answer(offer)
        except ValueError as error:
            call.hang_up()
            _log.warning("a WebRTC offer could not be answered: %s", error)
            raise ApiError(
                400, "invalid_offer", "sdp is an offer that this server does not understand", "sdp"
            ) from error
        except TimeoutError as error:
            call.hang_up()
            raise ApiError(503, "timeout", "the call could not be answered in time", headers=_RETRY_AFTER) from error
        except BaseException:
            call.hang_up()
            raise

    async def _run(self, call: "Call") -> None:
        try:
            await call.run(self.session)
        except Exception:  # noqa: BLE001 - an error in one call must not end the others
            _log.exception("call %s ended because of an error", call.call_id)
        finally:
            del self._calls[call.call_id]


def _is_local(request: Request) -> bool:
    """Returns whether a client is on this machine: not one that only its proxy shows as such."""
    headers, client = request.headers, request.client
    return (
        client is not None and is_loopback(client.host) and not {"forwarded", "x-forwarded-for"} & set(headers.keys())
    )


def _check_began(call: "Call") -> None:
    """Raises ApiError if the session was refused."""
    if call.bridge.refused is None and call.bridge.began:
        return
    code, message = call.bridge.refused or ("internal_error", "the session ended at once")
    if code == "not_supported":
        raise ApiError(400, code, message)
    wait_s = call.bridge.retry_after_s
    headers = _RETRY_AFTER if wait_s is None else {"Retry-After": f"{wait_s:.0f}"}
    raise ApiError(503, code, message, headers=headers)


def _make_call() -> "type[Call] | None":
    """Returns the class of calls; None if the extra webrtc is missing."""
    from web.webrtc.opus import OpusMissingError, library  # noqa: PLC0415

    try:
        from web.webrtc.call import Call  # noqa: PLC0415 - an extra

        library()
    except (ImportError, OpusMissingError):
        return None
    return Call


def _scope_of(scope: Scope, config: SessionConfig) -> Scope:
    """Returns the scope of the WebSocket that the session is shown, with the query of the request."""
    shown = {
        **scope,
        "type": "websocket",
        "path": REALTIME_PATHS[0],
        "raw_path": REALTIME_PATHS[0].encode(),
        "scheme": "wss" if scope.get("scheme") == "https" else "ws",
        "subprotocols": [],
        "state": {},
    }
    pass_config(shown, config, is_guest=is_guest(scope))
    return shown


def config_of_call(config: SessionConfig) -> SessionConfig:
    """Returns the settings with what every call has: linear sound inside, and reports of what was played."""
    return replace(
        config,
        input_format=AudioFormat.PCM,
        output_format=AudioFormat.PCM,
        extensions=replace(config.extensions, playout=True),
        beta=False,
    )


def config_of_form(config: SessionConfig, session: str, service: Service) -> SessionConfig:
    """Returns the settings changed by the field `session` of a form. Raises ApiError for the first invalid field."""
    if has_too_many_values(session):
        raise ApiError(400, "invalid_json", f"session has more than {MAX_VALUES} values", "session")
    refusals = Refusals()
    try:
        changed = updated(config, object_of(session), service.language, refusals, service.offer)
    except FieldError as error:
        raise ApiError(400, error.code, str(error), error.param or "session") from error
    if refusals.errors:
        raise ApiError.of_field(refusals.for_client()[0])
    for path, form in (("input", changed.input_format), ("output", changed.output_format)):
        if form is not AudioFormat.PCM:
            param = f"session.audio.{path}.format"
            raise ApiError(400, "not_supported", f"{param}: a WebRTC call is always in Opus; leave it out", param)
    return config_of_call(changed)
