"""A client that says recordings by WebSocket or by WebRTC (aiortc), and notes what it hears."""

import asyncio
import base64
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import httpx
import numpy as np
from aiortc import MediaStreamTrack, RTCConfiguration, RTCPeerConnection, RTCSessionDescription
from av import AudioFrame
from websockets.asyncio.client import ClientConnection, connect

from audio.level import OnsetFinder
from audio.units import REPLY_RATE_HZ, Pcm
from bench.conversations.reply_listener import ReplyListener
from web.webrtc.call import divert_packets
from web.webrtc.incoming import IncomingAudio

FRAME = REPLY_RATE_HZ // 50
SESSION = {"type": "realtime", "audio": {"input": {"transcription": {"model": "default"}}}}
CONNECT_TIMEOUT_S = 30.0
PLAYS_AFTER_S = 0.06
"""Delay of a client's jitter buffer; browsers adapt theirs."""
QUIET = 100
TRANSCRIBED = "conversation.item.input_audio_transcription.completed"


@dataclass(slots=True)
class Microphone:
    """The sound to be said, as frames of 20 ms; silence otherwise."""

    pcm: Pcm = field(default_factory=lambda: np.zeros(0, np.int16))
    began_s: float = 0.0

    def frame(self, now_s: float) -> Pcm:
        """Returns the frame that was captured just before `now_s`."""
        position = round((now_s - self.began_s) * 50) * FRAME
        part = self.pcm[position : position + FRAME] if position >= 0 else self.pcm[:0]
        return np.concatenate([part, np.zeros(FRAME - len(part), np.int16)])


class NotConnectedError(Exception):
    """A call was refused. The text says why, in one line."""


@dataclass(slots=True)
class Heard:
    """Sound and events that a client has received.

    Attributes:
        events: (time, event), without sound.
        onsets_s: When sound became audible.
    """

    events: list[tuple[float, dict[str, Any]]] = field(default_factory=list)
    onsets_s: list[float] = field(default_factory=list)

    def transcribed(self, first: int) -> bool:
        """Returns whether each turn that was committed has its words, and there is one; from an event on."""
        kinds = [event["type"] for _, event in self.events[first:]]
        committed, words = kinds.count("input_audio_buffer.committed"), kinds.count(TRANSCRIBED)
        return words >= max(1, committed)

    def answered(self, before: int, since_s: float) -> bool:
        """Returns whether sound became audible after a time; the first `before` onsets do not count."""
        return any(at_s > since_s for at_s in self.onsets_s[before:])


class _Track(MediaStreamTrack):
    kind = "audio"

    def __init__(self, microphone: Microphone) -> None:
        super().__init__()
        self._microphone = microphone
        self._began_s: float | None = None
        self._frames = 0

    async def recv(self) -> AudioFrame:
        loop = asyncio.get_running_loop()
        if self._began_s is None:
            self._began_s = loop.time()
        due_s = self._began_s + self._frames * 0.02
        await asyncio.sleep(max(0.0, due_s - loop.time()))
        pcm = self._microphone.frame(due_s - 0.02)
        frame = AudioFrame.from_ndarray(pcm.reshape(1, -1), format="s16", layout="mono")
        frame.sample_rate, frame.time_base = REPLY_RATE_HZ, Fraction(1, REPLY_RATE_HZ)
        frame.pts = self._frames * FRAME
        self._frames += 1
        return frame


