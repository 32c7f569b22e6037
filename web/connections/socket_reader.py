"""Reads the events of one client from its socket, no faster than its limits permit."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass

from starlette.websockets import WebSocketDisconnect

from web.client_audio.audio_backlog import AudioBacklog
from web.client_audio.audio_throttle import AudioPacer
from web.connections.client_socket import ClientSocket
from web.limits.session_acceptor import held_back
from web.observation.metrics import Metrics
from web.process.fair_share import FairShare
from web.session.realtime_session import RealtimeSession
from web.sockets.websocket_backpressure import has_hung_up
from web.wire.incoming.event_limits import (
    ANSWER_SHARE,
    COSTLY_BYTES,
    EventBudget,
    RefusedMessages,
    cost_of,
    refusal,
    utf8_bytes,
)
from web.wire.values.errors import ProtocolError

GOODBYE_S = 0.3
"""Time limit for reading the close frame of a client that has hung up."""

GOODBYE_WITHIN = 2
"""Maximum number of unread messages before the close frame. With more of them, the connection counts as lost."""

FULL_LOOK_S = 0.25
"""Interval of checks whether a client that is not read has disconnected."""

MAX_MESSAGE_BYTES = 1 << 24
"""Longest message of a client: 262 s of PCM at 24 kHz in base64. Events without sound and images have 1 MB."""

_BINARY = ProtocolError(
    "binary_message", "messages must be JSON text; send sound as base64 in input_audio_buffer.append"
)


@dataclass(slots=True)
class SocketReader:
    """Reads one socket.

    Attributes:
        client_socket: The socket.
        realtime_session: Receives the events.
        backlog: The client's audio that waits.
        share: Shares the event loop between clients whose audio waits.
        metrics: Counts the time in which the client is not read.
        max_message_bytes: Longest message.
    """

    client_socket: ClientSocket
    realtime_session: RealtimeSession
    backlog: AudioBacklog
    share: FairShare
    metrics: Metrics
    max_message_bytes: int

    async def rest(self, wait_s: float) -> bool:
        """Waits because the client's audio is ahead of real time. The client does not count as idle."""
        self.metrics.throttled(wait_s)
        held_back(self.client_socket.socket.scope)
        await asyncio.sleep(wait_s)
        return True

    async def run(self, pacer: AudioPacer) -> None:
        """Reads until the socket is lost; `pacer`: limits the client's audio to real time."""
        client_socket, realtime_session = self.client_socket, self.realtime_session
        budget, refusals = EventBudget(), RefusedMessages()
        loop = asyncio.get_running_loop()
        try:
            while True:
                try:
                    message = await client_socket.receive()
                except (WebSocketDisconnect, RuntimeError):
                    return  # RuntimeError: Starlette's, for a socket that is closed already
                if client_socket.lost.is_set():
                    return  # another socket has taken over and got the current state
                if message["type"] == "websocket.disconnect":
                    client_socket.left = client_socket.left_on_purpose(message)
                    return
                began_s = loop.time()
                text, cost = message.get("text"), 0
                size = len(message.get("bytes") or b"") if text is None else utf8_bytes(text)
                refused = _BINARY if text is None else refusal(text, size, self.max_message_bytes)
                if refused is not None:
                    realtime_session.realtime.report(refused)
                    cost = size
                    if (problem := refusals.problem(size, began_s)) is not None:
                        await self._expel(problem)
                        return
                elif text is not None and not await realtime_session.receive(text, pacer):  # audio has its own pace
                    cost = cost_of(text, size)
                worked_s = loop.time() - began_s
                cost += await client_socket.answered() // ANSWER_SHARE
                if (wait_s := budget.wait_s(cost, loop.time())) > 0:
                    self.metrics.throttled(wait_s)
                    held_back(client_socket.socket.scope)
                    await client_socket.rest(wait_s)
                elif cost > COSTLY_BYTES:
                    await asyncio.sleep(0)
                if not self.backlog.empty:
                    await self.share.pause(worked_s)
                    await _room_in(self.backlog, client_socket)
                    if has_hung_up(client_socket.socket.scope):
                        client_socket.left = await _said_goodbye(client_socket)
                        return
        finally:
            client_socket.lost.set()

    async def _expel(self, problem: str) -> None:
        """Lets the connection be closed with a reason."""
        self.client_socket.expelled, self.client_socket.farewell = True, problem
        await self.client_socket.answered()
        await self.client_socket.flush()


async def _said_goodbye(client_socket: ClientSocket) -> bool:
    """Returns whether a client that has hung up sent a close frame, which may follow unread messages."""
    with suppress(TimeoutError, WebSocketDisconnect, RuntimeError):
        async with asyncio.timeout(GOODBYE_S):
            for _ in range(GOODBYE_WITHIN):
                message = await client_socket.receive()
                if message["type"] == "websocket.disconnect":
                    return client_socket.left_on_purpose(message)
    return False


async def _room_in(backlog: AudioBacklog, client_socket: ClientSocket) -> None:
    """Waits while the backlog is full, unless the client leaves."""
    while backlog.full and await client_socket.rest(FULL_LOOK_S) and not has_hung_up(client_socket.socket.scope):
        pass
