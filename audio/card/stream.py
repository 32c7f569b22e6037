"""An open stream of a sound card, seen from our side: what its thread calls, and who opens and closes it."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from audio.device import Device, Direction


@dataclass(frozen=True, slots=True)
class Opened:
    """What one open stream is, for the screen.

    Attributes:
        device: Its name.
        host_api: By which of the system's interfaces.
        rate_hz: Samples per second between it and us.
        block_ms: How often it calls.
        latency_ms: What it says of its own buffer.
    """

    device: str
    host_api: str
    rate_hz: int
    block_ms: float
    latency_ms: float


class StreamCallback(Protocol):
    """Our end of a stream's callback. Both methods are called in the card's own thread: they copy and signal.

    Attributes:
        last_s: Loop time of the last block; 0.0 before the first.
        finished: No more blocks will come.
    """

    last_s: float
    finished: bool

    # The library's buffer has no type of its own: bytes of int16, interleaved, as long as the call lasts.
    def block(self, data: Any, frames: int, card_s: float, first_s: float, *, flagged: bool) -> None:
        """One block of so many samples per channel, to be read or to be filled.

        Args:
            data: The buffer.
            frames: Samples per channel.
            card_s: The card's clock now; 0 or garbage on some host APIs, as is the next.
            first_s: When the first sample was captured, or will leave, on that clock.
            flagged: The card says that samples were lost, or were missing, before this block.
        """
        ...

    def ended(self) -> None:
        """The stream has ended, whoever ended it."""
        ...


L = TypeVar("L", bound=StreamCallback)

Make = Callable[[Opened, int], L]
"""Makes a lane for a stream of this kind and number of channels, before its first block."""


@dataclass(slots=True)
class CardStream(Generic[L]):
    """One open stream.

    Attributes:
        opened: What it is.
        device: As it was listed when it was opened.
        lane: Our end of it.
        handle: The library's own.
        interrupted: It was ended by the library, to see new devices: open it again.
    """

    opened: Opened
    device: Device
    lane: L
    handle: Any  # sounddevice has no types
    interrupted: bool = False


@dataclass(frozen=True, slots=True)
class StreamRequest:
    """What is to be opened.

    Attributes:
        direction: Which way.
        wanted: See `pick`.
        rate_hz: Best at this rate; the stream says which it is.
        fresh: Look for new devices first.
        buffer_ms: The least its buffer is to hold, where that is more than is usual for the device.
    """

    direction: Direction
    wanted: str
    rate_hz: int
    fresh: bool = False
    buffer_ms: float = 0.0


class CardLibrary(Protocol):
    """Who opens streams. Every future ends within a few seconds, with a DeviceError at worst."""

    def open(self, wish: StreamRequest, make: Make[L]) -> "asyncio.Future[CardStream[L]]":
        """Open a stream and start it. An answer nobody waits for any longer (cancelled) is closed again."""
        ...

    def close(self, stream: CardStream[L]) -> "asyncio.Future[None]":
        """End a stream at once: what it has not played yet is dropped."""
        ...

    def look(self) -> "asyncio.Future[tuple[Device, ...]]":
        """What is there now, without disturbing what is open."""
        ...


class LoopWaker:
    """Wakes the event loop out of another thread, with one call on its way at most."""

    def __init__(self, loop: asyncio.AbstractEventLoop, answer: Callable[[], None]) -> None:
        """`answer` is called on `loop`."""
        self._loop = loop
        self._answer = answer
        self._rung = False

    def ring(self) -> None:
        """From any thread."""
        if self._rung:
            return
        self._rung = True
        with suppress(RuntimeError):  # the loop is closed: nobody is there to wake
            self._loop.call_soon_threadsafe(self._open)

    def _open(self) -> None:
        self._rung = False
        self._answer()
