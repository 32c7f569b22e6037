"""ASGI endpoint of /v1/realtime: accepts sessions within the limits, ends them in time, and tells clients why.

The conversation itself is `converse`, which is called once for each connection.
"""

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager, suppress

from starlette.types import Message, Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState
from uvicorn.protocols.utils import ClientDisconnected

from web import descriptors
from web.health import EngineHealth, is_ready
from web.metrics import Metrics
from web.session_limits import DRAINING, FULL, INTERNAL, NO_DESCRIPTORS, CloseNotice, SessionLimits, expired, idle

Converse = Callable[[WebSocket], Awaitable[None]]
"""Runs one conversation on an accepted WebSocket until the client is gone. Cancelled when it must end."""

SUBPROTOCOL = "realtime"
SEAT_TIMEOUT_S = 3.0
"""How long a connection waits for a free slot. A client that reconnects at once may find its own slot still in use: a
conversation needs about 40 ms to return its engines, and seconds on an overloaded machine."""

MOST_WAITING = 64
"""Connections that may wait for a slot; more are refused at once."""

DRAIN_STEP_S = 0.05
"""How often a server that shuts down checks which conversations have finished their replies."""

FAREWELL_TIMEOUT_S = 1.0
"""Time limit for sending the last event and the close frame to a client that may not read."""

IDLE_STEP = 0.05
"""Fraction of the idle limit by which it may be late. Resetting it for every message cost 3 % of the main thread."""

_log = logging.getLogger(__name__)


def never_resumable(_token: str) -> bool:
    """Default for servers whose conversations cannot be resumed."""
    return False


def no_room() -> None:
    """Default for servers that cannot free a slot."""


_HELD_BACK = "repartee.held_back"
_BUSY = "repartee.busy"


@contextmanager
def busy_while(scope: Scope, busy: Callable[[], bool]) -> Generator[None]:
    """Registers a function that returns whether a turn is in progress. A server that shuts down waits for that turn."""
    scope["state"][_BUSY] = busy
    try:
        yield
    finally:
        del scope["state"][_BUSY]  # the connection outlives its conversation and would keep it in memory


def held_back(scope: Scope) -> None:
    """Reports that the client is throttled, because its audio is ahead of real time: it is not idle."""
    scope["state"][_HELD_BACK]()


