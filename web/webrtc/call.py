"""One WebRTC call: connects the client's media and data channel with a session. Needs the extra webrtc (aiortc).

The session sees a WebSocket like any other. So limits, admission and the end of sessions are the same for both.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from fractions import Fraction
from typing import Any

import numpy as np
from aiortc import (
    MediaStreamTrack,
    RTCConfiguration,
    RTCDataChannel,
    RTCPeerConnection,
    RTCRtpReceiver,
    RTCRtpSender,
    RTCSctpTransport,
    RTCSessionDescription,
)
from aiortc.mediastreams import MediaStreamError
from av import Packet
from starlette.types import ASGIApp, Message, Scope

from audio.units import Pcm
from web.webrtc.bridge import FIRST_DELAY_S, CallBridge
from web.webrtc.incoming import IncomingAudio
from web.webrtc.offer import with_redundancy
from web.webrtc.opus import FRAME_MS, FRAME_TICKS, RTP_RATE_HZ, SILENCE, OpusEncoder

CONNECT_TIMEOUT_S = 20.0
"""Time limit for the client to connect, after the answer to its offer."""
ANSWER_TIMEOUT_S = 10.0
CLOSE_TIMEOUT_S = 2.0
FLUSH_TIMEOUT_S = 0.5
"""Time limit for the last events to reach the client."""

MAX_LATE_S = 0.2
"""A sender that is later than this skips frames instead of catching up."""

MAX_WAITING_CHARS = 11_000_000
"""Messages that wait for the session: two minutes of sound. Beyond it the call ends."""
MESSAGE_CHARS = 500
"""Memory of a message besides its text. A client may send many that are empty."""
MAX_UNSENT_CHARS = 8_000_000
"""Events that wait for the data channel. Beyond it the call ends: the client does not read."""
MAX_EVENT_CHARS = 250_000
"""Longest event on the data channel; browsers take 256 KiB."""

MAX_UNFINISHED_BYTES = 256 << 10
"""Parts of messages beyond aiortc's window of 1 MiB, which a client keeps to. Beyond it the call ends."""
MAX_UNFINISHED_PARTS = 4096
MAX_STREAMS = 16
"""Streams of the data connection; each data channel is one. The session has one channel."""

ROUND_TRIP_EVERY_S = 2.0

NORMAL, LOST = 1000, 1006
"""Close codes that the session sees: the client hung up; its connection broke."""

_log = logging.getLogger(__name__)


