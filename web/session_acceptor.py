"""The door of /v1/realtime: who gets a seat, how long they may stay, and what they are told when they must go.

What is said in between is not its business: that is `converse`, one call for each connection.
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
"""Holds one conversation on an accepted WebSocket until the client is gone; cancelled when it must end."""

SUBPROTOCOL = "realtime"
SEAT_TIMEOUT_S = 3.0
"""Whoever connects again at once finds the seat of the connection before still taken: a conversation needs some 40 ms
to put its engines back, and seconds on a machine that is overloaded."""

ROOM_STEP_S = 0.1
"""How often a connection that waits for a seat looks for a conversation whose client has gone meanwhile."""

MOST_WAITING = 64
"""Connections that wait for a seat; more are refused at once."""

DRAIN_STEP_S = 0.05
"""How often a server that ends looks which conversations have finished their replies."""

FAREWELL_TIMEOUT_S = 1.0
"""For the last event and the close frame: a client that does not read is left without."""

IDLE_STEP = 0.05
"""Part of the idle limit by which it may be late: setting it anew for every message cost 3 % of the main thread."""

_log = logging.getLogger(__name__)


def never_resumable(_token: str) -> bool:
    """Where no conversation outlives its connection."""
    return False


def no_room() -> bool:
    """Makes no room: there is no conversation to end."""
    return False


_HELD_BACK = "repartee.held_back"
_BUSY = "repartee.busy"


@contextmanager
def busy_while(scope: Scope, busy: Callable[[], bool]) -> Generator[None]:
    """While this is true, the conversation on this connection has a turn under way: a server that ends waits for it."""
    scope["state"][_BUSY] = busy
    try:
        yield
    finally:
        del scope["state"][_BUSY]  # the connection outlives its conversation, and would keep it in memory


def held_back(scope: Scope) -> None:
    """The client of this connection has to wait, as its sound is ahead of real time: it is not idle."""
    scope["state"][_HELD_BACK]()


class SessionAcceptor:
    """Lets connections in, one call each, and sees them out. An ASGI endpoint."""

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
        make_room: Callable[[], bool] = no_room,
    ) -> None:
        """For sessions in this hall.

        Args:
            converse: What happens on a connection.
            hall: The engines; nobody is let in before they are ready.
            admission: The seats.
            metrics: Told of everybody who comes and goes.
            max_session_s: Longest stay.
            idle_timeout_s: Longest stay without a message from the client; 0: no such limit.
            resumable: Whether a conversation with this token waits for its client to come back.
            make_room: Ends one that waits so, if there is one: somebody who is here needs its seat.
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
        """Have this called, too, when everybody has to go: for what is no session and would keep the server."""
        self._at_drain.append(end)

    @property
    def draining(self) -> bool:
        """Whether nobody is let in any more."""
        return self._admission.draining

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One connection."""
        stay = _Stay(scope, receive, send, self._max_session_s, self._idle_timeout_s)
        websocket = WebSocket(scope, stay.receive, stay.send)
        token = websocket.query_params.get("resume", "")
        if self._resumable(token):
            with suppress(WebSocketDisconnect):
                await _accept(websocket)
        # Accepted already, it waits for nothing on the way to its conversation, which is not given up in between.
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
        if not resuming:  # else the session has begun already, on the connection that it outlives
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
        """Take a seat, waiting for one for a moment, or tell why there is none."""
        farewell = self._try(resuming=resuming)
        room_made = farewell is not None and farewell.code == FULL and self._make_room()
        if self._waiting >= MOST_WAITING:
            return farewell
        self._waiting += 1
        try:
            async with asyncio.timeout(SEAT_TIMEOUT_S):
                while farewell is not None and farewell.code == FULL:
                    self._left.clear()
                    with suppress(TimeoutError):
                        async with asyncio.timeout(None if room_made else ROOM_STEP_S):
                            await self._left.wait()
                    farewell = self._try(resuming=resuming)
                    room_made = room_made or (farewell is not None and self._make_room())
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
        """Let nobody in any more; who is in stays. Idempotent."""
        self._admission.close()

    async def finish(self, limit_s: float) -> None:
        """End each session once it has no turn under way; return when none has, or after the limit."""
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
        """Let nobody in any more, end every session, and wait for that until the limit."""
        self._admission.close()
        for end in self._at_drain:
            end()
        for stay in self._stays:
            stay.end(DRAINING)
        with suppress(TimeoutError):
            async with asyncio.timeout(limit_s):
                await self._empty.wait()

    async def _host(self, websocket: WebSocket, stay: "_Stay") -> CloseNotice | None:
        """Hold the conversation; None: the client is gone."""
        try:
            async with stay.limit:
                await _accept(websocket)
                await self._converse(websocket)
        except Exception as error:  # noqa: BLE001 - whatever it is, one session's error is not the server's
            if _is_disconnect(error):
                return None
            if not (isinstance(error, TimeoutError) and stay.farewell is not None):
                _log.error("a session broke off by an error", exc_info=error)
                self._metrics.trouble("connection")
                return stay.farewell or INTERNAL
        return stay.farewell


class _Stay:
    """One connection's time: ends with the session limit, after too long a silence, or when told to."""

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
        """Its time counts from now."""
        self._began_s = self._heard_s = self._loop.time()
        self.limit = asyncio.timeout_at(self._ends_s)

    async def receive(self) -> Message:
        """The client's next message."""
        message = await self._receive()
        self._over = self._over or message["type"] == "websocket.disconnect"
        self.heard()
        return message

    def heard(self) -> None:
        """Something came, or is still being taken in."""
        self._heard_s = self._loop.time()
        self._set()

    async def send(self, message: Message) -> None:
        """The client's next message from here."""
        self._over = self._over or message["type"] == "websocket.close"
        self._set()
        await self._send(message)

    def _set(self) -> None:
        """The connection's limit; what outlives the connection is limited by the one that takes it over.

        Fifty times a second something comes: an idle limit is moved in steps, and may be that much late.
        """
        if self._told is not None or self.limit.expired():
            return
        ends_s, set_s = None if self._over else self._ends_s, self.limit.when()
        if ends_s == set_s or (ends_s is not None and set_s is not None and ends_s <= set_s):
            return
        with suppress(RuntimeError):  # it is over already
            self.limit.reschedule(None if ends_s is None else self._until(self._idle_timeout_s * (1 + IDLE_STEP)))

    def end(self, farewell: CloseNotice) -> None:
        """It ends now, and this is what is said. Idempotent."""
        if self._told is not None:
            return
        self._told = farewell
        with suppress(RuntimeError):  # it is being seen out already
            if not self.limit.expired():
                self.limit.reschedule(self._loop.time())

    @property
    def busy(self) -> bool:
        """Whether a turn is under way."""
        busy: Callable[[], bool] | None = self._state.get(_BUSY)
        return busy is not None and busy()

    @property
    def farewell(self) -> CloseNotice | None:
        """Why it was ended; None: it was not."""
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
    except ClientDisconnected as error:  # which starlette makes a WebSocketDisconnect only later on
        raise WebSocketDisconnect(1006) from error


async def _say_farewell(websocket: WebSocket, farewell: CloseNotice) -> None:
    # A client that is gone or does not read, or a socket that `converse` closed itself: nobody is left to tell.
    with suppress(TimeoutError, WebSocketDisconnect, RuntimeError):
        async with asyncio.timeout(FAREWELL_TIMEOUT_S):
            await websocket.send_json(farewell.event(f"event_{secrets.token_hex(8)}"))
            await websocket.close(farewell.close_code, farewell.reason)
