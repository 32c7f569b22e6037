"""A WebRTC client by aiortc: speaks, hears, and exchanges events as OpenAI's browser clients do."""

import asyncio
import json
import socket
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import httpx
import numpy as np
from aiortc import MediaStreamTrack, RTCConfiguration, RTCDataChannel, RTCPeerConnection, RTCSessionDescription
from aiortc.mediastreams import MediaStreamError
from av import AudioFrame

from audio.units import REPLY_RATE_HZ, Pcm

FRAME = 480
"""Samples of 20 ms at 24 kHz."""
LOUD = 200

Event = dict[str, Any]


class Microphone(MediaStreamTrack):
    """A track that plays what it is given, and silence otherwise, in real time."""

    kind = "audio"

    def __init__(self) -> None:
        super().__init__()
        self.waiting: deque[Pcm] = deque()
        self._began_s: float | None = None
        self._frames = 0

    def say(self, pcm: Pcm) -> None:
        padded = np.concatenate([pcm, np.zeros(-len(pcm) % FRAME, np.int16)])
        self.waiting.extend(padded.reshape(-1, FRAME))

    async def recv(self) -> AudioFrame:
        loop = asyncio.get_running_loop()
        if self._began_s is None:
            self._began_s = loop.time()
        await asyncio.sleep(max(0.0, self._began_s + self._frames * 0.02 - loop.time()))
        pcm = self.waiting.popleft() if self.waiting else np.zeros(FRAME, np.int16)
        frame = AudioFrame.from_ndarray(pcm.reshape(1, -1), format="s16", layout="mono")
        frame.sample_rate, frame.pts, frame.time_base = (
            REPLY_RATE_HZ,
            self._frames * FRAME,
            Fraction(1, REPLY_RATE_HZ),
        )
        self._frames += 1
        return frame


def has_network() -> bool:
    """Returns whether this machine has an address besides loopback, which WebRTC does not use."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        try:
            one.connect(("192.0.2.1", 9))
        except OSError:
            return False
        return not one.getsockname()[0].startswith("127.")


@dataclass
class WebRtcCaller:
    """One call.

    Attributes:
        location: The path of the call.
        events: What came on the data channel, in order.
        at_s: Loop time at which each of them came.
        loud_at_s: Loop times at which a loud frame came.
    """

    peer: RTCPeerConnection
    microphone: Microphone
    channel: RTCDataChannel
    location: str = ""
    events: list[Event] = field(default_factory=list)
    at_s: list[float] = field(default_factory=list)
    loud_at_s: list[float] = field(default_factory=list)

    def send(self, kind: str, **fields: Any) -> None:
        self.channel.send(json.dumps({"type": kind, **fields}))

    def of(self, kind: str) -> list[Event]:
        return [event for event in self.events if event["type"] == kind]

    def when(self, kind: str) -> float:
        """Returns when the last event of this type came."""
        return next(
            at_s for event, at_s in zip(self.events[::-1], self.at_s[::-1], strict=True) if event["type"] == kind
        )

    async def until(self, kind: str, count: int = 1, *, within_s: float = 20.0) -> Event:
        async with asyncio.timeout(within_s):
            while len(found := self.of(kind)) < count:  # noqa: ASYNC110 - a test
                await asyncio.sleep(0.005)
        return found[count - 1]

    def request_reply(self, text: str) -> None:
        message = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
        self.send("conversation.item.create", item=message)
        self.send("response.create")

    async def listen(self, track: MediaStreamTrack) -> None:
        try:
            while True:
                frame = await track.recv()
                assert isinstance(frame, AudioFrame)
                if np.abs(frame.to_ndarray()).max() > LOUD:
                    self.loud_at_s.append(asyncio.get_running_loop().time())
        except MediaStreamError:
            pass


async def offered() -> WebRtcCaller:
    """Makes a client with an offer."""
    peer, microphone = RTCPeerConnection(RTCConfiguration(iceServers=[])), Microphone()
    peer.addTrack(microphone)
    caller = WebRtcCaller(peer, microphone, peer.createDataChannel("oai-events"))

    def on_message(text: str) -> None:
        caller.events.append(json.loads(text))
        caller.at_s.append(asyncio.get_running_loop().time())

    caller.channel.on("message", on_message)
    await peer.setLocalDescription(await peer.createOffer())
    return caller


@asynccontextmanager
async def in_call(
    port: int, *, token: str = "", session: Event | None = None, query: str = "", host: str = "127.0.0.1"
) -> AsyncGenerator[WebRtcCaller]:
    """Calls the server; the call is connected while the block runs."""
    caller = await offered()
    async with asyncio.TaskGroup() as tasks:
        listening: list[asyncio.Task[None]] = []
        caller.peer.on("track", lambda track: listening.append(tasks.create_task(caller.listen(track))))
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        sdp, url = caller.peer.localDescription.sdp, f"http://{host}:{port}/v1/realtime/calls{query}"
        try:
            async with httpx.AsyncClient(headers=headers, timeout=30) as http:
                if session is None:
                    response = await http.post(url, content=sdp, headers={"Content-Type": "application/sdp"})
                else:
                    files = {
                        "sdp": (None, sdp, "application/sdp"),
                        "session": (None, json.dumps(session), "application/json"),
                    }
                    response = await http.post(url, files=files)
            if response.status_code != 201:
                raise RuntimeError(f"{response.status_code} {response.text}")
            caller.location = response.headers["Location"]
            await caller.peer.setRemoteDescription(RTCSessionDescription(response.text, "answer"))
            await caller.until("session.created")
            yield caller
        finally:
            await caller.peer.close()
            for one in listening:
                one.cancel()
