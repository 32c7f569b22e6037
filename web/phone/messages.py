"""Parses and builds the messages of a telephone media stream, in the JSON framing of Twilio. Pure.

From the provider: connected, start, media, dtmf, mark, stop. To the provider: media, mark, clear.
"""

import binascii
import json
import re
from dataclasses import dataclass
from typing import Any

MAX_MESSAGE_CHARS = 16_384
"""Longest message. 20 ms of audio take about 400 characters; a start with all its parameters, some 6,000."""

MAX_PAYLOAD_BYTES = 8000
"""Longest audio of one message: one second."""

_CALL_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_STREAM_ID = re.compile(r"[A-Za-z0-9_:.-]{1,128}")
_DIGIT = re.compile(r"[0-9*#A-D]")

UNNAMED = "without an id"
"""Stands in log lines for a call id that is missing or not an id, so that nothing else of the call is logged."""


class PhoneError(Exception):
    """A message that does not follow the framing; the text says why, without what the caller said or typed."""


@dataclass(frozen=True, slots=True)
class Connected:
    """The stream is connected: the first message."""


@dataclass(frozen=True, slots=True)
class Start:
    """The call begins.

    Attributes:
        stream_id: Names the stream in the messages to the provider.
        call_id: Names the call in the log.
        token: The token among the call's custom parameters; "" if there is none.
    """

    stream_id: str
    call_id: str
    token: str


@dataclass(frozen=True, slots=True)
class Media:
    """A piece of the caller's audio: mu-law, 8 kHz, mono, in base64."""

    payload: str


@dataclass(frozen=True, slots=True)
class Dtmf:
    """The caller pressed a key."""

    digit: str


@dataclass(frozen=True, slots=True)
class Mark:
    """Everything before the mark of this name was played, or was cleared."""

    name: str


@dataclass(frozen=True, slots=True)
class Stop:
    """The call is over."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """An event that the framing does not have, audio of another track, or no key of a telephone: ignored."""

    event: str


Message = Connected | Start | Media | Dtmf | Mark | Stop | Unknown


_PLAIN: dict[str, Message] = {"connected": Connected(), "stop": Stop()}


def parse(text: str) -> Message:
    """Parses a message of the provider. Raises PhoneError."""
    if len(text) > MAX_MESSAGE_CHARS:
        raise PhoneError(f"a message has {len(text)} characters; at most {MAX_MESSAGE_CHARS} are allowed")
    try:
        message = json.loads(text)
    except (ValueError, RecursionError):
        raise PhoneError("a message is not JSON") from None
    event = message.get("event") if isinstance(message, dict) else None
    if not isinstance(event, str):
        raise PhoneError("a message has no event")
    if event in _PLAIN:
        return _PLAIN[event]
    match event:
        case "start":
            return _start(message)
        case "media":
            return _media(message)
        case "dtmf":
            return _dtmf(message)
        case "mark":
            return _mark(message)
    return Unknown(event[:32] if event[:32].isprintable() else "of an unprintable name")


def _part(message: dict[str, Any], name: str) -> dict[str, Any]:
    part = message.get(name)
    if not isinstance(part, dict):
        raise PhoneError(f"{name} has no object {name!r}")
    return part


def _start(message: dict[str, Any]) -> Start:
    start = _part(message, "start")
    stream_id, call_id = start.get("streamSid", message.get("streamSid")), start.get("callSid")
    if not isinstance(stream_id, str) or _STREAM_ID.fullmatch(stream_id) is None:
        raise PhoneError("start.streamSid is missing or is not an id")
    form = start.get("mediaFormat")
    form = form if isinstance(form, dict) else {}
    values = tuple(str(form.get(name))[:32] for name in ("encoding", "sampleRate", "channels"))
    if values != ("audio/x-mulaw", "8000", "1"):
        raise PhoneError("start.mediaFormat must be audio/x-mulaw, 8000 Hz, 1 channel")
    custom = start.get("customParameters")
    token = custom.get("token") if isinstance(custom, dict) else None
    if not isinstance(call_id, str) or _CALL_ID.fullmatch(call_id) is None:
        call_id = UNNAMED
    return Start(stream_id, call_id, token if isinstance(token, str) else "")


def _media(message: dict[str, Any]) -> Media | Unknown:
    media = _part(message, "media")
    if media.get("track", "inbound") != "inbound":
        return Unknown("media of another track")  # the assistant's own voice, if the stream has both tracks
    payload = media.get("payload")
    if not isinstance(payload, str):
        raise PhoneError("media.payload is missing")
    try:
        size = len(binascii.a2b_base64(payload, strict_mode=True))
    except ValueError:
        raise PhoneError("media.payload is not base64") from None
    if size > MAX_PAYLOAD_BYTES:
        raise PhoneError(f"media.payload has {size} bytes; at most {MAX_PAYLOAD_BYTES} are allowed")
    return Media(payload)


def _dtmf(message: dict[str, Any]) -> Dtmf | Unknown:
    digit = _part(message, "dtmf").get("digit")
    if not isinstance(digit, str):
        raise PhoneError("dtmf.digit is missing")
    key = digit.upper()
    return Dtmf(key) if _DIGIT.fullmatch(key) else Unknown("dtmf of no key")  # such as w, a pause of a dial string


def _mark(message: dict[str, Any]) -> Mark:
    name = _part(message, "mark").get("name")
    if not isinstance(name, str):
        raise PhoneError("mark.name is missing")
    return Mark(name)


def media(stream_id: str, payload: str) -> str:
    """Builds a message with audio to play, in base64."""
    return _written({"event": "media", "streamSid": stream_id, "media": {"payload": payload}})


def mark(stream_id: str, name: str) -> str:
    """Builds a mark, which comes back when everything before it was played."""
    return _written({"event": "mark", "streamSid": stream_id, "mark": {"name": name}})


def clear(stream_id: str) -> str:
    """Builds the message that drops the audio that was not played yet."""
    return _written({"event": "clear", "streamSid": stream_id})


def _written(message: dict[str, object]) -> str:
    return json.dumps(message, separators=(",", ":"))
