"""Adds backpressure and limits to uvicorn's WebSocket protocol.

uvicorn pauses reading after every message and resumes when the message was taken. Those are two system calls for each
of fifty messages a second per conversation, 6 % of the event loop's time. Here reading pauses only when several wait.

uvicorn parses everything that one read returns, up to 256 kB, before other tasks run: 43,000 frames if they are empty.
Here it is parsed in pieces, and data that cannot be taken yet stays unparsed. Control frames and fragments have limits
(`web.sockets.frame_limits`), beyond which the connection is closed.
"""

import asyncio
import select
import socket
from collections.abc import Callable
from functools import cached_property

from starlette.types import Scope
from uvicorn._types import ASGIReceiveEvent, ASGISendEvent
from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import Frame, Opcode
from websockets.http11 import Request

from web.sockets.frame_limits import MAX_UNSENT_PONGS, POLICY_VIOLATION, FrameLimits

MAX_WAITING = 8
"""Messages that may wait before reading pauses. A client that sends in real time has one or two."""
MAX_BYTES = 1 << 14
"""After a message of more bytes, reading pauses until the session has taken the message."""

PIECE_BYTES = 1 << 11
"""Bytes parsed at a time: at most 341 frames, about 3 ms."""
FRAMES_AT_ONCE = 256
"""Frames after which parsing pauses for `PAUSE_S`: one connection takes at most a fifth of the event loop's time."""
PAUSE_S = 0.02

LINGER_S = 2.0
"""Time for a client to read the close frame. Its further data is read and discarded: closing a socket with unread data
resets it, and the client might not see the close frame."""
LINGER_BYTES = 1 << 20
"""Data that is read after the close frame. With more, the client is not read any more, and closed after `LINGER_S`."""

NO_HANDSHAKE = b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
"""Answer to an invalid handshake, for example with a header over 8 kB. uvicorn would not answer it."""

HANDSHAKE_HEADERS = ("connection", "upgrade", "sec-websocket-")
"""Beginnings of the names of a handshake's own headers, in lower case."""

_ABORT = "repartee.abort"
_TRANSPORT = "repartee.transport"
_LIMIT_MESSAGES = "repartee.limit_messages"


_HUNG_UP = getattr(select, "POLLRDHUP", 0) | getattr(select, "POLLHUP", 0) | getattr(select, "POLLERR", 0)
"""POLLRDHUP exists on Linux only. Elsewhere an orderly close is detected only after everything before it was read."""


def has_hung_up(scope: Scope) -> bool:
    """Returns whether the client has closed this connection, or it broke, although nothing is read from its socket."""
    transport = transport_of(scope)
    if transport is None:
        return False
    if transport.is_closing():
        return True
    sock: socket.socket | None = transport.get_extra_info("socket")
    if sock is None or sock.fileno() < 0 or not hasattr(select, "poll"):
        return False
    poll = select.poll()
    poll.register(sock.fileno(), _HUNG_UP)
    return bool(poll.poll(0))


def abort_of(scope: Scope) -> Callable[[], None]:
    """Returns the function that closes a connection at once and drops unsent data."""
    abort: Callable[[], None] = scope["state"][_ABORT]
    return abort


def set_abort(scope: Scope, abort: Callable[[], None]) -> None:
    """Sets the function that `abort_of` returns, for a connection that is no socket of its own."""
    scope.setdefault("state", {})[_ABORT] = abort


def transport_of(scope: Scope) -> asyncio.Transport | None:
    """Returns the transport of a connection; None if it is unknown."""
    transport: asyncio.Transport | None = scope.get("state", {}).get(_TRANSPORT)
    return transport


def limit_messages(scope: Scope, longest_bytes: int) -> None:
    """Lowers the size from which a message closes the connection with 1009, before it is in memory."""
    limit: Callable[[int], None] | None = scope.get("state", {}).get(_LIMIT_MESSAGES)
    if limit is not None:
        limit(longest_bytes)


