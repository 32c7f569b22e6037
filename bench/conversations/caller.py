"""A Realtime client that speaks recordings as a microphone would, and listens to the replies.

Its microphone never stops. It sends blocks of 20 ms in real time; each block leaves when its last sample would have
been captured. Between clips it sends the room noise of the last clip.
"""

import asyncio
import base64
import json
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from types import MappingProxyType

import orjson
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from audio.units import REPLY_RATE_HZ, Pcm, s_of_reply_samples
from bench.conversations.microphone import MicrophoneSource
from bench.conversations.recordings import Recording, room_of
from bench.conversations.reply_listener import ReplyListener

CHUNK = REPLY_RATE_HZ // 50

TICK_S = 0.02
"""Poll interval of waits, in seconds. A server event ends a wait at once."""

CONNECT_TIMEOUT_S = 30.0

SILENT_WITHIN_S = 60.0
"""Timeout for a reply to end, in seconds."""


class CallLostError(Exception):
    """The server closed the connection, or a reply never ended."""


@dataclass(slots=True)
class Caller:
    """One connection. Times are in event loop seconds.

    Attributes:
        microphone: Queue of what is said next.
        listener: What was heard.
        began_s: When the first sample was captured.
        late_ms: Delay of each block that was sent. Shows whether this machine kept up.
        is_muted: Whether nothing is sent, as by a satellite that waits for its own wake word.
    """

    socket: ClientConnection
    microphone: MicrophoneSource
    listener: ReplyListener = field(default_factory=ReplyListener)
    began_s: float = 0.0
    late_ms: list[float] = field(default_factory=list)
    is_muted: bool = False
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    def say(self, recording: Recording, pcm: Pcm | None = None) -> tuple[float, float]:
        """Queues a clip, or a part of it, in its own room noise. Returns when its speech begins and ends."""
        self.microphone.enter(room_of(recording))
        at_s = self.captured_s(self.microphone.say(recording.pcm if pcm is None else pcm))
        return at_s + recording.start_s, at_s + recording.end_s

    def captured_s(self, sample: int) -> float:
        """Returns when a sample of the stream is captured."""
        return self.began_s + s_of_reply_samples(sample)

    async def speak(self) -> None:
        """Sends the microphone's sound. Runs until cancelled."""
        loop = asyncio.get_running_loop()
        self.began_s = loop.time()
        while True:
            due_s = self.captured_s(self.microphone.taken + CHUNK)
            await asyncio.sleep(max(0.0, due_s - loop.time()))
            if self.is_muted:
                self.microphone.take(CHUNK)
                continue
            self.late_ms.append((loop.time() - due_s) * 1000)
            sound = base64.b64encode(self.microphone.take(CHUNK).astype("<i2").tobytes())
            await self.socket.send(b'{"type":"input_audio_buffer.append","audio":"%b"}' % sound, text=True)

    async def listen(self) -> None:
        """Receives the server's events. Raises CallLostError if the server closes the connection."""
        loop = asyncio.get_running_loop()
        async for message in self.socket:
            self.listener.receive(loop.time(), orjson.loads(message))
            self._news.set()
        raise CallLostError("the server closed the connection")

    async def until(self, true: Callable[[], bool], by_s: float) -> bool:
        """Waits until `true()` holds, at most until `by_s`. Returns whether it holds."""
        loop = asyncio.get_running_loop()
        while not true():
            now_s = loop.time()
            if now_s >= by_s:
                return False
            self._news.clear()
            try:
                async with asyncio.timeout(min(TICK_S, by_s - now_s)):
                    await self._news.wait()
            except TimeoutError:
                pass
        return True

    async def until_silent(self, gap_s: float) -> None:
        """Waits until `gap_s` after the end of the last reply. Raises CallLostError if a reply never ends."""
        loop = asyncio.get_running_loop()

        def silent() -> bool:
            return not self.listener.answering() and loop.time() >= self.listener.silent_at_s() + gap_s

        if not await self.until(silent, loop.time() + SILENT_WITHIN_S):
            raise CallLostError(f"a reply did not end within {SILENT_WITHIN_S:g} s")

    async def pause_until(self, at_s: float) -> None:
        """Sends only room noise until `at_s`."""
        await asyncio.sleep(max(0.0, at_s - asyncio.get_running_loop().time()))


@asynccontextmanager
async def calling(
    url: str, room: Pcm, extensions: Mapping[str, object] = MappingProxyType({}), *, is_muted: bool = False
) -> AsyncGenerator[Caller]:
    """Opens a client with ducking support whose microphone runs while the block runs. Raises CallLostError, OSError.

    Args:
        url: URL of the server, as ws://host:port/v1/realtime.
        room: Room noise at the client.
        extensions: Further fields of `session.repartee`.
        is_muted: See `Caller`.
    """
    session = {
        "type": "realtime",
        "output_modalities": ["audio"],
        "audio": {"input": {"transcription": {"model": "default"}}},
        "repartee": {"duck": True, **extensions},
    }
    async with connect(
        url,
        compression=None,
        max_size=None,
        max_queue=None,
        open_timeout=CONNECT_TIMEOUT_S,
        close_timeout=2,
        ping_interval=None,  # a server that is late is measured, not left; browsers do not ping either
    ) as socket:
        try:
            await socket.send(json.dumps({"type": "session.update", "session": session}))
        except ConnectionClosed as error:
            raise CallLostError(str(error)) from error
        caller = Caller(socket, MicrophoneSource(room), is_muted=is_muted)
        try:
            async with asyncio.TaskGroup() as hands:
                tasks = [hands.create_task(caller.speak()), hands.create_task(caller.listen())]
                yield caller
                for task in tasks:
                    task.cancel()
        except* ConnectionClosed as errors:
            raise CallLostError(str(errors.exceptions[0])) from errors
        except* CallLostError as errors:
            raise errors.exceptions[0] from None
