"""ASGI endpoint of /v1/realtime: accepts sessions within the limits, ends them in time, and tells clients why.

The conversation itself is `Conversations.converse`, which is called once for each connection.
"""

import asyncio
import logging
import math
import secrets
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager, suppress
from itertools import count

from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState
from uvicorn.protocols.utils import ClientDisconnected

from web.limits.admission_policy import SILENT_AFTER_S
from web.limits.connection_lifetime import BUSY_TURN, ENDED_BY, HELD_BACK, SILENT, ConnectionLifetime
from web.limits.session_limits import (
    BUSY,
    DRAINING,
    FULL,
    INTERNAL,
    LOADING,
    NO_DESCRIPTORS,
    CloseNotice,
    SessionLimits,
    SessionRefusedError,
)
from web.observation.health import EngineHealth, is_ready
from web.observation.metrics import Metrics
from web.process import descriptors
from web.wire.values.session_config import SessionConfig

SUBPROTOCOL = "realtime"
SLOT_TIMEOUT_S = 3.0
"""Longest wait of a connection for a free slot. A client that reconnects at once may find its own slot still in use: a
conversation needs about 40 ms to return its engines, and seconds on an overloaded machine."""

ROOM_STEP_S = 0.1
"""Interval at which a connection that waits for a slot looks for a conversation whose client has disconnected."""

MAX_WAITING = 64
"""Connections that may wait for a slot; more are refused at once."""

DRAIN_STEP_S = 0.05
"""Interval at which a server that shuts down checks which conversations have finished their replies."""

CLOSE_NOTICE_TIMEOUT_S = 1.0
"""Time limit for sending the last event and the close frame to a client that may not read."""

LOG_BUSY_EVERY_S = 60.0
"""Shortest time between two log lines about sessions that the load refuses. Clients try again about every 10 s."""

_log = logging.getLogger(__name__)


class Conversations(ABC):
    """The conversations of a server. Unless overridden, none outlives its connection or moves between gateways."""

    __slots__ = ()

    @abstractmethod
    async def converse(self, websocket: WebSocket) -> None:
        """Runs one conversation on an accepted socket until the client is gone. Cancelled when it must end."""

    def resumable(self, _token: str) -> bool:
        """Returns whether a conversation with this token waits for its client to reconnect."""
        return False

    def make_room(self) -> bool:
        """Ends a conversation that waits for its client, to free a slot. Returns whether there was one."""
        return False

    async def confirm(self, _token: str) -> None:  # noqa: B027 - nothing to do where no conversation moves
        """Ends the conversation with this token if another gateway has continued it. Has a time limit."""

    async def kept_elsewhere(self, _token: str) -> bool:
        """Returns whether this token continues a conversation of another gateway. Has a time limit."""
        return False


_CONFIG = "repartee.session_config"
_ARRIVAL = "repartee.arrival"
_arrivals = count(1)
_GUEST = "repartee.guest"


@contextmanager
def busy_while(scope: Scope, busy: Callable[[], bool], silent: Callable[[], bool] = lambda: False) -> Generator[None]:
    """Registers functions that tell what goes on in the conversation of a connection.

    Args:
        scope: The connection.
        busy: Returns whether a turn is in progress. A server that shuts down waits for that turn.
        silent: Returns whether the conversation is no load so far, because no sound comes or it sleeps.
    """
    scope["state"] |= {BUSY_TURN: busy, SILENT: silent}
    try:
        yield
    finally:
        del scope["state"][BUSY_TURN], scope["state"][SILENT]  # the connection would keep the conversation in memory


def held_back(scope: Scope) -> None:
    """Reports that the client is throttled, because its audio is ahead of real time: it is not idle."""
    scope["state"][HELD_BACK]()


def ended_by(scope: Scope) -> CloseNotice | None:
    """Returns why the server ends this connection; None if it does not."""
    notice: Callable[[], CloseNotice | None] = scope["state"][ENDED_BY]
    return notice()


def mark_arrival(scope: Scope) -> None:
    """Numbers a connection in the order of arrival, before it waits for anything."""
    scope.setdefault("state", {})[_ARRIVAL] = next(_arrivals)


def arrival_of(scope: Scope) -> int:
    """Returns the number from `mark_arrival`; 0 if there is none."""
    arrival: int = scope.get("state", {}).get(_ARRIVAL, 0)
    return arrival


def pass_config(scope: Scope, config: SessionConfig | None, *, is_guest: bool = True) -> None:
    """Sets the initial settings of the session of this connection; None: the server's.

    `is_guest`: they belong to a client secret, so that the client may be anybody.
    """
    scope.setdefault("state", {})[_CONFIG] = config
    scope["state"][_GUEST] = config is not None and is_guest


def is_guest(scope: Scope) -> bool:
    """Returns whether the session was opened with a client secret."""
    guest: bool = scope.get("state", {}).get(_GUEST, False)
    return guest


def passed_config(scope: Scope) -> SessionConfig | None:
    """Returns the settings from `pass_config`."""
    config: SessionConfig | None = scope.get("state", {}).get(_CONFIG)
    return config