class Call:
    """A call.

    Attributes:
        call_id: Its id, `rtc_…`.
        settled: Set when the session has begun or was refused.
        bridge: Translates the events.
    """

    def __init__(self, call_id: str, scope: Scope) -> None:
        """Prepares a call; `scope` is that of the WebSocket which the session is shown. Raises OpusMissingError."""
        self.call_id = call_id
        self.settled = asyncio.Event()
        self.bridge = CallBridge()
        self._scope = scope
        self._incoming = IncomingAudio()
        self._encoder = OpusEncoder()
        self._peer = RTCPeerConnection(RTCConfiguration(iceServers=[]))
        self._channel: RTCDataChannel | None = None
        self._sender: RTCRtpSender | None = None
        self._payload_type = -1
        self._waiting: deque[Message] = deque([{"type": "websocket.connect"}])
        self._waiting_chars = 0
        self._changed = asyncio.Event()
        self._connected = asyncio.Event()
        self._over = False
        self._timer: asyncio.TimerHandle | None = None

    # ---- the connection ----

    async def answer(self, offer: str) -> str:
        """Returns the SDP answer to a checked offer. Raises ValueError, TimeoutError."""
        self._peer.on("datachannel", self._on_channel)
        self._peer.on("connectionstatechange", self._on_state)
        try:
            async with asyncio.timeout(ANSWER_TIMEOUT_S):
                await self._peer.setRemoteDescription(RTCSessionDescription(offer, "offer"))
                if self._peer.sctp is not None:
                    limit_unfinished(self._peer.sctp, self._on_excess)
                self._sender = self._peer.addTrack(_ReplyTrack(self._next_packet))
                known = RTCRtpReceiver.getCapabilities("audio")
                codecs = (
                    [] if known is None else [codec for codec in known.codecs if codec.mimeType.lower() == "audio/opus"]
                )
                for transceiver in self._peer.getTransceivers():
                    transceiver.setCodecPreferences(codecs)
                    divert_packets(transceiver.receiver, self._on_packet)
                await self._peer.setLocalDescription(await self._peer.createAnswer())
            answer, self._payload_type = with_redundancy(self._peer.localDescription.sdp)
        except TimeoutError:
            raise
        except Exception as error:  # aiortc raises errors of many kinds for an offer it does not understand
            raise ValueError(f"{type(error).__name__}: {error}") from error
        return answer

    def _on_state(self) -> None:
        state = self._peer.connectionState
        if state == "connected":
            self._connected.set()
        elif state in {"failed", "closed"} and not self._over:
            _log.info("call %s: the connection is %s", self.call_id, state)
            self.hang_up(lost=not self._closed_by_client())

    def _closed_by_client(self) -> bool:
        """Returns whether the client closed the connection (DTLS). False: the network broke."""
        sender = self._sender
        return (
            sender is not None and sender.transport.state == "closed" and sender.transport.transport.state != "failed"
        )

    def hang_up(self, *, lost: bool = False) -> None:
        """Ends the call. Idempotent. If the connection was `lost`, a client that can resume its session may return."""
        if self._over:
            return
        self._over = True
        if lost and self.bridge.resumable:
            self._waiting.append({"type": "websocket.disconnect", "code": LOST})
        else:
            self._waiting.append({"type": "websocket.disconnect", "code": NORMAL, "reason": ""})
        self._changed.set()

    # ---- the session ----

    async def run(self, session: ASGIApp) -> None:
        """Runs the session of the call to its end."""
        try:
            async with asyncio.TaskGroup() as tasks:
                watching = tasks.create_task(self._watch(), name="webrtc watch")
                try:
                    await session(self._scope, self._receive, self._send)
                finally:
                    watching.cancel()
        finally:
            self._over = True
            self.settled.set()
            if self._timer is not None:
                self._timer.cancel()
            await self._flush()
            with suppress(TimeoutError):
                async with asyncio.timeout(CLOSE_TIMEOUT_S):
                    await self._peer.close()

    async def _watch(self) -> None:
        """Ends a call that is never connected. Then measures the round trip."""
        try:
            async with asyncio.timeout(CONNECT_TIMEOUT_S):
                await self._connected.wait()
        except TimeoutError:
            _log.warning("call %s: no connection within %g s (UDP blocked?)", self.call_id, CONNECT_TIMEOUT_S)
            self.hang_up()
            return
        while True:
            await asyncio.sleep(ROUND_TRIP_EVERY_S)
            if self._sender is not None:
                for statistics in (await self._sender.getStats()).values():
                    if (round_trip_s := getattr(statistics, "roundTripTime", None)) is not None:
                        self.bridge.delay_s = FIRST_DELAY_S + min(1.0, max(0.0, round_trip_s)) / 2

    async def _receive(self) -> Message:
        while not self._waiting:
            self._changed.clear()
            await self._changed.wait()
        message = self._waiting.popleft()
        self._waiting_chars -= _size_of(message)
        return message

    async def _send(self, message: Message) -> None:
        if message["type"] == "websocket.send":
            self.bridge.on_event(message["text"])
            if self.bridge.began or self.bridge.refused is not None:
                self.settled.set()
            self._pass_on()
        elif message["type"] == "websocket.close":
            self._over = True

    def _pass_on(self) -> None:
        """Passes on what the bridge has for both sides."""
        to_session, to_client = self.bridge.to_session, self.bridge.to_client
        while to_session:
            text = to_session.popleft()
            if not self._over:
                self._wait({"type": "websocket.receive", "text": text})
        channel = self._channel
        while to_client and channel is not None and channel.readyState == "open":
            self._tell(channel, to_client.popleft())
        unsent = sum(map(len, to_client)) + (0 if channel is None else channel.bufferedAmount)
        if self._waiting_chars > MAX_WAITING_CHARS or unsent > MAX_UNSENT_CHARS:
            _log.warning("call %s was ended: %s", self.call_id, "its client does not read, or sends too fast")
            self.hang_up()

    def _wait(self, message: Message) -> None:
        """Adds a message for the session."""
        self._waiting.append(message)
        self._waiting_chars += _size_of(message)
        self._changed.set()

    def _tell(self, channel: RTCDataChannel, text: str) -> None:
        """Sends an event. For one that is longer than the channel or the client takes, an error is sent."""
        with suppress(ValueError):
            if len(text) <= MAX_EVENT_CHARS:
                channel.send(text)
                return
        with suppress(ValueError):
            channel.send(self.bridge.too_long(text))

    async def _flush(self) -> None:
        """Waits for the last events to leave."""
        channel = self._channel
        if channel is None or channel.readyState != "open":
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(FLUSH_TIMEOUT_S):
                while channel.bufferedAmount and channel.readyState == "open":  # noqa: ASYNC110
                    await asyncio.sleep(0.01)

    # ---- the client's events ----

    def _on_channel(self, channel: RTCDataChannel) -> None:
        if self._channel is not None:
            return  # there is one, `oai-events`
        self._channel = channel
        channel.on("message", self._on_message)
        self._pass_on()

    def _on_message(self, message: object) -> None:
        if self._over:
            return
        if isinstance(message, str):
            self.bridge.on_message(message)
            self._pass_on()
        elif isinstance(message, bytes):  # answered as over a WebSocket
            self._wait({"type": "websocket.receive", "bytes": message})
            self._pass_on()

    def _on_excess(self) -> None:
        if not self._over:
            _log.warning("call %s was ended: its client sends messages without an end", self.call_id)
            self.hang_up()

    # ---- sound ----

    def _on_packet(self, payload_type: int, sequence: int, timestamp: int, payload: bytes) -> None:
        if payload_type != self._payload_type or self._over:
            return
        now_s = asyncio.get_running_loop().time()
        self._heard(self._incoming.push_packet(sequence, timestamp, payload, now_s))

    def _on_time(self) -> None:
        self._timer = None
        self._heard(self._incoming.on_time(asyncio.get_running_loop().time()))

    def _heard(self, blocks: list[Pcm]) -> None:
        if blocks:
            self.bridge.on_sound(blocks[0] if len(blocks) == 1 else np.concatenate(blocks))
            self._pass_on()
        due_s = self._incoming.buffer.due_s
        if due_s is not None and self._timer is None and not self._over:
            self._timer = asyncio.get_running_loop().call_at(due_s, self._on_time)

    def _next_packet(self, now_s: float) -> bytes:
        """Returns the packet to send now."""
        frame = None if self._over else self.bridge.next_frame(now_s)
        if self.bridge.to_session or self.bridge.to_client:
            self._pass_on()
        return SILENCE if frame is None else self._encoder.encode(frame)


