"""Scripted sound cards in virtual time: opened streams, and the callbacks of their threads."""

import asyncio
from collections.abc import Callable
from typing import Any

import numpy as np

from audio.card.stream import CardStream, L, Make, Opened, StreamCallback, StreamRequest
from audio.device import Device, pick
from audio.errors import DeviceError
from audio.units import Pcm

BLOCK_MS = 10


def device(
    name: str, *, host_api: str = "Windows WASAPI", default: bool = False, rate_hz: int = 48_000, index: int = 0
) -> Device:
    return Device(index, name, host_api, 2, 2, rate_hz, 0.01, 0.01, default, default)


class FakeLibrary:
    """Implements `CardLibrary`.

    Attributes:
        devices: Connected devices.
        seen: Devices found by scanning, if different.
        refusing: Error for attempts to open a stream, if any.
        opens: All attempts to open a stream.
        streams: Open streams.
        takes_s: Duration of opening a stream.
        most_ms: Largest accepted buffer.
    """

    def __init__(self, *devices: Device) -> None:
        self.devices = devices or (device("desk", default=True),)
        self.seen: tuple[Device, ...] | None = None
        self.refusing: DeviceError | None = None
        self.opens: list[StreamRequest] = []
        self.streams: list[CardStream[Any]] = []
        self.takes_s = 0.0
        self.most_ms = 200.0

    def open(self, wish: StreamRequest, make: Make[L]) -> "asyncio.Future[CardStream[L]]":
        self.opens.append(wish)

        def opened() -> CardStream[L]:
            if self.refusing is not None:
                raise self.refusing
            there = pick(self.devices, wish.device_name, wish.direction)
            what = Opened(
                there.name,
                there.host_api,
                there.default_rate_hz,
                BLOCK_MS,
                max(20.0, min(wish.buffer_ms, self.most_ms)),
            )
            stream = CardStream(what, there, make(what, 1), None)
            self.streams.append(stream)
            return stream

        return self._later(opened)

    def close(self, stream: CardStream[L]) -> "asyncio.Future[None]":
        def closed() -> None:
            self.streams.remove(stream)

        return self._later(closed)

    def look(self) -> "asyncio.Future[tuple[Device, ...]]":
        return self._later(lambda: self.devices if self.seen is None else self.seen)

    def unplug(self) -> None:
        """Ends all streams and removes all devices."""
        self.devices = ()
        for stream in self.streams:
            stream.lane.ended()

    def _later(self, job: Callable[[], Any]) -> "asyncio.Future[Any]":
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()

        def answer() -> None:
            if future.cancelled():
                return
            try:
                future.set_result(job())
            except DeviceError as error:
                future.set_exception(error)

        loop.call_later(self.takes_s, answer)
        return future


async def run_card(library: FakeLibrary, tell: Callable[[StreamCallback, int, float], None]) -> None:
    """Runs the clock of all cards: calls each open stream's callback every 10 ms, until cancelled."""
    loop = asyncio.get_running_loop()
    tick = loop.time()
    while True:
        tick += BLOCK_MS / 1000
        await asyncio.sleep(tick - loop.time())
        for stream in library.streams:
            if not stream.lane.finished:
                tell(stream.lane, stream.opened.rate_hz * BLOCK_MS // 1000, loop.time())


def capture(sound: Callable[[int], Pcm], age_s: float = 0.0) -> Callable[[StreamCallback, int, float], None]:
    """Returns a microphone: blocks of `sound(frames)` whose last sample was captured `age_s` ago."""

    def tell(lane: StreamCallback, frames: int, now_s: float) -> None:
        lane.block(sound(frames).tobytes(), frames, now_s, now_s - age_s - BLOCK_MS / 1000, flagged=False)

    return tell


def playback(
    heard: Callable[[Pcm, float], None], latency_s: float = 0.03
) -> Callable[[StreamCallback, int, float], None]:
    """Returns a loudspeaker: passes on what is played, with the time at which it leaves."""

    def tell(lane: StreamCallback, frames: int, now_s: float) -> None:
        data = np.zeros(frames, np.int16)
        lane.block(data.data, frames, now_s, now_s + latency_s, flagged=False)
        heard(data, now_s + latency_s)

    return tell
