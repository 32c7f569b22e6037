"""One client socket of a conversation, with a bounded queue of messages to send."""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field

from starlette.types import Message
from starlette.websockets import WebSocket, WebSocketDisconnect

from web.observation.metrics import Metrics
from web.sockets.websocket_backpressure import abort_of
from web.wire.realtime import Realtime

_log = logging.getLogger(__name__)

YIELD_EVERY_MESSAGES = 8
"""Messages after which other tasks of the event loop run. A client that sends in real time is waited for anyway."""

CLOSE_TIMEOUT_S = 1.0
NORMAL, POLICY_VIOLATION, INTERNAL_ERROR = 1000, 1008, 1011
"""Close codes: the session ended, do not reconnect; the client sent what is refused; the connection failed,
reconnect."""
SEND_TIMEOUT_S = 10.0
"""Time limit for one message. A client that does not read for this long is treated as disconnected."""

MAX_AHEAD, MAX_AHEAD_CHARS = 64, 1 << 14
"""Messages, and their characters, that are read ahead from a throttled client to notice that it disconnects."""

MAX_WAITING_CHARS = 4_000_000
"""Characters that wait to be sent. Beyond this the client is not read."""

GOING_AWAY = 1001
"""Close code of a page that is closed, left or reloaded."""
LEFT = frozenset({1000, GOING_AWAY, 1005})
"""Close codes of a client that will not come back. 1005 means that it gave no code."""


DONE = '{"type":"response.done"'
TABLES = ('{"type":"repartee.lists"', '{"type":"repartee.timers"')
"""Events after which a client relies on what was said or set. They wait until it is on disk: `response.done` in its
place, behind its own sound, and the tables beside the sound, each replaced by a newer one."""

STORE_TIMEOUT_S = 0.2
"""Longest wait of such an event. Without another load on the disk the write takes some milliseconds."""


async def _stores_nothing() -> None:
    pass


