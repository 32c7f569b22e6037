"""The WebSocket connection to a server. Reconnects by itself."""

import asyncio
import json
import random
import ssl
import time
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import urlsplit

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, WebSocketException

from assistant.support.exception_groups import first_of
from llm.name_lookup import use_name_lookup
from web.remote.address import ServerAddress
from web.remote.close_reasons import CloseReason, LastError, closed, last_error, why_not
from web.remote.conversation.conversation import UnsupportedServerError

CONNECT_TIMEOUT_S = 8.0
FIRST_EVENT_TIMEOUT_S = 8.0
SEND_TIMEOUT_S = 10.0
CLOSE_TIMEOUT_S = 1.0
LEAVE_TIMEOUT_S = 1.0
"""Time limit for sending what waits, or for connecting, after the user leaves."""
PING_S = 5.0
"""Interval of keepalive pings, which keep idle connections open and detect dead ones."""
PONG_S = 10.0

WATCH_S = 2.0
"""Interval in s at which it is checked whether this machine has slept."""
SLEPT_S = 1.0
"""Sleep of this machine in s after which the connection is checked: the server may have closed it meanwhile."""
AWAKE_PONG_S = 2.0
"""Longest time in s for the server's answer after this machine has slept."""

NEXT_ADDRESS_S = 0.25
"""Time in s after which the next address of a name is tried as well: the first one may lead nowhere (IPv6)."""

FIRST_WAIT_S = 0.25
MAX_WAIT_S = 8.0
MAX_DOUBLINGS = 16
MAX_REFUSED_WAIT_S = 60.0
"""Longest wait after a refusal that another attempt alone does not change, such as that of a wrong token."""

MAX_WAITING_SOUND = 200
"""Pieces of 20 ms that may wait, 4 s. More are dropped; the server inserts silence for them."""
MAX_WAITING = 1000
"""Texts that may wait. With more of them the server is considered not to read."""

STEADY_S = 5.0
"""A connection that was lost sooner counts as a failed attempt, so that the waits between attempts keep growing."""

MAX_NUMBER = 1e15
"""Larger than any time or count of a server. A message with a larger number, or with NaN, is ignored."""

MAX_MESSAGE_BYTES = 8 * 1024 * 1024
"""Longest message. The server's longest are the items of a history and half a second of audio."""

SUBPROTOCOL = "realtime"


class ServerLostError(Exception):
    """The server cannot be used. The message is one sentence for the user."""


class WireListener(Protocol):
    """Receives the events of a wire."""

    def event(self, event: Mapping[str, Any]) -> None:
        """Handles a server event. Raises UnsupportedServerError if the server cannot be used."""
        ...

    def resume(self) -> Mapping[str, str]:
        """Returns the query parameters with which a new connection resumes the conversation."""
        ...

    def connection_lost(self, ending: CloseReason) -> None:
        """Handles a lost connection; another attempt follows."""
        ...


