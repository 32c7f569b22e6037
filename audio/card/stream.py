"""Interfaces of a sound card's stream: the callback in its thread, and the library that opens and closes it."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from audio.device import Device, Direction


@dataclass(frozen=True, slots=True)
class Opened:
    """The parameters of an open stream, for the screen.

    Attributes:
        device: Name of the device.
        host_api: Host API through which it is reached.
        rate_hz: Sample rate of the stream.
        block_ms: Interval of the callback, in milliseconds.
        latency_ms: Reported buffer length, in milliseconds.
    """

    device: str
    host_api: str
    rate_hz: int
    block_ms: float
    latency_ms: float


class StreamCallback(Protocol):
    """The callback of a stream. Both methods are called in the card's own thread: they copy and signal.

    Attributes:
        last_s: Loop time of the last block; 0.0 before the first.
        finished: No more blocks will come.
    """

    last_s: float
    finished: bool

    # The library's buffer has no type: bytes of int16, interleaved, valid during the call.
    def block(self, data: Any, frames: int, card_s: float, first_s: float, *, flagged: bool) -> None:
        """Processes one block: reads the captured audio or fills the buffer.

        Args:
            data: The buffer.
            frames: Samples per channel.
            card_s: The card's current time. Some host APIs give 0 or an invalid time.
            first_s: Time at which the first sample was captured or will be played, on the card's clock. It is as
                unreliable as `card_s`.
            flagged: The card reports that samples were lost or missing before this block.
        """
        ...

    def ended(self) -> None:
        """Notes that the stream has ended, for whatever reason."""
        ...


L = TypeVar("L", bound=StreamCallback)

Make = Callable[[Opened, int], L]
"""Creates a callback for a stream with this number of channels, before its first block."""


@dataclass(slots=True)
class CardStream(Generic[L]):
    """An open stream.

    Attributes:
        opened: Its parameters.
        device: The device as listed when it was opened.
        lane: Its callback.
        handle: The library's handle.
        interrupted: The library ended it to list new devices: open it again.
    """

    opened: Opened
    device: Device
    lane: L
    handle: Any  # sounddevice has no types
    interrupted: bool = False


@dataclass(frozen=True, slots=True)
class StreamRequest:
    """A request to open a stream.

    Attributes:
        direction: Input or output.
        device_name: See `pick`.
        rate_hz: Preferred rate; `Opened` has the actual one.
        fresh: Whether to list the devices again first.
        buffer_ms: Minimum buffer length, in milliseconds, if more than usual for the device.
    """

    direction: Direction
    device_name: str
    rate_hz: int
    fresh: bool = False
    buffer_ms: float = 0.0


class CardLibrary(Protocol):
    """Opens streams. Every future completes within a few seconds, at worst with a DeviceError."""

    def open(self, wish: StreamRequest, make: Make[L]) -> "asyncio.Future[CardStream[L]]":
        """Opens and starts a stream. If the future was cancelled meanwhile, the stream is closed again."""
        ...

    def close(self, stream: CardStream[L]) -> "asyncio.Future[None]":
        """Ends a stream at once; audio not yet played is dropped."""
        ...

    def look(self) -> "asyncio.Future[tuple[Device, ...]]":
        """Returns the current devices without disturbing open streams."""
        ...


class LoopWaker:
    """Wakes the event loop from another thread, with at most one pending call."""

    def __init__(self, loop: asyncio.AbstractEventLoop, callback: Callable[[], None]) -> None:
        """`callback` is called on `loop`."""
        self._loop = loop
        self._callback = callback
        self._pending = False

    def wake(self) -> None:
        """Schedules the call. Thread-safe."""
        if self._pending:
            return
        self._pending = True
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._call)

    def _call(self) -> None:
        self._pending = False
        self._callback()