@asynccontextmanager
async def by_webrtc(host: str, microphone: Microphone) -> AsyncGenerator[Heard]:
    """Connects by WebRTC; `host`: with the port."""
    heard, peer, loop = Heard(), RTCPeerConnection(RTCConfiguration(iceServers=[])), asyncio.get_running_loop()
    peer.addTrack(_Track(microphone))
    channel = peer.createDataChannel("oai-events")
    begun = asyncio.Event()

    def on_message(text: str) -> None:
        heard.events.append((loop.time(), json.loads(text)))
        begun.set()

    channel.on("message", on_message)
    divert_packets(peer.getTransceivers()[0].receiver, _Ear(heard).on_packet)
    try:
        await peer.setLocalDescription(await peer.createOffer())
        async with httpx.AsyncClient(timeout=CONNECT_TIMEOUT_S, trust_env=False) as http:
            files = {"sdp": (None, peer.localDescription.sdp), "session": (None, json.dumps(SESSION))}
            answer = await http.post(f"http://{host}/v1/realtime/calls", files=files)
        if answer.is_error:
            raise NotConnectedError(
                f"the server answered the offer with HTTP {answer.status_code}: {answer.text[:200]}"
            )
        await peer.setRemoteDescription(RTCSessionDescription(answer.text, "answer"))
        async with asyncio.timeout(CONNECT_TIMEOUT_S):
            await begun.wait()
        yield heard
    finally:
        await peer.close()


class _Ear:
    """Notes each onset after 300 ms of silence. Sound plays a fixed time after it came, as from a jitter buffer."""

    def __init__(self, heard: Heard) -> None:
        self._heard = heard
        self._audio = IncomingAudio()
        self._finder = OnsetFinder(REPLY_RATE_HZ)
        self._has_onset, self._samples, self._quiet_ms, self._base_s = False, 0, 0.0, 0.0

    def on_packet(self, _payload_type: int, sequence: int, timestamp: int, payload: bytes) -> None:
        """Takes a packet as it comes."""
        now_s = asyncio.get_running_loop().time()
        for pcm in self._audio.push_packet(sequence, timestamp, payload, now_s):
            if not self._samples:
                self._base_s = now_s + PLAYS_AFTER_S
            onset = None if self._has_onset else self._finder.feed(pcm)
            self._samples += len(pcm)
            if onset is not None:
                self._has_onset = True
                self._heard.onsets_s.append(self._base_s + onset / REPLY_RATE_HZ)
            self._quiet_ms = 0.0 if np.abs(pcm).max() > QUIET else self._quiet_ms + len(pcm) / 24
            if self._quiet_ms >= 300:
                self._restart()

    def _restart(self) -> None:
        self._finder, self._has_onset, self._samples = OnsetFinder(REPLY_RATE_HZ), False, 0
        self._quiet_ms = self._base_s = 0.0


@asynccontextmanager
async def by_websocket(host: str, microphone: Microphone) -> AsyncGenerator[Heard]:
    """Connects by WebSocket; sends blocks of 20 ms."""
    heard, listener, loop = Heard(), ReplyListener(), asyncio.get_running_loop()

    async def listen(socket: ClientConnection) -> None:
        noted: set[str] = set()
        async for message in socket:
            event = json.loads(message)
            listener.receive(loop.time(), event)
            if event["type"] != "response.output_audio.delta":
                heard.events.append((loop.time(), event))
            for reply in listener.replies:
                if reply.audible_s is not None and reply.id not in noted:
                    noted.add(reply.id)
                    heard.onsets_s.append(reply.audible_s)

    async def speak(socket: ClientConnection) -> None:
        began_s, frames = loop.time(), 0
        while True:
            due_s = began_s + frames * 0.02
            await asyncio.sleep(max(0.0, due_s - loop.time()))
            sound = base64.b64encode(microphone.frame(due_s - 0.02).astype("<i2").tobytes()).decode()
            await socket.send(json.dumps({"type": "input_audio_buffer.append", "audio": sound}))
            frames += 1

    address = f"ws://{host}/v1/realtime"
    async with connect(address, compression=None, max_size=None, open_timeout=CONNECT_TIMEOUT_S) as socket:
        await socket.send(json.dumps({"type": "session.update", "session": SESSION}))
        tasks = [asyncio.create_task(listen(socket)), asyncio.create_task(speak(socket))]
        try:
            yield heard
        finally:
            for task in tasks:
                task.cancel()
