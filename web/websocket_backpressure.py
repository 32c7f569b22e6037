"""uvicorn's WebSocket, read as long as little waits, and not faster than the event loop has time for.

uvicorn stops reading a socket after every message and begins again when it was taken: two system calls each, fifty
times a second and conversation, 6 % of the event loop's time. The bound is what matters, not that it is one.

uvicorn parses whatever one read brings, up to 256 kB, before anything else runs: 43,000 frames where they are empty.
Here it is parsed in pieces, and what cannot be taken yet stays unparsed. Frames that are no message have limits
(`web.frame_limits`), beyond which the connection is closed.
"""

import asyncio
from collections.abc import Callable
from functools import cached_property

from starlette.types import Scope
from uvicorn._types import ASGIReceiveEvent, ASGISendEvent
from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import Frame, Opcode

from web.frame_limits import MOST_UNSENT_PONGS, POLICY_VIOLATION, FrameLimits

MOST_WAITING = 8
"""Messages; a client that sends as fast as sound is made has one or two."""
MOST_BYTES = 1 << 14
"""Of a message that does not count as a small one: after it the socket is not read until it was taken."""

PIECE_BYTES = 1 << 11
"""Of what was read, parsed at a time: at most 341 frames, some 3 ms."""
FRAMES_AT_ONCE = 256
"""Then others get their turn for `PAUSE_S`: one connection's frames take a fifth of the event loop's time at most."""
PAUSE_S = 0.02

LINGER_S = 2.0
"""For a client to read why it was closed. What it still sends is read and thrown away: closed with data that was not
read, a socket is reset, and the client may never see the close frame."""

NO_HANDSHAKE = b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
"""To a request that is none for a WebSocket, by its method or a header over 8 kB: uvicorn would answer nothing."""

_ABORT = "repartee.abort"
_TRANSPORT = "repartee.transport"


def abort_of(scope: Scope) -> Callable[[], None]:
    """What cuts a connection off at once, whatever still waits to be sent on it."""
    abort: Callable[[], None] = scope["state"][_ABORT]
    return abort


def transport_of(scope: Scope) -> asyncio.Transport | None:
    """The connection itself; None where it is not known."""
    transport: asyncio.Transport | None = scope.get("state", {}).get(_TRANSPORT)
    return transport


class BackpressureProtocol(WebSocketsSansIOProtocol):
    """Stops reading when `MOST_WAITING` messages wait, or a large one. Its connections can be cut off (`abort_of`)."""

    _said_something = False  # the client, since its pong was last waited for
    _unread = memoryview(b"")  # it has come, and is not parsed yet
    _held = False  # messages wait to be taken
    _refused = False  # closed for what the client sent
    _unsent_pongs = 0
    _later: asyncio.TimerHandle | None = None

    async def run_asgi(self) -> None:
        """The application, for this connection."""
        self.scope["state"][_ABORT] = self.transport.abort
        self.scope["state"][_TRANSPORT] = self.transport
        await super().run_asgi()

    async def receive(self) -> ASGIReceiveEvent:
        """The client's next message, for the application."""
        message = await self.queue.get()
        if self.read_paused and self.queue.empty():
            self._held = False
            if self._later is None:
                self._read_on()
        return message

    async def send(self, message: ASGISendEvent) -> None:
        """The application's next message. Raises ClientDisconnected."""
        # A lost transport says so to the protocol a little later, and logs what is written to it until then.
        if message["type"] == "websocket.send" and self.transport.is_closing():
            raise ClientDisconnected
        await super().send(message)
        if message["type"] != "websocket.send":  # accepted or closed: what waited for that is read
            self._held = self._held and not self.close_sent
            if self._later is None:
                self._read_on()

    def connection_lost(self, exc: Exception | None) -> None:
        """It is over."""
        if self._later is not None:
            self._later.cancel()
        self._unread = memoryview(b"")
        super().connection_lost(exc)

    def resume_writing(self) -> None:
        """The client reads again."""
        self._unsent_pongs = 0
        super().resume_writing()

    # ---- what comes ----

    def data_received(self, data: bytes) -> None:
        """Something comes."""
        self._said_something = True
        if self._refused:
            return
        self._unread = memoryview(bytes(self._unread) + data if self._unread else data)
        if self._later is None:
            self._read_on()

    def _read_on(self) -> None:
        """Parse what has come, as far as it may be taken now; where something is left, the socket is not read."""
        self._later = None
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
        handshaking = self.handshake_initiated and not self.handshake_complete  # frames before the answer have to wait
        return not (self._held or handshaking or self.transport.is_closing())

    def _parse(self, piece: bytes) -> int:
        """Returns how many frames were in it."""
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

    # ---- limits ----

    def _problem(self, frame: Frame) -> str | None:
        """Why the connection is to be closed for this frame, if it is."""
        now_s = self.loop.time()
        if frame.opcode is Opcode.PING and not self.writable.is_set():
            self._unsent_pongs += 1
            if self._unsent_pongs > MOST_UNSENT_PONGS:
                return f"pings whose answers are not read: {MOST_UNSENT_PONGS} may wait"
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
        """The client is told why it is closed, and has a moment to read it."""
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
        """Part of a message: of nothing there might be any number, which no limit on its length would end."""
        if event.data or event.fin:
            super().handle_cont(event)

    def handle_ping(self) -> None:
        """The client asks whether anybody is here."""
        if not self.transport.is_closing():
            super().handle_ping()

    def send_keepalive_ping(self) -> None:
        """Is the client still there?"""
        self._said_something = False
        super().send_keepalive_ping()

    def keepalive_timeout(self) -> None:
        """A ping was not answered: the client is gone, unless it speaks, or is not read since it spoke too fast."""
        if self.ping_timeout is not None and (self._said_something or self.read_paused):
            self._said_something = False
            self.pong_timer = self.loop.call_later(self.ping_timeout, self.keepalive_timeout)
        else:
            super().keepalive_timeout()

    def send_receive_event_to_app(self) -> None:
        """A message is complete."""
        large = sum(map(len, self.frames)) > MOST_BYTES
        was_paused, self.read_paused = self.read_paused, True  # then uvicorn does not pause
        super().send_receive_event_to_app()
        self.read_paused = was_paused
        # Once it is closed here nothing is taken any more, and what is read for is the client's own close.
        if not self.close_sent and (large or self.queue.qsize() >= MOST_WAITING):
            self._held = True
