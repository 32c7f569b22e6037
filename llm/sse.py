"""Parses server-sent events in the variants that language-model services write: bytes in, events out. No I/O.

The standard dispatches an event at the blank line after it. Some services write one JSON document per line, without
`data:` and blank line; some send the blank line in a later packet. A complete payload is therefore dispatched at its
own newline. Only an incomplete one (pretty-printed JSON over several lines) waits for the blank line. Lines are split
as bytes and decoded whole, so a packet boundary inside a character does no harm.
"""

from collections.abc import Iterator
from dataclasses import dataclass

MAX_LINE_BYTES = 1 << 20
"""Maximum length of a line. A token event has a few hundred bytes, a whole answer some ten thousand."""

MAX_STREAM_BYTES = 32 << 20
"""Maximum size of an answer: at 300 bytes per token more than 100,000 tokens."""


class StreamFormatError(Exception):
    """The bytes are not an event stream, or too many. The text never quotes them."""


@dataclass(frozen=True, slots=True)
class Event:
    """One event.

    Attributes:
        name: The event's name ("error"); "" if it has none.
        data: The payload, never empty: JSON, or a word such as "[DONE]".
    """

    name: str
    data: str


class SseReader:
    """Splits one response body into events."""

    def __init__(self, *, max_line_bytes: int = MAX_LINE_BYTES, max_stream_bytes: int = MAX_STREAM_BYTES) -> None:
        self._max_line_bytes = max_line_bytes
        self._bytes_left = max_stream_bytes
        self._partial = bytearray()
        self._after_cr = False
        self._at_start = True
        self._name = ""
        self._held: list[str] = []
        self._held_bytes = 0
        self._held_bare = False

    def feed(self, data: bytes) -> Iterator[Event]:
        """Yields the events that `data` completes; `data` may end anywhere. Iterate it to its end.

        Raises:
            StreamFormatError: A line or the stream is too long, or it is a web page.
        """
        if self._after_cr and data.startswith(b"\n"):
            data = data[1:]
            self._after_cr = False
        if not data:
            return
        # A CR ends a line at once; an LF at the start of the next packet belongs to it.
        self._after_cr = data.endswith(b"\r")
        for piece in data.splitlines(keepends=True):
            self._bytes_left -= len(piece)
            if self._bytes_left < 0:
                raise StreamFormatError("the stream exceeds the limit for an answer")
            self._partial += piece.rstrip(b"\r\n")
            if len(self._partial) > self._max_line_bytes:
                raise StreamFormatError(f"a line is longer than {self._max_line_bytes} bytes")
            if piece.endswith((b"\n", b"\r")):
                yield from self._end_of_line()

    def end(self) -> Iterator[Event]:
        """Ends the body: yields the event in the last line, or the last event without its blank line."""
        if self._partial:
            yield from self._end_of_line()
        yield from self._release()

    def _end_of_line(self) -> Iterator[Event]:
        size_bytes = len(self._partial)
        line = self._partial.decode("utf-8", "replace")
        self._partial.clear()
        if self._at_start:
            self._at_start = False
            line = line.removeprefix("\ufeff")
        if not line:
            yield from self._release()
            self._name = ""
        elif self._held_bare:
            self._hold(line, size_bytes)
        elif line.lstrip().startswith("{"):
            yield from self._payload(line, size_bytes, bare=True)
        elif line.lstrip().startswith("<"):
            raise StreamFormatError("it is a web page")
        else:
            yield from self._field(line, size_bytes)

    def _field(self, line: str, size_bytes: int) -> Iterator[Event]:
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "data":
            yield from self._payload(value, size_bytes, bare=False)
        elif field == "event":
            self._name = value
        # Comments (an empty field name), id, retry and unknown fields are ignored.

    def _payload(self, value: str, size_bytes: int, *, bare: bool) -> Iterator[Event]:
        value = value.strip()
        if self._held:
            self._hold(value, size_bytes)
        elif value.startswith("{") and not value.endswith("}"):
            self._held_bare = bare
            self._hold(value, size_bytes)
        elif value:
            yield Event(self._name, value)

    def _hold(self, line: str, size_bytes: int) -> None:
        self._held_bytes += size_bytes
        if self._held_bytes > self._max_line_bytes:
            raise StreamFormatError(f"an event is longer than {self._max_line_bytes} bytes")
        self._held.append(line)

    def _release(self) -> Iterator[Event]:
        if self._held:
            data = "\n".join(self._held)
            self._held.clear()
            self._held_bytes = 0
            self._held_bare = False
            yield Event(self._name, data)