class BackpressureProtocol(WebSocketsSansIOProtocol):
    """Pauses reading while `MAX_WAITING` messages or a large one wait. Its connections can be aborted (`abort_of`)."""

    _said_something = False  # data has arrived since the last ping
    _unread = memoryview(b"")  # received data that is not parsed yet
    _held = False  # reading is paused until messages are taken
    _refused = False  # closed because of what the client sent
    _unsent_pongs = 0
    _after_close = 0  # bytes received after the close frame was sent
    _later: asyncio.TimerHandle | None = None

    async def run_asgi(self) -> None:
        """Runs the application for this connection."""
        self.scope["state"][_ABORT] = self.transport.abort
        self.scope["state"][_TRANSPORT] = self.transport
        self.scope["state"][_LIMIT_MESSAGES] = self._limit_messages
        await super().run_asgi()

    def _limit_messages(self, longest_bytes: int) -> None:
        self.conn.max_message_size = longest_bytes

    async def receive(self) -> ASGIReceiveEvent:
        """Returns the client's next message to the application."""
        message = await self.queue.get()
        if self.read_paused and self.queue.empty():
            self._held = False
            if self._later is None:
                self._read_on()
        return message

    async def send(self, message: ASGISendEvent) -> None:
        """Sends the application's next message. Raises ClientDisconnected."""
        # A lost transport tells the protocol a little later, and logs what is written to it until then.
        if message["type"] == "websocket.send" and self.transport.is_closing():
            raise ClientDisconnected
        await super().send(message)
        if message["type"] != "websocket.send":  # accepted or closed: read the data that waited for that
            self._held = self._held and not self.close_sent
            if self._later is None:
                self._read_on()

    def connection_lost(self, exc: Exception | None) -> None:
        """Drops unparsed data."""
        if self._later is not None:
            self._later.cancel()
        self._unread = memoryview(b"")
        super().connection_lost(exc)

    def resume_writing(self) -> None:
        """Called when the client reads again: resets the count of unsent pongs."""
        self._unsent_pongs = 0
        super().resume_writing()

    # ---- received data ----

    def data_received(self, data: bytes) -> None:
        """Takes received data and parses as much as is allowed now."""
        self._said_something = True
        if self.close_sent:
            self._after_close += len(data)
            if self._after_close > LINGER_BYTES:
                self._stop_reading()
        if self._refused or self._after_close > LINGER_BYTES:
            return
        self._unread = memoryview(bytes(self._unread) + data if self._unread else data)
        if self._later is None:
            self._read_on()

    def _read_on(self) -> None:
        """Parses received data as far as it may be taken now. Pauses reading if some is left."""
        self._later = None
        if self._after_close > LINGER_BYTES:
            return  # reading has stopped
        frames = 0
        while self._unread and self._may_parse():
            if frames >= FRAMES_AT_ONCE:
                self._later = self.loop.call_later(PAUSE_S, self._read_on)
                break
            piece, self._unread = self._unread[:PIECE_BYTES], self._unread[PIECE_BYTES:]
            frames += self._parse(bytes(piece))
        waiting = self._held or (self.read_paused and not self.queue.empty())
        self._pause_reading(bool(self._unread) or (waiting and not self.close_sent))

    def _may_parse(self) -> bool:
        handshaking = (
            self.handshake_initiated and not self.handshake_complete
        )  # frames that arrive before the handshake is answered have to wait
        return not (self._held or handshaking or self.transport.is_closing())

    def handle_connect(self, event: Request) -> None:
        """Begins the handshake. Refuses one whose own headers are not ASCII: websockets cannot quote them in an answer.

        It would log the exception in full for every such request, which needs no token.
        """
        own = (value for name, value in event.headers.raw_items() if name.lower().startswith(HANDSHAKE_HEADERS))
        if all(map(str.isascii, own)):
            super().handle_connect(event)
        else:
            self.transport.write(NO_HANDSHAKE)
            self.transport.close()

    def _parse(self, piece: bytes) -> int:
        """Parses a piece of data; returns the number of its frames."""
        self.conn.receive_data(piece)
        if self.conn.parser_exc is not None:
            self.handle_parser_exception()
            return 0
        frames = [event for event in self.conn.events if isinstance(event, Frame)]
        for frame in frames:
            problem = self._problem(frame)
            if problem is not None:
                self._refuse(problem)
                return 0
        self.handle_events()
        if self.conn.handshake_exc is not None and not (self.handshake_initiated or self.transport.is_closing()):
            self.transport.write(NO_HANDSHAKE)
            self.transport.close()
        return len(frames)

    def _pause_reading(self, paused: bool) -> None:
        if paused == self.read_paused or self.transport.is_closing():
            return
        self.read_paused = paused
        if paused:
            self.transport.pause_reading()
        else:
            self.transport.resume_reading()

    def _stop_reading(self) -> None:
        """Reads no more of a client that goes on sending after the close frame."""
        self._unread = memoryview(b"")
        self._pause_reading(True)
        if self.close_timer is None:
            self.close_timer = self.loop.call_later(LINGER_S, self.transport.abort)

    # ---- limits ----

    def _problem(self, frame: Frame) -> str | None:
        """Returns the reason if the connection must be closed because of this frame."""
        now_s = self.loop.time()
        if frame.opcode is Opcode.PING and not self.writable.is_set():
            self._unsent_pongs += 1
            if self._unsent_pongs > MAX_UNSENT_PONGS:
                return f"too many pings whose answers are not read: at most {MAX_UNSENT_PONGS} may wait"
        if frame.opcode in {Opcode.PING, Opcode.PONG}:
            return self._limits.control(now_s)
        if frame.opcode is Opcode.CONT or (frame.opcode is not Opcode.CLOSE and not frame.fin):
            return self._limits.fragment(len(frame.data), now_s, last=frame.fin)
        return None

    @cached_property
    def _limits(self) -> FrameLimits:
        return FrameLimits()

    def _refuse(self, problem: str) -> None:
        self.conn.data_to_send()  # answers to pings
        self.conn.events_received()
        self.conn.fail(POLICY_VIOLATION, problem)
        self.handle_parser_exception()

    def handle_parser_exception(self) -> None:
        """Closes the connection with a reason, and gives the client `LINGER_S` to read it."""
        assert self.conn.close_sent is not None
        code, reason = self.conn.close_sent.code, self.conn.close_sent.reason
        self.queue.put_nowait({"type": "websocket.disconnect", "code": code, "reason": reason})
        self.close_sent = self._refused = True
        self.frames, self._unread = [], memoryview(b"")
        self.stop_keepalive()
        self.transport.write(b"".join(self.conn.data_to_send()))
        if self.transport.can_write_eof():
            self.transport.write_eof()
        if self.close_timer is not None:
            self.close_timer.cancel()
        self.close_timer = self.loop.call_later(LINGER_S, self.transport.abort)

    def handle_cont(self, event: Frame) -> None:
        """Handles a fragment. Ignores empty ones, because no limit on the message length would stop them."""
        if event.data or event.fin:
            super().handle_cont(event)

    def handle_ping(self) -> None:
        """Answers a ping, unless the connection is closing."""
        if not self.transport.is_closing():
            super().handle_ping()

    def send_keepalive_ping(self) -> None:
        """Sends a keepalive ping."""
        self._said_something = False
        super().send_keepalive_ping()

    def keepalive_timeout(self) -> None:
        """Handles a missing pong: the client is gone, unless it sends data or reading is paused."""
        if self.ping_timeout is not None and (self._said_something or self.read_paused):
            self._said_something = False
            self.pong_timer = self.loop.call_later(self.ping_timeout, self.keepalive_timeout)
        else:
            super().keepalive_timeout()

    def send_receive_event_to_app(self) -> None:
        """Queues a complete message and decides whether reading must pause."""
        large = sum(map(len, self.frames)) > MAX_BYTES
        was_paused, self.read_paused = self.read_paused, True  # then uvicorn does not pause
        super().send_receive_event_to_app()
        self.read_paused = was_paused
        # After the server has closed, messages are no longer taken; reading continues for the client's close frame.
        if not self.close_sent and (large or self.queue.qsize() >= MAX_WAITING):
            self._held = True