@dataclass(slots=True)
class RemoteWire:
    """The connection to a server. Not thread-safe: use it on the event loop.

    Attributes:
        tls: Context of an encrypted connection; None: certificates are checked as browsers do.
        keeps_trying: Whether to try again for ever, whatever the reason: nobody is there to start the program again.
        dropped: Pieces of audio that were dropped because they could not be sent in time.
    """

    address: ServerAddress
    token: str | None
    listener: WireListener
    tls: ssl.SSLContext | None = None
    keeps_trying: bool = False
    dropped: int = 0
    _waiting: deque[tuple[str, bool]] = field(default_factory=deque)  # (text, whether it is audio)
    _waiting_sound: int = 0
    _changed: asyncio.Event = field(default_factory=asyncio.Event)
    _open: bool = False
    _was_open: bool = False  # a session was open before
    _leaving: bool = False
    _farewell: LastError = LastError()  # noqa: RUF009 - frozen
    _waits: int = 0
    _limit: asyncio.Timeout | None = None  # time limit of `run`, set by `leave`
    _greeted_s: float | None = None  # when the session on this connection was opened

    @property
    def open(self) -> bool:
        """Whether a session is open."""
        return self._open

    @property
    def _may_retry(self) -> bool:
        return self._was_open or self.keeps_trying

    def send(self, text: str) -> bool:
        """Queues a text for sending; returns False if there is no connection."""
        return self._queue_message(text, sound=False)

    def sound(self, text: str) -> bool:
        """Queues a piece of audio for sending; returns False if it is dropped."""
        if self._waiting_sound >= MAX_WAITING_SOUND:
            self.dropped += 1
            return False
        return self._queue_message(text, sound=True)

    def leave(self) -> None:
        """Sends what waits, then hangs up. Idempotent."""
        if not self._leaving and self._limit is not None:
            self._limit.reschedule(asyncio.get_running_loop().time() + LEAVE_TIMEOUT_S)
        self._leaving = True
        self._changed.set()

    async def run(self) -> None:
        """Stays connected until `leave`.

        Raises ServerLostError if that is impossible or the server ended it permanently.
        """
        try:
            with suppress(TimeoutError):  # only `leave` sets a limit
                async with asyncio.timeout(None) as self._limit:
                    await self._stay_connected()
        finally:
            self._limit = None  # `leave` after this has nothing to limit

    async def _stay_connected(self) -> None:
        while not self._leaving:
            ending = await self._run_connection()
            if self._greeted_s is not None and asyncio.get_running_loop().time() - self._greeted_s >= STEADY_S:
                self._waits = 0
            if ending is None:
                return
            if not ending.again and not self.keeps_trying:
                raise ServerLostError(" ".join(filter(None, (ending.sentence, ending.remedy))))
            self.listener.connection_lost(ending)
            wait_s = self._next_wait_s(MAX_WAIT_S if ending.again else MAX_REFUSED_WAIT_S)
            await self._pause(max(wait_s, ending.retry_after_s * random.uniform(1.0, 1.25)))  # noqa: S311

    def _next_wait_s(self, longest_s: float) -> float:
        wait_s = min(longest_s, FIRST_WAIT_S * 2.0**self._waits) * random.uniform(0.75, 1.25)  # noqa: S311
        self._waits = min(self._waits + 1, MAX_DOUBLINGS)
        return wait_s

    async def _pause(self, wait_s: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(wait_s):
                while not self._leaving:
                    self._changed.clear()
                    await self._changed.wait()

    async def _run_connection(self) -> CloseReason | None:
        """Runs one connection. Returns why it ended, or None after `leave`."""
        self._farewell, self._greeted_s = LastError(), None
        try:
            socket = await self._connected()
        except (OSError, WebSocketException, ImportError) as error:
            return why_not(error, self.address, connected_before=self._may_retry)
        try:
            return await self._use(socket)
        finally:
            self._drop_queue()
            await socket.close()

    async def _connected(self) -> ClientConnection:
        use_name_lookup()
        headers = {} if self.token is None else {"Authorization": f"Bearer {self.token}"}
        return await _Connect(
            self.address.url(self.listener.resume()),
            additional_headers=headers,
            subprotocols=[SUBPROTOCOL],  # type: ignore[list-item]  # a NewType of str
            ssl=(self.tls or True) if self.address.secure else None,
            compression=None,  # audio does not get smaller, and compression takes a millisecond per message
            # A proxy from the environment is not used for a server on this machine.
            proxy=None if self.address.near else True,
            open_timeout=CONNECT_TIMEOUT_S,
            ping_interval=PING_S,
            ping_timeout=PONG_S,
            close_timeout=CLOSE_TIMEOUT_S,
            max_size=MAX_MESSAGE_BYTES,
            happy_eyeballs_delay=NEXT_ADDRESS_S,
        )

    async def _use(self, socket: ClientConnection) -> CloseReason | None:
        ended: list[BaseException] = []
        try:
            async with asyncio.timeout(FIRST_EVENT_TIMEOUT_S):
                self._handle_message(await socket.recv())
            async with asyncio.TaskGroup() as tasks:
                writer = tasks.create_task(self._write(socket), name="to the server")
                watch = tasks.create_task(_watch_sleep(socket), name="sleep of this machine")
                async for message in socket:
                    self._handle_message(message)
                writer.cancel()
                watch.cancel()
        except* (ConnectionClosed, OSError, UnsupportedServerError) as errors:
            ended.append(first_of(errors))
        if self._leaving:
            return None
        if not ended:  # closed normally, 1000 or 1001
            return closed(_closing(socket), self.address, self._farewell)
        if isinstance(ended[0], ConnectionClosed):
            return closed(ended[0], self.address, self._farewell, connected_before=self._may_retry)
        return why_not(ended[0], self.address, connected_before=self._may_retry)

    def _handle_message(self, message: str | bytes) -> None:
        try:
            event = json.loads(message, parse_float=_number, parse_int=_whole, parse_constant=_number)
        except (ValueError, RecursionError):
            return  # the server sends JSON only
        if not isinstance(event, dict):
            return
        if event.get("type") == "error":
            self._farewell = last_error(event)
        if event.get("type") == "session.created":
            self._open = self._was_open = True
            self._greeted_s = asyncio.get_running_loop().time()
        self.listener.event(event)

    async def _write(self, socket: ClientConnection) -> None:
        while True:
            while self._waiting:
                text, is_sound = self._waiting.popleft()
                self._waiting_sound -= is_sound
                async with asyncio.timeout(SEND_TIMEOUT_S):
                    await socket.send(text)
            if self._leaving:
                await socket.close()
                return
            self._changed.clear()
            await self._changed.wait()

    def _queue_message(self, text: str, *, sound: bool) -> bool:
        if not self._open or len(self._waiting) >= MAX_WAITING:
            return False
        self._waiting.append((text, sound))
        self._waiting_sound += sound
        self._changed.set()
        return True

    def _drop_queue(self) -> None:
        self._open = False
        self._waiting.clear()
        self._waiting_sound = 0


def suspended_s() -> float:
    """Returns how long this machine has slept since its start, as far as the system tells it, plus a constant."""
    boot = getattr(time, "CLOCK_BOOTTIME", None)
    return 0.0 if boot is None else time.clock_gettime(boot) - time.clock_gettime(time.CLOCK_MONOTONIC)


async def _watch_sleep(socket: ClientConnection) -> None:
    """Ends a connection that the server has left while this machine slept: keepalive would notice it 15 s later."""
    before_s = suspended_s()
    while True:
        await asyncio.sleep(WATCH_S)
        slept_s, before_s = suspended_s() - before_s, suspended_s()
        if slept_s < SLEPT_S:
            continue
        try:
            async with asyncio.timeout(AWAKE_PONG_S):
                await (await socket.ping())
        except TimeoutError:
            socket.transport.abort()
            return


class _Connect(connect):
    """Follows redirects only within the server's origin, because audio and token must not go elsewhere."""

    def process_redirect(self, exc: Exception) -> Exception | str:
        """Returns the redirect target, or the original exception if the target has another scheme, host or port."""
        before, target = urlsplit(self.uri), super().process_redirect(exc)
        if isinstance(target, str) and urlsplit(target)[:2] != before[:2]:
            return exc
        return target


def _number(text: str) -> float:
    """Parses a number of JSON. Raises ValueError for NaN and for numbers of `MAX_NUMBER` or more."""
    number = float(text)
    if not abs(number) < MAX_NUMBER:
        raise ValueError(f"a number with {len(text)} characters is not allowed")
    return number


def _whole(text: str) -> int:
    _number(text)
    return int(text)


def _closing(socket: ClientConnection) -> ConnectionClosed:
    return socket.protocol.close_exc
