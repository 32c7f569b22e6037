"""Reads and writes Wyoming events within limits of size and time.

An event is a line of JSON, then `data_length` bytes of JSON and `payload_length` bytes of sound. The library's own
reader has no limits.
"""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import orjson
from wyoming.error import Error
from wyoming.event import Event, Eventable
from wyoming.version import __version__ as protocol_version

from web.wire.incoming.event_limits import has_too_many_values

MAX_LINE_BYTES = 64 << 10
MAX_DATA_BYTES = 256 << 10
MAX_PAYLOAD_BYTES = 1 << 20
"""Largest sound of one event: 5 s at 48 kHz stereo. Clients send 10 to 250 ms."""

REST_TIMEOUT_S = 10.0
"""Time limit for the rest of an event whose line has arrived."""
SEND_TIMEOUT_S = 30.0
"""Time limit for a client to take what is sent."""

WRITE_BUFFER_BYTES = 64 << 10
"""Bytes that may wait in this process for a client; then what is sent waits."""


class WyomingError(Exception):
    """A request that cannot be served; the text goes to the client.

    Attributes:
        code: Machine-readable reason.
    """

    def __init__(self, code: str, message: str) -> None:
        """`message`: reason and remedy in a sentence; never contains words of the user."""
        super().__init__(message)
        self.code = code

    def event(self) -> Event:
        """Returns the event that tells the client."""
        return Error(str(self), self.code).event()


class FramingError(WyomingError):
    """Bytes that are no event. What follows cannot be read, so the connection ends."""

    def __init__(self, message: str) -> None:
        """`message`: what is wrong."""
        super().__init__("invalid_event", message)


class ClientGoneError(Exception):
    """The client has disconnected, or does not take what it is sent."""


async def read_event(reader: asyncio.StreamReader) -> Event | None:
    """Returns the next event; None at the end of the stream. Raises FramingError.

    The stream must have been made with the limit `MAX_LINE_BYTES`.
    """
    try:
        line = await reader.readuntil(b"\n")
        header = _object(line, "a line")
        kind = header.get("type")
        if not isinstance(kind, str):
            raise FramingError("an event has no type")
        data = header.get("data") or {}
        if not isinstance(data, dict):
            raise FramingError("data of an event must be an object")
        data_length = _length(header, "data_length", MAX_DATA_BYTES)
        payload_length = _length(header, "payload_length", MAX_PAYLOAD_BYTES)
        payload = None
        if data_length or payload_length:
            async with asyncio.timeout(REST_TIMEOUT_S):
                if data_length:
                    data |= _object(await reader.readexactly(data_length), "data of an event")
                if payload_length:
                    payload = await reader.readexactly(payload_length)
    except asyncio.LimitOverrunError:
        raise FramingError(f"a line has more than {MAX_LINE_BYTES} bytes") from None
    except TimeoutError:
        raise FramingError(f"the rest of an event did not arrive within {REST_TIMEOUT_S:g} s") from None
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    return Event(kind, data, payload)


def _object(text: bytes, what: str) -> dict[str, Any]:
    try:
        decoded = text.decode()
        if has_too_many_values(decoded):  # parsing it would block the event loop
            raise FramingError(f"{what} has too many values")
        value = orjson.loads(decoded)
    except ValueError:
        raise FramingError(f"{what} is not JSON") from None
    if not isinstance(value, dict):
        raise FramingError(f"{what} is not a JSON object")
    return value


def _length(header: Mapping[str, object], name: str, most: int) -> int:
    length = header.get(name)
    if length is None:
        return 0
    if not isinstance(length, int) or isinstance(length, bool) or length < 0:
        raise FramingError(f"{name} must be a number of bytes")
    if length > most:
        raise FramingError(f"{name} is {length}; at most {most} bytes are allowed")
    return length


Sendable = Event | Eventable | WyomingError


class EventWriter:
    """Sends events to one client."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        """Writes to this stream."""
        self._writer = writer
        self._ended = False

    async def send(self, *events: Sendable) -> None:
        """Sends events and waits until the client takes them. Raises ClientGoneError."""
        self._write(*events)
        try:
            async with asyncio.timeout(SEND_TIMEOUT_S):
                await self._writer.drain()
        except (TimeoutError, ConnectionError) as error:
            self._writer.transport.abort()
            raise ClientGoneError from error

    @property
    def has_room(self) -> bool:
        """Whether the client takes what it is sent, so that an event may be sent without waiting."""
        unsent = self._writer.transport.get_write_buffer_size()
        return not self._ended and not self._writer.is_closing() and unsent <= WRITE_BUFFER_BYTES

    def post(self, event: Sendable) -> None:
        """Sends an event without waiting. The client must have room."""
        self._write(event)

    async def fail(self, error: WyomingError, *last: Sendable) -> None:
        """Tells the client what is wrong and sends nothing more: a client that ignores `error` would wait for ever.

        `last`: sent after `error`.
        """
        if not self._ended:
            with suppress(ClientGoneError):
                await self.send(error, *last)
                self._ended = True
                self._writer.write_eof()

    def _write(self, *events: Sendable) -> None:
        if self._ended or self._writer.is_closing():
            raise ClientGoneError
        self._writer.write(b"".join(_encoded(event) for event in events))


def _encoded(given: Sendable) -> bytes:
    event = given if isinstance(given, Event) else given.event()
    data = orjson.dumps(event.data) if event.data else b""
    payload = event.payload or b""
    header: dict[str, object] = {"type": event.type, "version": protocol_version}
    if data:
        header["data_length"] = len(data)
    if payload:
        header["payload_length"] = len(payload)
    return b"".join((orjson.dumps(header), b"\n", data, payload))
