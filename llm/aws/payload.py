"""Which format a SageMaker container answers in, as configured or by its first bytes. No I/O.

tgi, lmi-jsonlines, lmi-sse    token lines (`token_stream`)
lmi-chat                       chunks of chat completions (`openai_stream`)
djl-0.25                       one string, token by token (`generated_text_stream`)
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, get_args

from llm.aws.generated_text_stream import HEAD, GeneratedTextStream
from llm.chat import ChatEvent
from llm.openai_stream import OpenAIStream
from llm.paced import Reading
from llm.sse import Event, SseReader, StreamFormatError
from llm.token_stream import TokenStream

Payload = Literal["auto", "tgi", "lmi-jsonlines", "lmi-sse", "lmi-chat", "djl-0.25"]
PAYLOADS: tuple[Payload, ...] = get_args(Payload)


def reading_of(payload: Payload, endpoint: str, private: Sequence[str]) -> Reading:
    """What reads one answer in a format."""
    match payload:
        case "auto":
            return DetectedStream(endpoint, private=private)
        case "lmi-chat":
            return OpenAIStream(endpoint, private=private)
        case "djl-0.25":
            return GeneratedTextStream(endpoint, private=private)
        case "tgi" | "lmi-jsonlines" | "lmi-sse":
            return TokenStream(endpoint, private=private)


class DetectedStream:
    """Waits for the first line, or the beginning of the one string, and then reads as its format wants.

    Nothing is lost by waiting: no format says a word before that.
    """

    def __init__(self, endpoint: str, *, private: Sequence[str] = ()) -> None:
        """`private`: texts that no error may quote."""
        self._endpoint = endpoint
        self._private = private
        self._held = b""
        self._scout = SseReader()
        self._reading: Reading | None = None

    @property
    def finishing(self) -> bool:
        """Whether the text is complete."""
        return self._reading is not None and self._reading.finishing

    def feed(self, data: bytes) -> Iterable[ChatEvent]:
        """What `data` (cut anywhere) says, in order. Raises LlmError."""
        if self._reading is not None:
            return self._reading.feed(data)
        self._held += data
        self._reading = self._detected(data)
        return () if self._reading is None else self._reading.feed(self._held)

    def end(self) -> Iterator[ChatEvent]:
        """The body is over. Raises LlmError where it was cut short, or is in no known format."""
        if self._reading is None:
            self._reading = self._by_line(self._scout.end()) or TokenStream(self._endpoint, private=self._private)
            yield from self._reading.feed(self._held)
        yield from self._reading.end()

    def _detected(self, data: bytes) -> Reading | None:
        if HEAD.match(self._held):
            return GeneratedTextStream(self._endpoint, private=self._private)
        return self._by_line(self._scout.feed(data))

    def _by_line(self, events: Iterator[Event]) -> Reading | None:
        try:
            first = next(iter(list(events)), None)
        except StreamFormatError:
            return TokenStream(self._endpoint, private=self._private)  # says what is wrong
        if first is None:
            return None
        try:
            line: object = json.loads(first.data)
        except (ValueError, RecursionError):
            line = None
        is_chat = isinstance(line, dict) and ("choices" in line or str(line.get("object")).startswith("chat."))
        kind = OpenAIStream if is_chat else TokenStream
        return kind(self._endpoint, private=self._private)
