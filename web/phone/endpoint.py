"""ASGI endpoint of /v1/phone: runs a telephone media stream as a session of the Realtime endpoint.

A provider can send no header, so a call without one is accepted and must send the token in its `start`. Only then is a
session set up for it. The caller's number is never logged.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field

from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect
from uvicorn.protocols.utils import ClientDisconnected

from web.observation.metrics import Metrics
from web.phone.bridge import PhoneBridge
from web.phone.messages import MAX_MESSAGE_CHARS, Connected, PhoneError, Start, Stop, Unknown, parse
from web.phone.session import mark_as_call
from web.sockets.websocket_backpressure import limit_messages

PHONE_PATHS = ("/v1/phone", "/v1/phone/")

START_TIMEOUT_S = 5.0
"""Time limit for `start`. Providers send it right after the handshake."""
MAX_BEFORE_START = 256
"""Messages before `start`: `connected`, and the audio of these seconds from providers that send it at once."""
MAX_TOLD = 3
"""Kinds of ignored messages that are logged."""
MAX_STARTING = 64
"""Connections that have not sent their `start`: of those with the token in a header, and of those without. For one more
the oldest is closed. Providers send `start` at once, so only idle connections become old."""

MESSAGES_PER_S, MESSAGE_BURST = 150, 1500
"""A call sends 50 messages of audio a second and 10 marks. The burst holds what comes at once after a stall of 25 s."""

LONGEST_BYTES = 2 * MAX_MESSAGE_CHARS
"""From this size on a message is not even read: a client without the token must not fill the memory."""

MAX_WAITING = 256
"""Messages that wait for the session; the socket is not read meanwhile."""
ROOM_STEP_S = 0.02

CLOSE_TIMEOUT_S = 1.0
NORMAL, POLICY, TOO_LARGE, TOO_MANY = 1000, 1008, 1009, 1013

Authorized = Callable[[Scope, Iterable[str]], Awaitable[bool]]
"""Returns whether a connection has the server's token, or a valid client secret, in its headers or among these values.
The settings that belong to a client secret are then those of the session."""

_log = logging.getLogger(__name__)


class PhoneEndpoint:
    """ASGI endpoint that accepts telephone calls."""

    def __init__(self, session_acceptor: ASGIApp, authorized: Authorized, metrics: Metrics) -> None:
        """Creates the endpoint.

        Args:
            session_acceptor: Handles the sessions.
            authorized: Checks the token.
            metrics: Counts refused calls.
        """
        self._session_acceptor = session_acceptor
        self._authorized = authorized
        self._metrics = metrics
        # Whether the token was in a header -> the time limits of the connections that wait for `start`, oldest first.
        self._starting: dict[bool, dict[asyncio.Timeout, None]] = {True: {}, False: {}}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handles one call."""
        socket = WebSocket(scope, receive, send)
        with suppress(WebSocketDisconnect, ClientDisconnected):
            limit_messages(scope, LONGEST_BYTES)
            await socket.accept()
            start = await self._started(socket)
            if start is None:
                return
            call = _Call(socket, start)
            try:
                await call.run(self._session_acceptor)
            finally:
                _log.info("call %s ended", start.call_id)

    async def _started(self, socket: WebSocket) -> Start | None:
        """Waits for `start` and checks the token. Closes the connection and returns None if the call is refused."""
        starting = self._starting[await self._authorized(socket.scope, ())]
        if len(starting) >= MAX_STARTING:
            oldest = next(iter(starting))
            del starting[oldest]
            with suppress(RuntimeError):  # its time has just run out
                oldest.reschedule(0)
        limit = asyncio.timeout(START_TIMEOUT_S)
        starting[limit] = None
        try:
            async with limit:
                start = await _read_start(socket)
        except TimeoutError:
            if limit in starting:
                await self._refuse(socket, "phone_no_start", f"no start within {START_TIMEOUT_S:g} s")
            else:
                await self._refuse(socket, "too_many_calls_starting", "too many calls are starting", TOO_MANY)
            return None
        except PhoneError as error:
            await self._refuse(socket, "phone_bad_message", str(error))
            return None
        finally:
            starting.pop(limit, None)
        offered = filter(None, (start.token, socket.query_params.get("token", "")))
        if await self._authorized(socket.scope, offered):
            return start
        why = f"call {start.call_id}: the token is missing or wrong; send REPARTEE_TOKEN or a client secret of a "
        why += "conversation as the parameter 'token'"
        await self._refuse(socket, "phone_token_wrong", why)
        return None

    async def _refuse(self, socket: WebSocket, code: str, why: str, close_code: int = POLICY) -> None:
        self._metrics.request_refused(code)
        _log.warning("a telephone call was refused: %s", why)
        await _close(socket, close_code, why)


async def _read_start(socket: WebSocket) -> Start:
    """Reads up to `start`. Raises PhoneError, WebSocketDisconnect."""
    for _ in range(MAX_BEFORE_START):
        message = parse(_text_of(await _received(socket)))
        if isinstance(message, Start):
            return message
        if isinstance(message, Stop):
            break
    raise PhoneError("the stream does not begin with connected and start")


