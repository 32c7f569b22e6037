"""A simulated telephone provider: plays sound to the server in 20 ms mu-law frames, and plays back what it is sent.

Audio from the server is queued and played in real time. A mark comes back when everything before it was played, or at
once when the queue is cleared: the framing of Twilio Media Streams.
"""

import asyncio
import base64
import json
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from audio.formats import g711
from audio.resample import StreamResampler
from audio.units import REPLY_RATE_HZ, Pcm

FRAME_S = 0.02
FRAME_BYTES = 160
FORMAT = {"encoding": "audio/x-mulaw", "sampleRate": 8000, "channels": 1}
STREAM, CALL, ACCOUNT = "MZ0123456789abcdef", "CA0123456789abcdef", "AC0123456789abcdef"
NUMBER = "+15550100"

_SILENCE = bytes([0xFF]) * FRAME_BYTES

CONNECTED = '{"event":"connected","protocol":"Call","version":"1.0.0"}'
KEPT_S = 0.5
"""A call that lasts so long without an answer is not refused."""

Event = dict[str, Any]


def start_message(token: object = None) -> str:
    """Returns the message that begins a call."""
    custom = {"from": NUMBER} | ({} if token is None else {"token": token})
    start = {"streamSid": "MZ1", "callSid": CALL, "mediaFormat": FORMAT, "customParameters": custom}
    return json.dumps({"event": "start", "start": start})


async def close_code(port: int, *messages: str, query: str = "", token: str = "") -> int:
    """Returns the close code after these messages; 0 if the server keeps the call. `token`: in the header."""
    headers = {"Authorization": f"Bearer {token}"} if token else None
    url = f"ws://127.0.0.1:{port}/v1/phone{query}"
    async with connect(url, additional_headers=headers, compression=None, proxy=None) as socket:
        try:
            for message in messages:
                await socket.send(message)
            async with asyncio.timeout(KEPT_S):
                while True:
                    await socket.recv()
        except ConnectionClosed:
            return socket.close_code or 0
        except TimeoutError:
            return 0


def telephone(pcm: Pcm) -> bytes:
    """Returns sound of 24 kHz as mu-law at 8 kHz."""
    narrow = StreamResampler(REPLY_RATE_HZ, 8000)
    return g711.encode_ulaw(np.concatenate([narrow.push_samples(pcm), narrow.flush()]))


@dataclass
class PhoneCaller:
    """One call.

    Attributes:
        events: What the server sent, in order.
        at_s: Loop time at which each of them arrived.
        heard: Audio that was played to the caller, as mu-law.
        late_s: How late the caller's own audio was at most.
    """

    socket: ClientConnection
    stream: str = STREAM
    call: str = CALL
    events: list[Event] = field(default_factory=list)
    at_s: list[float] = field(default_factory=list)
    heard: bytearray = field(default_factory=bytearray)
    late_s: float = 0.0
    _to_say: deque[bytes] = field(default_factory=deque)
    _buffer: deque[bytes | str] = field(default_factory=deque)  # audio, and names of marks
    _sequence: int = 0
    _frames: int = 0

    async def send(self, event: str, **fields: object) -> None:
        self._sequence += 1
        message = {"event": event, "sequenceNumber": str(self._sequence), "streamSid": self.stream, **fields}
        await self.socket.send(json.dumps(message))

    async def start(self, token: str | None = None, **changes: object) -> None:
        await self.socket.send(CONNECTED)
        start = {
            "streamSid": self.stream,
            "accountSid": ACCOUNT,
            "callSid": self.call,
            "tracks": ["inbound"],
            "mediaFormat": FORMAT,
            "customParameters": {"from": NUMBER} | ({} if token is None else {"token": token}),
        }
        await self.send("start", start=start | changes)

    async def media(self, ulaw: bytes) -> None:
        self._frames += 1
        payload = base64.b64encode(ulaw).decode()
        chunk, timestamp = str(self._frames), str(self._frames * 20)
        await self.send("media", media={"track": "inbound", "chunk": chunk, "timestamp": timestamp, "payload": payload})

    async def press(self, keys: str) -> None:
        for key in keys:
            await self.send("dtmf", dtmf={"track": "inbound_track", "digit": key})

    async def stop(self) -> None:
        await self.send("stop", stop={"accountSid": ACCOUNT, "callSid": self.call})

    def say(self, pcm: Pcm) -> None:
        """Says this sound of 24 kHz from now on, in real time."""
        ulaw = telephone(pcm)
        self._to_say += [ulaw[at : at + FRAME_BYTES] for at in range(0, len(ulaw) - FRAME_BYTES + 1, FRAME_BYTES)]

    async def line(self) -> None:
        """Sends the caller's audio and plays the server's, frame by frame in real time, until the server hangs up."""
        loop = asyncio.get_running_loop()
        due_s = loop.time()
        while True:
            try:
                await self.media(self._to_say.popleft() if self._to_say else _SILENCE)
                await self._play(FRAME_BYTES)
            except ConnectionClosed:
                return
            due_s += FRAME_S
            await asyncio.sleep(max(0.0, due_s - loop.time()))
            self.late_s = max(self.late_s, loop.time() - due_s)

    async def _play(self, count: int) -> None:
        while self._buffer and (count or isinstance(self._buffer[0], str)):
            first = self._buffer.popleft()
            if isinstance(first, str):
                await self.send("mark", mark={"name": first})
                continue
            self.heard += first[:count]
            if len(first) > count:
                self._buffer.appendleft(first[count:])
            count = max(0, count - len(first))

    async def listen(self) -> None:
        """Receives the server's messages until the connection is closed."""
        with suppress(ConnectionClosed):
            async for text in self.socket:
                await self._take(json.loads(text))

    async def _take(self, event: Event) -> None:
        self.events.append(event)
        self.at_s.append(asyncio.get_running_loop().time())
        assert event["streamSid"] == self.stream
        match event["event"]:
            case "media":
                self._buffer.append(base64.b64decode(event["media"]["payload"]))
            case "mark" if self._buffer:
                self._buffer.append(event["mark"]["name"])
            case "mark":  # nothing is queued before it
                await self.send("mark", mark=event["mark"])
            case "clear":
                names = [one for one in self._buffer if isinstance(one, str)]
                self._buffer.clear()
                for name in names:
                    await self.send("mark", mark={"name": name})
            case other:
                raise AssertionError(f"the provider does not know {other}")

    @property
    def unplayed_ms(self) -> float:
        return sum(len(one) for one in self._buffer if isinstance(one, bytes)) / 8

    @property
    def heard_ms(self) -> float:
        return len(self.heard) / 8

    def count(self, event: str) -> int:
        return sum(one["event"] == event for one in self.events)

    async def until(self, true: Callable[[], bool], within_s: float = 30.0) -> None:
        async with asyncio.timeout(within_s):
            while not true():  # noqa: ASYNC110 - the call has no event for it
                await asyncio.sleep(0.01)


@asynccontextmanager
async def calling(
    port: int, *, token: str | None = None, stream: str = STREAM, call: str = CALL
) -> AsyncGenerator[PhoneCaller]:
    """Calls the server: the caller's line is open while the block runs."""
    async with connect(f"ws://127.0.0.1:{port}/v1/phone", compression=None, max_queue=None) as socket:
        caller = PhoneCaller(socket, stream, call)
        await caller.start(token)
        async with asyncio.TaskGroup() as tasks:
            work = [tasks.create_task(caller.line()), tasks.create_task(caller.listen())]
            yield caller
            for task in work:
                task.cancel()
