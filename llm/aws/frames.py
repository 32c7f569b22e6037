"""Splits AWS's event stream into messages, each with headers, a payload and two checksums. No I/O."""

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from llm.aws.sdk import sdk
from llm.errors import SPOKEN_BROKEN_OFF, LlmBroken, LlmError
from llm.http_errors import SPOKEN_PROXY

MAX_FRAME_BYTES = 1 << 20
"""Maximum size of a message. A token takes a few hundred bytes; the format permits 24 MiB."""

MAX_STREAM_BYTES = 64 << 20
"""Maximum size of an answer: at 600 bytes per token more than 100,000 tokens."""


@dataclass(frozen=True, slots=True)
class EventStreamMessage:
    """One message.

    Attributes:
        kind: "event", "exception" or "error".
        name: Type of the event or exception.
    """

    kind: str
    name: str
    headers: Mapping[str, object]
    payload: bytes


class EventStreamReader:
    """Splits one response body into messages."""

    def __init__(self, endpoint: str) -> None:
        self._endpoint = endpoint
        # Created at the first bytes: by then the signing of the request has imported botocore, in a thread.
        self._buffer: Any = None
        self._held_bytes = 0
        self._left_bytes = MAX_STREAM_BYTES
        self._begun = False

    def feed(self, data: bytes) -> Iterator[EventStreamMessage]:
        """Yields the messages in `data`, which may end anywhere. Iterate it to its end. Raises LlmBroken."""
        self._left_bytes -= len(data)
        if self._left_bytes < 0:
            raise self._broken(f"sent more than {MAX_STREAM_BYTES} bytes: set max_tokens")
        if self._buffer is None:
            self._buffer = sdk("eventstream").EventStreamBuffer()
        self._buffer.add_data(data)
        self._held_bytes += len(data)
        while (frame := self._next()) is not None:
            yield frame
        if self._held_bytes > MAX_FRAME_BYTES:
            raise self._broken(f"sent a frame of more than {MAX_FRAME_BYTES} bytes: check its url")

    def end(self) -> None:
        """Ends the body. Raises LlmBroken if it ended inside a message."""
        if self._held_bytes:
            raise self._broken("ended its answer inside a frame: check any proxy in front of it")

    def _next(self) -> EventStreamMessage | None:
        try:
            message = next(self._buffer, None)
        except (sdk("eventstream").ParserError, struct.error, LookupError, ValueError) as error:
            what = "sent a damaged frame: check any proxy in front of it"
            raise self._broken(what if self._begun else f"does not answer in AWS's event stream: {_CHECK}") from error
        if message is None:
            return None
        self._begun = True
        self._held_bytes -= message.prelude.total_length
        headers = message.headers
        kind = str(headers.get(":message-type", "event"))
        name = headers.get({"exception": ":exception-type", "error": ":error-code"}.get(kind, ":event-type"), "")
        return EventStreamMessage(kind, str(name), headers, message.payload)

    def _broken(self, what: str) -> LlmError:
        text = f"llm endpoint {self._endpoint!r} {what}"
        spoken = SPOKEN_BROKEN_OFF if self._begun else SPOKEN_PROXY
        return LlmBroken(self._endpoint, text, spoken=spoken, retryable=True)


_CHECK = "check its url, and any proxy in front of it"
