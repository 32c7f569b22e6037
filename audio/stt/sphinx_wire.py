"""The messages between a conversation and its pocketsphinx process: length-prefixed, sans-I/O.

A message is a header (payload length, kind, opening, request; little-endian) and a payload. `opening` numbers the
segments of one process from 1: an answer that names an old one is late and belongs to nobody.
"""

import json
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import TypedDict, cast

MAX_PAYLOAD_BYTES = 16 * 1024 * 1024
"""Beyond any list of commands: a longer length is a damaged stream."""

_HEADER = struct.Struct("<IBII")
_HEARD = struct.Struct("<QQB")


class Kind(IntEnum):
    """What a message is; up to RENEW to the process, the others from it."""

    LOAD = 1
    OPEN = 2
    AUDIO = 3
    WORDS = 4
    CLOSE = 5
    CANCEL = 6
    RENEW = 7
    LOADED = 16
    HEARD = 17
    CLOSED = 18
    FAILED = 19


class WireError(Exception):
    """The stream does not follow this protocol."""


@dataclass(frozen=True, slots=True)
class SphinxMessage:
    """One message. `request` is 0 where nobody asked."""

    kind: Kind
    opening: int = 0
    request: int = 0
    payload: bytes = b""


class LoadOrder(TypedDict):
    """The payload of LOAD. `cmn`: cepstral means learned before, "" for the model's own."""

    commands: list[str]
    cmn: str


class LoadReport(TypedDict):
    """The payload of LOADED. `left_out` counts sentences, `missing` are their unknown words."""

    version: str
    kept: int
    left_out: int
    missing: list[str]


@dataclass(frozen=True, slots=True)
class HeardPayload:
    """The payload of HEARD.

    Attributes:
        consumed: Number of samples decoded since the process started. It limits how much audio waits there.
        samples: Samples of this segment that the text covers.
        low_confidence: Whether the text is a guess by the general language model.
        text: Plain words.
    """

    consumed: int
    samples: int
    low_confidence: bool
    text: str


def frame(message: SphinxMessage) -> bytes:
    """The bytes of a message. Raises WireError if its payload is too long."""
    size = len(message.payload)
    if size > MAX_PAYLOAD_BYTES:
        raise WireError(f"a message has {size} bytes; the limit is {MAX_PAYLOAD_BYTES}")
    return _HEADER.pack(size, message.kind, message.opening, message.request) + message.payload


class Unframer:
    """Bytes in, messages out."""

    def __init__(self) -> None:
        self._pending = bytearray()

    def receive(self, data: bytes) -> Iterator[SphinxMessage]:
        """Take bytes as they came; yields every message they complete. Raises WireError."""
        self._pending += data
        while len(self._pending) >= _HEADER.size:
            size, kind, opening, request = _HEADER.unpack_from(self._pending)
            if size > MAX_PAYLOAD_BYTES or kind not in Kind.__members__.values():
                raise WireError(f"not a message: kind {kind}, {size} bytes")
            end = _HEADER.size + size
            if len(self._pending) < end:
                return
            payload = bytes(self._pending[_HEADER.size : end])
            del self._pending[:end]
            yield SphinxMessage(Kind(kind), opening, request, payload)


def pack_heard(heard: HeardPayload) -> bytes:
    """Encodes the transcript of a `HeardPayload`."""
    return _HEARD.pack(heard.consumed, heard.samples, heard.low_confidence) + heard.text.encode()


def unpack_heard(payload: bytes) -> HeardPayload:
    """Decodes the payload of a transcript. Raises WireError."""
    try:
        consumed, samples, low_confidence = _HEARD.unpack_from(payload)
        return HeardPayload(consumed, samples, bool(low_confidence), payload[_HEARD.size :].decode())
    except (struct.error, UnicodeDecodeError) as error:
        raise WireError(f"not a transcript: {len(payload)} bytes") from error


def pack_order(order: LoadOrder) -> bytes:
    """`LoadOrder` as a payload."""
    return json.dumps(order).encode()


def unpack_order(payload: bytes) -> LoadOrder:
    """A payload of our own side as `LoadOrder`. Raises WireError."""
    return cast("LoadOrder", _json_object(payload))


def pack_report(report: LoadReport) -> bytes:
    """`LoadReport` as a payload."""
    return json.dumps(report).encode()


def unpack_report(payload: bytes) -> LoadReport:
    """A payload of our own side as `LoadReport`. Raises WireError."""
    return cast("LoadReport", _json_object(payload))


def _json_object(payload: bytes) -> dict[str, object]:
    try:
        value = json.loads(payload)
    except ValueError as error:
        raise WireError(f"not JSON: {len(payload)} bytes") from error
    if not isinstance(value, dict):
        raise WireError(f"not a JSON object: {len(payload)} bytes")
    return value