class SessionAcceptor:
    """ASGI endpoint that accepts connections within the limits and closes them with a notice."""

    def __init__(
        self,
        conversations: Conversations,
        engine_pool: EngineHealth,
        session_limits: SessionLimits,
        metrics: Metrics,
        *,
        max_session_s: float,
        idle_timeout_s: float = 0.0,
    ) -> None:
        """Creates the endpoint.

        Args:
            conversations: Run on the accepted connections.
            engine_pool: The engines. Sessions are refused until they are ready.
            session_limits: Limits the number of sessions.
            metrics: Counts sessions.
            max_session_s: Longest session.
            idle_timeout_s: Longest time without a message from the client; 0: unlimited.
        """
        self._conversations = conversations
        self._engine_pool = engine_pool
        self._session_limits = session_limits
        self._metrics = metrics
        self._max_session_s = max_session_s
        self._idle_timeout_s = idle_timeout_s
        self._lifetimes: set[ConnectionLifetime] = set()
        self._empty = asyncio.Event()
        self._empty.set()
        self._slot_freed = asyncio.Event()
        self._at_drain: list[Callable[[], None]] = []
        self._waiting = 0
        self._visits = 0
        self._warned_of_descriptors = False
        self._logged_busy_s: float | None = None

    def at_drain(self, end: Callable[[], None]) -> None:
        """Registers a function to call on shutdown, for connections that are not sessions."""
        self._at_drain.append(end)

    @property
    def draining(self) -> bool:
        """Whether new sessions are refused because the server shuts down."""
        return self._session_limits.draining

    def refusing(self) -> CloseNotice | None:
        """Returns why a new session would be refused now; None: it would be admitted. Changes nothing."""
        if self.draining:
            return DRAINING
        if not is_ready(self._engine_pool.state()):
            return LOADING
        return self._session_limits.refusal(descriptors.free())

    @property
    def turn_in_progress(self) -> bool:
        """Whether any session has a turn in progress, or a visit takes place."""
        return self._visits > 0 or any(lifetime.busy for lifetime in self._lifetimes)

    @asynccontextmanager
    async def visit(self) -> AsyncGenerator[None]:
        """Takes the slot of a session for work on another protocol, within the same limits.

        A server that shuts down waits for it as for a turn. Raises SessionRefusedError.
        """
        close_notice = await self._admit("")
        if close_notice is not None:
            self._refused(close_notice)
            raise SessionRefusedError(close_notice)
        now_s = asyncio.get_running_loop().time
        began_s = now_s()
        self._visits += 1
        try:
            yield
        finally:
            self._visits -= 1
            self._leave(now_s() - began_s)

    def _refused(self, close_notice: CloseNotice) -> None:
        if close_notice.code == BUSY:
            self._log_busy(close_notice)
        self._metrics.session_refused(close_notice.code)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handles one connection."""
        mark_arrival(scope)
        conversations = self._conversations
        lifetime = ConnectionLifetime(scope, receive, send, self._max_session_s, self._idle_timeout_s)
        websocket = WebSocket(scope, lifetime.receive, lifetime.send)
        token = websocket.query_params.get("resume", "")
        if conversations.resumable(token):
            await conversations.confirm(token)
        if token:
            with suppress(WebSocketDisconnect):
                await _accept(websocket)
        # An accepted connection reaches its conversation without waiting, so the conversation cannot end in between.
        resuming = conversations.resumable(token)
        close_notice = self._try_admit(resuming=True) if resuming else await self._admit(token)
        if (
            close_notice is not None
            and close_notice.code == BUSY
            and token
            and await conversations.kept_elsewhere(token)
        ):
            close_notice = self._try_admit(resuming=False, continuing=True)
        if not resuming and conversations.resumable(token):  # meanwhile another connection has continued it here
            if close_notice is None:
                self._leave(0.0)
            resuming, close_notice = True, self._try_admit(resuming=True)
        if close_notice is not None:
            self._refused(close_notice)
            with suppress(WebSocketDisconnect):
                await _accept(websocket)
                await _send_close_notice(websocket, close_notice)
            return
        lifetime.begin()
        self._lifetimes.add(lifetime)
        self._empty.clear()
        if not resuming:  # otherwise the session began on the earlier connection
            self._metrics.session_began()
        silent = asyncio.get_running_loop().call_later(SILENT_AFTER_S, self._note_silent, lifetime, resuming)
        try:
            close_notice = await self._run_conversation(websocket, lifetime)
            if close_notice is not None:
                await _send_close_notice(websocket, close_notice)
        finally:
            silent.cancel()
            if not resuming:
                self._leave(math.inf if lifetime.counted_silent else lifetime.lasted_s)
                self._metrics.session_ended(lifetime.lasted_s)
            self._lifetimes.discard(lifetime)
            if not self._lifetimes:
                self._empty.set()

    def _note_silent(self, lifetime: ConnectionLifetime, resuming: bool) -> None:
        if not resuming and lifetime.silent:
            lifetime.counted_silent = True
            self._session_limits.silent(lifetime.lasted_s)

    def _leave(self, lasted_s: float) -> None:
        self._session_limits.leave(lasted_s)
        self._slot_freed.set()

    async def _admit(self, token: str) -> CloseNotice | None:
        """Takes a slot, waiting for one up to `SLOT_TIMEOUT_S`. Returns why the session is refused, or None.

        The wait ends when another connection has begun the conversation with this token.
        """
        conversations = self._conversations
        close_notice = self._try_admit(resuming=False)
        room_made = close_notice is not None and close_notice.code == FULL and conversations.make_room()
        if self._waiting >= MAX_WAITING:
            return close_notice
        self._waiting += 1
        try:
            async with asyncio.timeout(SLOT_TIMEOUT_S):
                while close_notice is not None and close_notice.code == FULL and not conversations.resumable(token):
                    self._slot_freed.clear()
                    with suppress(TimeoutError):
                        async with asyncio.timeout(None if room_made else ROOM_STEP_S):
                            await self._slot_freed.wait()
                    close_notice = self._try_admit(resuming=False)
                    room_made = room_made or (close_notice is not None and conversations.make_room())
        except TimeoutError:
            pass
        finally:
            self._waiting -= 1
        return close_notice

    def _try_admit(self, *, resuming: bool, continuing: bool = False) -> CloseNotice | None:
        ready = is_ready(self._engine_pool.state())
        close_notice = self._session_limits.admit(
            ready=ready, resuming=resuming, free_descriptors=descriptors.free(), continuing=continuing
        )
        if close_notice is NO_DESCRIPTORS and not self._warned_of_descriptors:
            self._warned_of_descriptors = True
            _log.warning(
                "a session was refused: only %s of %s file descriptors are left. Allow the process more (ulimit -n, "
                'LimitNOFILE=). This is logged once; repartee_sessions_refused_total{reason="%s"} counts all refused '
                "sessions.",
                descriptors.free(),
                descriptors.limit(),
                close_notice.code,
            )
        return close_notice

    def _log_busy(self, close_notice: CloseNotice) -> None:
        now_s = asyncio.get_running_loop().time()
        if self._logged_busy_s is None or now_s - self._logged_busy_s >= LOG_BUSY_EVERY_S:
            self._logged_busy_s = now_s
            _log.warning("a session was refused: %s", close_notice.message)

    def close(self) -> None:
        """Refuses new sessions; current sessions continue. Idempotent."""
        self._session_limits.close()

    async def finish(self, limit_s: float) -> None:
        """Ends each session when it has no turn in progress. Returns when all are ended, or after the limit."""
        self.close()
        ends_s = asyncio.get_running_loop().time() + limit_s
        while asyncio.get_running_loop().time() < ends_s:
            busy = {lifetime for lifetime in self._lifetimes if lifetime.busy}
            for lifetime in self._lifetimes - busy:
                lifetime.end(DRAINING)
            if not busy and not self._visits:
                return
            await asyncio.sleep(DRAIN_STEP_S)

    async def drain(self, limit_s: float) -> None:
        """Refuses new sessions, ends all current ones, and waits for that up to the limit."""
        self._session_limits.close()
        for end in self._at_drain:
            end()
        for lifetime in self._lifetimes:
            lifetime.end(DRAINING)
        with suppress(TimeoutError):
            async with asyncio.timeout(limit_s):
                await self._empty.wait()

    async def _run_conversation(self, websocket: WebSocket, lifetime: ConnectionLifetime) -> CloseNotice | None:
        """Runs the conversation. Returns why it ended, or None if the client is gone."""
        try:
            async with lifetime.limit:
                await _accept(websocket)
                await self._conversations.converse(websocket)
        except SessionRefusedError as refused:
            self._metrics.session_refused(refused.close_notice.code)
            return refused.close_notice
        except Exception as error:  # noqa: BLE001 - an error in one session must not end the server
            if _is_disconnect(error):
                return None
            if not (isinstance(error, TimeoutError) and lifetime.close_notice is not None):
                _log.error("a session ended because of an error", exc_info=error)
                self._metrics.trouble("connection")
                return lifetime.close_notice or INTERNAL
        return lifetime.close_notice


def _is_disconnect(error: BaseException) -> bool:
    if isinstance(error, BaseExceptionGroup):
        return all(_is_disconnect(part) for part in error.exceptions)
    return isinstance(error, WebSocketDisconnect)


async def _accept(websocket: WebSocket) -> None:
    if websocket.application_state is not WebSocketState.CONNECTING:
        return
    offered = websocket.scope.get("subprotocols", [])
    try:
        await websocket.accept(subprotocol=SUBPROTOCOL if SUBPROTOCOL in offered else None)
    except ClientDisconnected as error:  # starlette converts it to WebSocketDisconnect only later
        raise WebSocketDisconnect(1006) from error


async def _send_close_notice(websocket: WebSocket, close_notice: CloseNotice) -> None:
    # Ignored: the client is gone or does not read, or `converse` has closed the socket.
    with suppress(TimeoutError, WebSocketDisconnect, RuntimeError):
        async with asyncio.timeout(CLOSE_NOTICE_TIMEOUT_S):
            await websocket.send_json(close_notice.event(f"event_{secrets.token_hex(8)}"))
            await websocket.close(close_notice.close_code, close_notice.reason)