def _size_of(message: Message) -> int:
    return MESSAGE_CHARS + len(message.get("text") or message.get("bytes") or "")


class _ReplyTrack(MediaStreamTrack):
    """The track of the replies: a packet every 20 ms, silence included, so that clients keep their pace."""

    kind = "audio"

    def __init__(self, next_packet: Callable[[float], bytes]) -> None:
        super().__init__()
        self._next_packet = next_packet
        self._began_s: float | None = None
        self._frames = 0

    async def recv(self) -> Any:
        """Returns the next packet when it is due."""
        if self.readyState != "live":
            raise MediaStreamError
        loop = asyncio.get_running_loop()
        if self._began_s is None:
            self._began_s = loop.time()
        due_s = self._began_s + self._frames * FRAME_MS / 1000
        late_s = loop.time() - due_s
        if late_s < 0:
            await asyncio.sleep(-late_s)
        elif late_s > MAX_LATE_S:
            self._frames += int(late_s * 1000 / FRAME_MS)
        packet = Packet(self._next_packet(loop.time()))
        packet.pts, packet.time_base = self._frames * FRAME_TICKS, Fraction(1, RTP_RATE_HZ)
        self._frames += 1
        return packet


def divert_packets(receiver: RTCRtpReceiver, on_packet: Callable[[int, int, int, bytes], None]) -> None:
    """Passes a receiver's packets to `on_packet`, in place of aiortc's decoder.

    aiortc waits for 80 ms of sound, gives up nothing that is lost, and decodes in a thread for each call. It goes on to
    count the packets for its reports to the client.
    """
    handle: Callable[..., Awaitable[None]] = receiver._handle_rtp_packet
    stop_decoder: Callable[[], None] = receiver._RTCRtpReceiver__stop_decoder  # type: ignore[attr-defined]
    stopped = False

    async def diverted(packet: Any, arrival_time_ms: int) -> None:
        nonlocal stopped
        if not stopped:
            stopped = True
            stop_decoder()
        await handle(packet, arrival_time_ms)
        on_packet(packet.payload_type, packet.sequence_number, packet.timestamp, packet.payload)

    receiver._handle_rtp_packet = diverted  # type: ignore[method-assign]


def limit_unfinished(transport: RTCSctpTransport, on_excess: Callable[[], None]) -> None:
    """Calls `on_excess` and drops what follows, when a client has sent too many parts of unfinished messages.

    aiortc advertises a window, but keeps what a client sends beyond it, and every part of a message without an end.
    """
    receive: Callable[[Any], Awaitable[None]] = transport._receive_data_chunk

    async def limited(chunk: Any) -> None:
        streams = transport._inbound_streams
        parts = sum(len(stream.reassembly) for stream in streams.values())
        is_new = chunk.stream_id not in streams
        if (
            transport._advertised_rwnd < -MAX_UNFINISHED_BYTES
            or parts >= MAX_UNFINISHED_PARTS
            or (is_new and len(streams) >= MAX_STREAMS)
        ):
            on_excess()
        else:
            await receive(chunk)

    transport._receive_data_chunk = limited  # type: ignore[method-assign]