@dataclass(slots=True)
class ClientSocket:
    """Sends and receives the messages of one socket. Not thread-safe: use it on the event loop.

    Attributes:
        changed: Set when there is something to send.
        lost: Set when nothing more can be sent on it. Later messages are for the next connection.
        released: Set when the conversation no longer uses it.
        left: Whether the client has closed it normally.
        behind: Whether the client does not read what is sent.
        expelled: Whether the client is disconnected because of what it sent; `farewell` says why.
        farewell: Reason for the close frame; "" if the session has just ended.
        arrival: Number of the connection in the order of arrival; the newest of a race has the highest.
        stored: Waits until what was said and set in the conversation is on disk.
    """

    socket: WebSocket
    realtime: Realtime
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    lost: asyncio.Event = field(default_factory=asyncio.Event)
    released: asyncio.Event = field(default_factory=asyncio.Event)
    left: bool = False
    behind: bool = False
    expelled: bool = False
    farewell: str = ""
    arrival: int = 0
    stored: Callable[[], Awaitable[None]] = _stores_nothing
    _disk_is_slow: bool = False
    _tables: dict[str, str] = field(default_factory=dict)  # the newest of each kind that waits for the disk
    _has_tables: asyncio.Event = field(default_factory=asyncio.Event)
    _waiting: deque[str] = field(default_factory=deque)
    _waiting_chars: int = 0
    _room: asyncio.Event = field(default_factory=asyncio.Event)
    _answered: int = 0
    _read_ahead: deque[Message] = field(default_factory=deque)

    def left_on_purpose(self, disconnect: Message) -> bool:
        """Returns whether the client closed the connection for good. For a lost one, uvicorn gives 1005, no reason."""
        code = disconnect.get("code")
        reloads = code == GOING_AWAY and self.realtime.config.extensions.reloads
        return code in LEFT and "reason" in disconnect and not reloads

    async def receive(self) -> Message:
        """Returns the client's next message. Raises WebSocketDisconnect, RuntimeError."""
        return self._read_ahead.popleft() if self._read_ahead else await self.socket.receive()

    async def rest(self, seconds: float) -> bool:
        """Sleeps for this long. Returns False at once if the messages read ahead show that the client has left."""
        loop = asyncio.get_running_loop()
        until_s = loop.time() + seconds
        try:
            async with asyncio.timeout_at(until_s):
                while self._may_read_ahead():
                    self._read_ahead.append(await self.socket.receive())
        except TimeoutError:
            return True
        except (WebSocketDisconnect, RuntimeError):
            return False
        if self._has_left():
            return False
        await asyncio.sleep(until_s - loop.time())
        return True

    def _may_read_ahead(self) -> bool:
        chars = sum(len(message.get("text") or message.get("bytes") or "") for message in self._read_ahead)
        return len(self._read_ahead) < MAX_AHEAD and chars < MAX_AHEAD_CHARS and not self._has_left()

    def _has_left(self) -> bool:
        return bool(self._read_ahead) and self._read_ahead[-1]["type"] == "websocket.disconnect"

    async def write(self, metrics: Metrics) -> None:
        """Sends messages until the client is gone or reads too slowly."""
        try:
            while True:
                await self.changed.wait()
                self.changed.clear()
                self._collect()
                while self._waiting:
                    if self._waiting_chars > 4 * MAX_WAITING_CHARS:
                        self.behind = True  # it reads too slowly, and its backlog grows
                        return
                    if self._waiting[0].startswith(DONE):
                        await self._wait_for_disk()
                    await self._send(self._waiting[0], metrics)
                    self._waiting_chars -= len(self._waiting.popleft())
                    self._collect()
                    if self._waiting_chars < MAX_WAITING_CHARS:
                        self._room.set()
        except TimeoutError:
            self.behind = True
        except (WebSocketDisconnect, RuntimeError):
            pass  # RuntimeError: Starlette's, for a socket that was closed while it was written to
        finally:
            self.lost.set()

    async def queue_tables(self) -> None:
        """Queues timers and lists for sending when they are on disk, until it is cancelled. Sound does not wait."""
        while True:
            await self._has_tables.wait()
            self._has_tables.clear()
            tables, self._tables = self._tables, {}
            await self._wait_for_disk()
            self._queue(*tables.values())
            self.changed.set()

    async def answered(self) -> int:
        """Called when a message was processed. Waits if the client does not read; lets other tasks run.

        The usual message is audio, which has no answer: then the writer is not woken.

        Returns how many characters were queued for sending since the last call.
        """
        answer_chars = self._collect()
        if self._waiting:
            self.changed.set()
        self._answered += 1
        if self._waiting_chars >= MAX_WAITING_CHARS:
            self._room.clear()
            await self._room.wait()
        elif self._answered % YIELD_EVERY_MESSAGES == 0:
            await asyncio.sleep(0)
        return answer_chars

    async def close(self) -> None:
        """Closes the socket. Does nothing if it is closed already.

        The connection of a client that does not read the close frame is aborted; otherwise it would stay open, unread.
        """
        try:
            async with asyncio.timeout(CLOSE_TIMEOUT_S):
                await self.socket.close(self._close_code, self.farewell)
        except TimeoutError:
            abort_of(self.socket.scope)()
        except (WebSocketDisconnect, RuntimeError):
            pass

    @property
    def _close_code(self) -> int:
        if self.expelled:
            return POLICY_VIOLATION
        return INTERNAL_ERROR if self.behind else NORMAL

    async def flush(self) -> None:
        """Waits until everything is sent, but not long."""
        self.changed.set()
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_TIMEOUT_S):
                while self._waiting and not self.lost.is_set():  # noqa: ASYNC110 - rare, and the writer has no event for it
                    await asyncio.sleep(0.01)

    def _collect(self) -> int:
        """Moves new messages of the protocol to the queue; returns their number of characters."""
        if self.lost.is_set():
            return 0  # the client may be back on another connection already: new messages are meant for that one
        chars = 0
        for text in self.realtime.to_send():
            chars += len(text)
            if text.startswith(TABLES):
                self._tables[text.partition(",")[0]] = text
                self._has_tables.set()
            else:
                self._queue(text)
        return chars

    def _queue(self, *texts: str) -> None:
        self._waiting.extend(texts)
        self._waiting_chars += sum(map(len, texts))

    async def _wait_for_disk(self) -> None:
        try:
            async with asyncio.timeout(STORE_TIMEOUT_S):
                await self.stored()
        except TimeoutError:
            if not self._disk_is_slow:
                wait_ms = STORE_TIMEOUT_S * 1000
                _log.warning("the disk is slow: after %.0f ms a client is told what is not stored yet", wait_ms)
            self._disk_is_slow = True
        else:
            self._disk_is_slow = False

    async def _send(self, text: str, metrics: Metrics) -> None:
        if text.startswith('{"type":"error"'):
            metrics.wire_error(_code_in(text))
        async with asyncio.timeout(SEND_TIMEOUT_S):
            await self.socket.send_text(text)


def _code_in(text: str) -> str:
    """Returns the code of an error event, for the metrics."""
    _, _, rest = text.partition('"code":"')
    return rest.partition('"')[0]