class SessionAcceptor:
    """ASGI endpoint that accepts connections within the limits and closes them with a notice."""

    def __init__(
        self,
        converse: Converse,
        hall: EngineHealth,
        admission: SessionLimits,
        metrics: Metrics,
        *,
        max_session_s: float,
        idle_timeout_s: float = 0.0,
        resumable: Callable[[str], bool] = never_resumable,
        make_room: Callable[[], None] = no_room,
    ) -> None:
        """Creates the endpoint.

        Args:
            converse: Runs the conversation of a connection.
            hall: The engines. Sessions are refused until they are ready.
            admission: Limits the number of sessions.
            metrics: Counts sessions.
            max_session_s: Longest session.
            idle_timeout_s: Longest time without a message from the client; 0: unlimited.
            resumable: Returns whether a conversation with this token waits for its client to reconnect.
            make_room: Ends a conversation that waits for its client, if there is one, to free a slot.
        """
        self._converse = converse
        self._hall = hall
        self._admission = admission
        self._metrics = metrics
        self._max_session_s = max_session_s
        self._idle_timeout_s = idle_timeout_s
        self._resumable = resumable
        self._make_room = make_room
        self._stays: set[_Stay] = set()
        self._empty = asyncio.Event()
        self._empty.set()
        self._left = asyncio.Event()
        self._at_drain: list[Callable[[], None]] = []
        self._waiting = 0
        self._said_short = False

    def at_drain(self, end: Callable[[], None]) -> None:
        """Registers a function to call on shutdown, for connections that are not sessions."""
        self._at_drain.append(end)

    @property
    def draining(self) -> bool:
        """Whether new sessions are refused because the server shuts down."""
        return self._admission.draining

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handles one connection."""
        stay = _Stay(scope, receive, send, self._max_session_s, self._idle_timeout_s)
        websocket = WebSocket(scope, stay.receive, stay.send)
        token = websocket.query_params.get("resume", "")
        if self._resumable(token):
            with suppress(WebSocketDisconnect):
                await _accept(websocket)
        # An accepted connection reaches its conversation without waiting, so the conversation cannot end in between.
        resuming = self._resumable(token)
        farewell = await self._admit(resuming=resuming)
        if farewell is not None:
            self._metrics.session_refused(farewell.code)
            with suppress(WebSocketDisconnect):
                await _accept(websocket)
                await _say_farewell(websocket, farewell)
            return
        stay.begin()
        self._stays.add(stay)
        self._empty.clear()
        if not resuming:  # otherwise the session began on the earlier connection
            self._metrics.session_began()
        try:
            farewell = await self._host(websocket, stay)
            if farewell is not None:
                await _say_farewell(websocket, farewell)
        finally:
            if not resuming:
                self._admission.leave()
                self._left.set()
                self._metrics.session_ended(stay.lasted_s)
            self._stays.discard(stay)
            if not self._stays:
                self._empty.set()

    async def _admit(self, *, resuming: bool) -> CloseNotice | None:
        """Takes a slot, waiting for one up to `SEAT_TIMEOUT_S`. Returns why the session is refused, or None."""
        farewell = self._try(resuming=resuming)
        if farewell is not None and farewell.code == FULL:
            self._make_room()
        if self._waiting >= MOST_WAITING:
            return farewell
        self._waiting += 1
        try:
            async with asyncio.timeout(SEAT_TIMEOUT_S):
                while farewell is not None and farewell.code == FULL:
                    self._left.clear()
                    await self._left.wait()
                    farewell = self._try(resuming=resuming)
        except TimeoutError:
            pass
        finally:
            self._waiting -= 1
        return farewell

    def _try(self, *, resuming: bool) -> CloseNotice | None:
        ready = is_ready(self._hall.state())
        farewell = self._admission.admit(ready=ready, resuming=resuming, free_descriptors=descriptors.free())
        if farewell is NO_DESCRIPTORS and not self._said_short:
            self._said_short = True
            _log.warning(
                "a session was refused: %s file descriptors are left of %s. Allow the process more (ulimit -n, "
                'LimitNOFILE=). Said once: repartee_sessions_refused_total{reason="%s"} counts on.',
                descriptors.free(),
                descriptors.limit(),
                farewell.code,
            )
        return farewell

    def close(self) -> None:
        """Refuses new sessions; current sessions continue. Idempotent."""
        self._admission.close()

    async def finish(self, limit_s: float) -> None:
        """Ends each session when it has no turn in progress. Returns when all are ended, or after the limit."""
        self.close()
        ends_s = asyncio.get_running_loop().time() + limit_s
        while asyncio.get_running_loop().time() < ends_s:
            busy = {stay for stay in self._stays if stay.busy}
            for stay in self._stays - busy:
                stay.end(DRAINING)
            if not busy:
                return
            await asyncio.sleep(DRAIN_STEP_S)

    async def drain(self, limit_s: float) -> None:
        """Refuses new sessions, ends all current ones, and waits for that up to the limit."""
        self._admission.close()
        for end in self._at_drain:
            end()
        for stay in self._stays:
            stay.end(DRAINING)
        with suppress(TimeoutError):
            async with asyncio.timeout(limit_s):
                await self._empty.wait()

    async def _host(self, websocket: WebSocket, stay: "_Stay") -> CloseNotice | None:
        """Runs the conversation. Returns why it ended, or None if the client is gone."""
        try:
            async with stay.limit:
                await _accept(websocket)
                await self._converse(websocket)
        except Exception as error:  # noqa: BLE001 - an error in one session must not end the server
            if _is_disconnect(error):
                return None
            if not (isinstance(error, TimeoutError) and stay.farewell is not None):
                _log.error("a session broke off by an error", exc_info=error)
                self._metrics.trouble("connection")
                return stay.farewell or INTERNAL
        return stay.farewell


class _Stay:
    """Time limits of one connection: the session limit, the idle limit, and an end on request."""

    def __init__(self, scope: Scope, receive: Receive, send: Send, max_session_s: float, idle_timeout_s: float) -> None:
        self._state = scope.setdefault("state", {})
        self._state[_HELD_BACK] = self.heard
        self._receive = receive
        self._send = send
        self._over = False
        self._loop = asyncio.get_running_loop()
        self._max_session_s = max_session_s
        self._idle_timeout_s = idle_timeout_s
        self._told: CloseNotice | None = None
        self.begin()

    def begin(self) -> None:
        """Starts counting its time."""
        self._began_s = self._heard_s = self._loop.time()
        self.limit = asyncio.timeout_at(self._ends_s)

    async def receive(self) -> Message:
        """Receives the client's next message."""
        message = await self._receive()
        self._over = self._over or message["type"] == "websocket.disconnect"
        self.heard()
        return message

    def heard(self) -> None:
        """Restarts the idle limit: a message arrived, or is still being processed."""
        self._heard_s = self._loop.time()
        self._set()

    async def send(self, message: Message) -> None:
        """Sends a message to the client."""
        self._over = self._over or message["type"] == "websocket.close"
        self._set()
        await self._send(message)

    def _set(self) -> None:
        """Sets the connection's time limit. A closed connection has none: the next connection then limits the session.

        Messages arrive fifty times a second, so the idle limit is moved in steps and may be that much late.
        """
        if self._told is not None or self.limit.expired():
            return
        ends_s, set_s = None if self._over else self._ends_s, self.limit.when()
        if ends_s == set_s or (ends_s is not None and set_s is not None and ends_s <= set_s):
            return
        with suppress(RuntimeError):  # the limit has ended already
            self.limit.reschedule(None if ends_s is None else self._until(self._idle_timeout_s * (1 + IDLE_STEP)))

    def end(self, farewell: CloseNotice) -> None:
        """Ends the connection now with this notice. Idempotent."""
        if self._told is not None:
            return
        self._told = farewell
        with suppress(RuntimeError):  # it is being closed already
            if not self.limit.expired():
                self.limit.reschedule(self._loop.time())

    @property
    def busy(self) -> bool:
        """Whether a turn is in progress."""
        busy: Callable[[], bool] | None = self._state.get(_BUSY)
        return busy is not None and busy()

    @property
    def farewell(self) -> CloseNotice | None:
        """Why the connection was ended; None if it was not."""
        if not self.limit.expired():
            return None
        if self._told is not None:
            return self._told
        if self._ends_s < self._began_s + self._max_session_s:
            return idle(self._idle_timeout_s)
        return expired(self._max_session_s)

    @property
    def lasted_s(self) -> float:
        return self._loop.time() - self._began_s

    @property
    def _ends_s(self) -> float:
        return self._until(self._idle_timeout_s)

    def _until(self, idle_s: float) -> float:
        longest_s = self._began_s + self._max_session_s
        return min(longest_s, self._heard_s + idle_s) if idle_s else longest_s


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


async def _say_farewell(websocket: WebSocket, farewell: CloseNotice) -> None:
    # Ignored: the client is gone or does not read, or `converse` has closed the socket.
    with suppress(TimeoutError, WebSocketDisconnect, RuntimeError):
        async with asyncio.timeout(FAREWELL_TIMEOUT_S):
            await websocket.send_json(farewell.event(f"event_{secrets.token_hex(8)}"))
            await websocket.close(farewell.close_code, farewell.reason)
