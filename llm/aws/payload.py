"""Selects the parser for a SageMaker container's answer, by configuration or by its first bytes. No I/O.

tgi, lmi-jsonlines, lmi-sse    token lines (`token_stream`)
lmi-chat                       chunks of chat completions (`llm/openai/stream.py`)
djl-0.25                       one string, token by token (`generated_text_stream`)
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import get_args

from llm.answer_text.reasoning_habit import ReasoningHabit
from llm.aws.generated_text_stream import HEAD, GeneratedTextStream
from llm.aws.settings import Payload
from llm.chat import ChatEvent, Function
from llm.openai.stream import OpenAIStream
from llm.sse import Event, SseReader, StreamFormatError
from llm.text_pieces import MoreText
from llm.token_deadlines import StreamParser
from llm.token_stream import TokenStream

PAYLOADS: tuple[Payload, ...] = get_args(Payload)


def parser_for(
    payload: Payload,
    endpoint: str,
    private: Sequence[str],
    habit: ReasoningHabit | None = None,
    functions: Sequence[Function] = (),
) -> StreamParser:
    """Returns the parser for one answer in a format; arguments as for `OpenAIStream`."""
    match payload:
        case "auto":
            return DetectedStream(endpoint, private=private, habit=habit, functions=functions)
        case "lmi-chat":
            return OpenAIStream(endpoint, private=private, habit=habit, functions=functions)
        case "djl-0.25":
            return GeneratedTextStream(endpoint, private=private, habit=habit, functions=functions)
        case "tgi" | "lmi-jsonlines" | "lmi-sse":
            return TokenStream(endpoint, private=private, habit=habit, functions=functions)


class DetectedStream:
    """Detects the format by the first line or the beginning of the string, and then parses it.

    The detection causes no delay: no format sends text before that.
    """

    def __init__(
        self,
        endpoint: str,
        *,
        private: Sequence[str] = (),
        habit: ReasoningHabit | None = None,
        functions: Sequence[Function] = (),
    ) -> None:
        """Initializes the parser; arguments as for `OpenAIStream`."""
        self._functions = functions
        self._endpoint = endpoint
        self._private = private
        self._habit = habit
        self._held = b""
        self._probe = SseReader()
        self._parser: StreamParser | None = None

    @property
    def finishing(self) -> bool:
        """Whether the text is complete."""
        return self._parser is not None and self._parser.finishing

    def feed(self, data: bytes) -> Iterable[ChatEvent | MoreText]:
        """Returns the events in `data`, which may end anywhere. Raises LlmError."""
        if self._parser is not None:
            return self._parser.feed(data)
        self._held += data
        self._parser = self._detect(data)
        return () if self._parser is None else self._parser.feed(self._held)

    def end(self) -> Iterator[ChatEvent | MoreText]:
        """Ends the body. Raises LlmError if the answer is incomplete or its format is unknown."""
        if self._parser is None:
            self._parser = self._detect_by_line(self._probe.end()) or self._make(TokenStream)
            yield from self._parser.feed(self._held)
        yield from self._parser.end()

    def _detect(self, data: bytes) -> StreamParser | None:
        if HEAD.match(self._held):
            return self._make(GeneratedTextStream)
        return self._detect_by_line(self._probe.feed(data))

    def _detect_by_line(self, events: Iterator[Event]) -> StreamParser | None:
        try:
            first = next(iter(list(events)), None)
        except StreamFormatError:
            return self._make(TokenStream)  # raises the error for the invalid format
        if first is None:
            return None
        try:
            line: object = json.loads(first.data)
        except (ValueError, RecursionError):
            line = None
        is_chat = isinstance(line, dict) and ("choices" in line or str(line.get("object")).startswith("chat."))
        return self._make(OpenAIStream if is_chat else TokenStream)

    def _make(self, kind: type[OpenAIStream] | type[TokenStream] | type[GeneratedTextStream]) -> StreamParser:
        return kind(self._endpoint, private=self._private, habit=self._habit, functions=self._functions)