async def _received(socket: WebSocket) -> Message:
    """Returns the next message. Raises PhoneError, WebSocketDisconnect."""
    message = await socket.receive()
    if message["type"] == "websocket.disconnect":
        if message.get("code") == TOO_LARGE:
            raise PhoneError(f"a message has more than {LONGEST_BYTES} bytes")
        raise WebSocketDisconnect(message.get("code", 1006))
    return message


def _text_of(message: Message) -> str:
    text = message.get("text")
    if text is None:
        raise PhoneError("a message is binary; messages must be JSON text")
    return str(text)


async def _close(socket: WebSocket, code: int, why: str) -> None:
    """Closes the connection. Does nothing if it is closed already."""
    with suppress(TimeoutError, WebSocketDisconnect, ClientDisconnected, RuntimeError):
        async with asyncio.timeout(CLOSE_TIMEOUT_S):
            await socket.close(code, why.encode()[:123].decode(errors="ignore"))


@dataclass(slots=True)
class _Call:
    """One call: presents its stream to the session as the connection of a Realtime client."""

    socket: WebSocket
    start: Start
    _bridge: PhoneBridge = field(init=False)
    _waiting: deque[Message] = field(default_factory=deque)
    _changed: asyncio.Event = field(default_factory=asyncio.Event)
    _over: bool = False
    _unknown: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._bridge = PhoneBridge(self.start.stream_id)
        self._waiting.append({"type": "websocket.connect"})

    async def run(self, session: ASGIApp) -> None:
        """Runs the session of the call."""
        scope = {**self.socket.scope, "query_string": b"", "subprotocols": []}
        scope["state"] = dict(scope.get("state", {}))
        mark_as_call(scope, self.start.call_id)
        async with asyncio.TaskGroup() as tasks:
            reading = tasks.create_task(self._read(), name="phone")
            try:
                await session(scope, self._receive, self._send)
            finally:
                reading.cancel()
        await _close(self.socket, NORMAL, "the call is over")

    # ---- the session's side ----

    async def _receive(self) -> Message:
        while not self._waiting:
            self._changed.clear()
            await self._changed.wait()
        return self._waiting.popleft()

    async def _send(self, message: Message) -> None:
        if self._over:
            return
        if message["type"] == "websocket.close":
            self._over = True
            code, reason = message.get("code", NORMAL), message.get("reason") or ""
            if code != NORMAL:
                _log.warning("call %s: its session was ended (%s)", self.start.call_id, reason or code)
            await _close(self.socket, code, reason)
        elif message["type"] == "websocket.send":
            self._bridge.on_event(message["text"])
            self._pass_on()
            while self._bridge.to_phone and not self._over:
                await self.socket.send_text(self._bridge.to_phone.popleft())

    # ---- the provider's side ----

    async def _read(self) -> None:
        """Reads the stream to its end."""
        try:
            await self._read_messages()
        except WebSocketDisconnect:
            self._end()
        except RuntimeError:  # starlette's, for a socket that was closed already
            self._end()
        except PhoneError as error:
            _log.warning("call %s was closed: %s", self.start.call_id, error)
            self._end()
            await _close(self.socket, POLICY, str(error))

    async def _read_messages(self) -> None:
        loop = asyncio.get_running_loop()
        paid_until_s = loop.time()
        while True:
            try:
                async with asyncio.timeout_at(self._bridge.due_s):
                    received = await _received(self.socket)
            except TimeoutError:
                self._bridge.on_time(loop.time())
                self._pass_on()
                continue
            now_s = loop.time()
            paid_until_s = max(paid_until_s, now_s) + 1 / MESSAGES_PER_S
            if paid_until_s > now_s + MESSAGE_BURST / MESSAGES_PER_S:
                raise PhoneError(f"more than {MESSAGES_PER_S} messages a second")
            message = parse(_text_of(received))
            match message:
                case Stop():
                    self._end()
                    return
                case Connected() | Start():
                    self._ignore("connected or start once more")
                case Unknown(event):
                    self._ignore(event)
                case _:
                    self._bridge.on_message(message, now_s)
                    self._pass_on()
            while len(self._waiting) >= MAX_WAITING:  # noqa: ASYNC110 - rare, and needs no second event
                await asyncio.sleep(ROOM_STEP_S)

    def _ignore(self, event: str) -> None:
        """Logs an unknown event once."""
        if event not in self._unknown and len(self._unknown) < MAX_TOLD:
            self._unknown.add(event)
            _log.warning("call %s: a message is ignored: %s", self.start.call_id, event)

    def _pass_on(self) -> None:
        """Gives the session what the bridge has for it."""
        while self._bridge.to_session:
            self._waiting.append({"type": "websocket.receive", "text": self._bridge.to_session.popleft()})
        self._changed.set()

    def _end(self) -> None:
        """Ends the conversation, as a client does that closes its connection on purpose. Finished turns are kept."""
        self._over = True
        self._waiting.append({"type": "websocket.disconnect", "code": NORMAL, "reason": ""})
        self._changed.set()
