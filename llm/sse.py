"""Server-sent events as language-model services really write them. No I/O: bytes in, events out.

The standard hands an event out at the blank line after it. Services differ: some write one JSON document per line
with neither `data:` nor blank line, some put the blank line in a later packet. So a payload that is whole by
itself is handed out at its own newline, and only one that is visibly not (pretty-printed JSON over several lines)
waits for the blank line. Lines are cut as bytes and decoded whole, so a character cut by the network is no matter.
"""

from collections.abc import Iterator
from dataclasses import dataclass

MAX_LINE_BYTES = 1 << 20
"""One line: a token with its surroundings is a few hundred bytes, a whole answer in one piece some ten thousand."""

MAX_STREAM_BYTES = 32 << 20
"""One answer: at 300 bytes a token more than 100,000 tokens."""


class StreamFormatError(Exception):
    """The bytes are no event stream, or too many; the text says which, and never quotes them."""


@dataclass(frozen=True, slots=True)
class Event:
    """One payload.

    Attributes:
        name: Of the event where the service names it ("error"), else "".
        data: Its payload, never empty: JSON, or a word such as "[DONE]".
    """

    name: str
    data: str


class SseReader:
    """Cuts one response body into events."""

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
        """The events that `data` (of any length, cut anywhere) completes. To be iterated to its end.

        Raises:
            StreamFormatError: a line or the stream is too long, or it is a page for a browser.
        """
        if self._after_cr and data.startswith(b"\n"):
            data = data[1:]
            self._after_cr = False
        if not data:
            return
        # A CR ends a line at once; the LF that may follow in the next packet then belongs to it.
        self._after_cr = data.endswith(b"\r")
        for piece in data.splitlines(keepends=True):
            self._bytes_left -= len(piece)
            if self._bytes_left < 0:
                raise StreamFormatError("the stream is longer than any answer")
            self._partial += piece.rstrip(b"\r\n")
            if len(self._partial) > self._max_line_bytes:
                raise StreamFormatError(f"a line is longer than {self._max_line_bytes} bytes")
            if piece.endswith((b"\n", b"\r")):
                yield from self._end_of_line()

    def end(self) -> Iterator[Event]:
        """The body is over: what the last line, or the last event without its blank line, holds."""
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
        # Comments (an empty field name), id, retry and unknown fields carry nothing for us, as the standard says.

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
