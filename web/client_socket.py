"""One socket, as a conversation uses it: what is to be sent waits here, within a bound."""

import asyncio
from collections import deque
from dataclasses import dataclass, field

from starlette.types import Message
from starlette.websockets import WebSocket, WebSocketDisconnect

from web.metrics import Metrics
from web.websocket_backpressure import abort_of
from web.wire.realtime import Realtime

BREATH = 8
"""Messages after which others get their turn. One that sends as fast as sound is made is waited for anyway."""

CLOSE_TIMEOUT_S = 1.0
NORMAL, INTERNAL_ERROR = 1000, 1011
"""Close codes: it is over, do not come back; it broke off here, come back."""
SEND_TIMEOUT_S = 10.0
"""For one message: a client that does not read for so long has lost its connection."""

MOST_AHEAD, MOST_AHEAD_CHARS = 64, 1 << 14
"""Messages, and of these, read of a client that has to wait, to notice that it leaves: behind more nothing is read."""

MOST_WAITING_CHARS = 4_000_000
"""Messages that wait to be sent; with more of them the client is not read: whoever asks for much has to take it."""


@dataclass(slots=True)
class ClientSocket:
    """Lives on the event loop.

    Attributes:
        changed: Set when there is something to send.
        lost: Set when nothing can be said on it any more; what there is to say is from then on for another line.
        released: Set when the conversation has let go of it.
        left: The client has closed it in good order.
        behind: The client does not take what it gets.
        farewell: Why it is closed, for the close frame; "" where it is just over.
    """

    socket: WebSocket
    realtime: Realtime
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    lost: asyncio.Event = field(default_factory=asyncio.Event)
    released: asyncio.Event = field(default_factory=asyncio.Event)
    left: bool = False
    behind: bool = False
    farewell: str = ""
    _waiting: deque[str] = field(default_factory=deque)
    _waiting_chars: int = 0
    _room: asyncio.Event = field(default_factory=asyncio.Event)
    _answered: int = 0
    _ahead: deque[Message] = field(default_factory=deque)

    async def receive(self) -> Message:
        """The client's next message. Raises WebSocketDisconnect, RuntimeError."""
        return self._ahead.popleft() if self._ahead else await self.socket.receive()

    async def rest(self, seconds: float) -> bool:
        """Let so much time pass; at once False where the client has left, as far as its messages are read ahead."""
        loop = asyncio.get_running_loop()
        until_s = loop.time() + seconds
        try:
            async with asyncio.timeout_at(until_s):
                while self._reads_on():
                    self._ahead.append(await self.socket.receive())
        except TimeoutError:
            return True
        except (WebSocketDisconnect, RuntimeError):
            return False
        if self._has_left():
            return False
        await asyncio.sleep(until_s - loop.time())
        return True

    def _reads_on(self) -> bool:
        chars = sum(len(message.get("text") or "") for message in self._ahead)
        return len(self._ahead) < MOST_AHEAD and chars < MOST_AHEAD_CHARS and not self._has_left()

    def _has_left(self) -> bool:
        return bool(self._ahead) and self._ahead[-1]["type"] == "websocket.disconnect"

    async def write(self, metrics: Metrics) -> None:
        """Send what there is to send, until the client is gone or reads too slowly."""
        try:
            while True:
                await self.changed.wait()
                self.changed.clear()
                self._collect()
                while self._waiting:
                    if self._waiting_chars > 4 * MOST_WAITING_CHARS:
                        self.behind = True  # it takes something now and then, and gets further behind for ever
                        return
                    await self._send(self._waiting[0], metrics)
                    self._waiting_chars -= len(self._waiting.popleft())
                    self._collect()
                    if self._waiting_chars < MOST_WAITING_CHARS:
                        self._room.set()
        except TimeoutError:
            self.behind = True
        except (WebSocketDisconnect, RuntimeError):
            pass  # RuntimeError: Starlette's, for a socket that was closed while it was written to
        finally:
            self.lost.set()

    async def answered(self) -> int:
        """A message was read and done. Waits where the client does not take what it gets; others get their turn.

        The usual message is sound, to which nothing is answered: then nobody is woken.

        Returns how many characters are to be sent since the last look.
        """
        answer_chars = self._collect()
        if self._waiting:
            self.changed.set()
        self._answered += 1
        if self._waiting_chars >= MOST_WAITING_CHARS:
            self._room.clear()
            await self._room.wait()
        elif self._answered % BREATH == 0:
            await asyncio.sleep(0)
        return answer_chars

    async def close(self) -> None:
        """Nothing more is said on it; where it is closed already, nothing happens.

        A client that does not even take that is cut off: it would find an open connection that nobody reads.
        """
        try:
            async with asyncio.timeout(CLOSE_TIMEOUT_S):
                await self.socket.close(INTERNAL_ERROR if self.behind else NORMAL, self.farewell)
        except TimeoutError:
            abort_of(self.socket.scope)()
        except (WebSocketDisconnect, RuntimeError):
            pass

    def _collect(self) -> int:
        """Returns how many characters came."""
        if self.lost.is_set():
            return 0  # the client may be back on another line already: what is said now is meant for that one
        chars = 0
        for text in self.realtime.to_send():
            self._waiting.append(text)
            chars += len(text)
        self._waiting_chars += chars
        return chars

    async def _send(self, text: str, metrics: Metrics) -> None:
        if text.startswith('{"type":"error"'):
            metrics.wire_error(_code_in(text))
        async with asyncio.timeout(SEND_TIMEOUT_S):
            await self.socket.send_text(text)


def _code_in(text: str) -> str:
    """The code of an error event, for the metrics."""
    _, _, rest = text.partition('"code":"')
    return rest.partition('"')[0]
