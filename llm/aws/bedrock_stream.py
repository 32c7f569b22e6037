"""Parses Bedrock's streams: ConverseStream and, by model family, InvokeModelWithResponseStream. No I/O.

The end of the text (`messageStop`, a stop reason) is not the end of the stream: token counts follow.
"""

import base64
import binascii
from collections.abc import Iterator, Sequence
from typing import Protocol

from llm.answer_state import AnswerEvent, AnswerState
from llm.answer_values import count_of
from llm.aws.errors import AwsRefusals, fault_of_frame, fields_of
from llm.aws.frames import EventStreamMessage, EventStreamReader
from llm.http_errors import error_report_of, refused_in_stream

JsonObject = dict[str, object]


class EventParser(Protocol):
    """Parses the events of one format."""

    def parse(self, name: str, fields: JsonObject) -> Iterator[AnswerEvent]:
        """Handles one event. Raises LlmError."""
        ...


class BedrockStream:
    """Parses one response body."""

    def __init__(
        self,
        endpoint: str,
        answer: AnswerState,
        event_parser: EventParser,
        refusals: AwsRefusals,
        *,
        private: Sequence[str] = (),
    ) -> None:
        """Initializes the parser.

        Args:
            endpoint: The endpoint's name in the configuration.
            answer: The state that `event_parser` updates.
            event_parser: Parses the events.
            refusals: Converts exceptions of the service into errors.
            private: Texts that errors must not quote.
        """
        self._answer = answer
        self._event_parser = event_parser
        self._frames = EventStreamReader(endpoint)
        self._refusals = refusals
        self._private = private

    @property
    def finishing(self) -> bool:
        """Whether the text is complete."""
        return bool(self._answer.reason)

    def feed(self, data: bytes) -> Iterator[AnswerEvent]:
        """Yields the events in `data`, which may end anywhere; none after Finished. Raises LlmError."""
        for frame in self._frames.feed(data):
            if self._answer.finished:
                return
            if frame.kind == "event":
                yield from self._event_parser.parse(frame.name, self._fields(frame))
            elif self.finishing:
                yield from self._answer.finish()  # the text is complete; only the token counts are lost
            else:
                raise self._refusals.error_of(fault_of_frame(frame), self._private)

    def end(self) -> Iterator[AnswerEvent]:
        """Ends the body, or gives up waiting for the token counts. Raises LlmError if the answer is incomplete."""
        if not self.finishing:
            self._frames.end()
        yield from self._answer.finish()

    def _fields(self, frame: EventStreamMessage) -> JsonObject:
        """Returns the event's JSON object; InvokeModel wraps it in base64."""
        fields = fields_of(frame.payload)
        if frame.name == "chunk":
            wrapped = fields.get("bytes")
            try:
                fields = fields_of(base64.b64decode(wrapped if isinstance(wrapped, str) else "", validate=True))
            except binascii.Error:
                fields = {}
        if not fields and frame.name:
            raise self._answer.error("sent an event that is not JSON: check its url, and any proxy in front of it")
        return fields


class Converse:
    """Parses ConverseStream, which has one format for all models."""

    def __init__(self, answer: AnswerState, *, may_call: bool = True) -> None:
        """Initializes the parser. `may_call`: whether to pass on calls; Converse has no option to prevent them."""
        self._answer = answer
        self._may_call = may_call

    def parse(self, name: str, fields: JsonObject) -> Iterator[AnswerEvent]:
        """Handles one event; unknown ones are ignored."""
        match name:
            case "contentBlockStart":
                use = _inner(fields, "start", "toolUse")
                if use and self._may_call:
                    index = _index(fields, "contentBlockIndex")
                    yield from self._answer.begin_call(index, _text(use, "toolUseId"), _text(use, "name"))
            case "contentBlockDelta":
                # reasoningContent is not part of the text.
                self._answer.reasoned |= bool(_inner(fields, "delta", "reasoningContent"))
                yield from self._answer.add_text(_text(_inner(fields, "delta"), "text"))
                index = _index(fields, "contentBlockIndex")
                yield from self._answer.add_arguments(index, _text(_inner(fields, "delta", "toolUse"), "input"))
            case "messageStop":
                self._answer.set_reason(_text(fields, "stopReason"))
            case "metadata":
                usage = _inner(fields, "usage")
                read, written = usage.get("cacheReadInputTokens"), usage.get("cacheWriteInputTokens")
                _count(self._answer, usage.get("inputTokens"), read, written)
                self._answer.completion_tokens = count_of(usage.get("outputTokens"))
                yield from self._answer.finish()
            case _:
                pass


class Anthropic:
    """Parses InvokeModel's events of Anthropic's models."""

    def __init__(self, answer: AnswerState, endpoint: str, private: Sequence[str] = ()) -> None:
        self._answer = answer
        self._endpoint = endpoint
        self._private = private

    def parse(self, _: str, fields: JsonObject) -> Iterator[AnswerEvent]:
        """Handles one event; unknown ones are ignored."""
        match fields.get("type"):
            case "message_start":
                usage = _inner(fields, "message", "usage")
                read, written = usage.get("cache_read_input_tokens"), usage.get("cache_creation_input_tokens")
                _count(self._answer, usage.get("input_tokens"), read, written)
            case "content_block_start":
                block = _inner(fields, "content_block")
                if block.get("type") == "tool_use":
                    yield from self._answer.begin_call(
                        _index(fields, "index"), _text(block, "id"), _text(block, "name")
                    )
            case "content_block_delta":
                delta = _inner(fields, "delta")
                self._answer.reasoned |= bool(_text(delta, "thinking"))
                yield from self._answer.add_text(_text(delta, "text"))
                yield from self._answer.add_arguments(_index(fields, "index"), _text(delta, "partial_json"))
            case "message_delta":
                self._answer.completion_tokens = count_of(_inner(fields, "usage").get("output_tokens"))
                if reason := _text(_inner(fields, "delta"), "stop_reason"):
                    self._answer.set_reason(reason)
            case "message_stop":
                yield from self._answer.finish()
            case "error" if not self._answer.reason:
                raise refused_in_stream(self._endpoint, error_report_of(fields), self._private)
            case _:
                pass


class Llama:
    """Parses InvokeModel's events of Meta's models."""

    def __init__(self, answer: AnswerState) -> None:
        self._answer = answer

    def parse(self, _: str, fields: JsonObject) -> Iterator[AnswerEvent]:
        """Handles one event: text, and in the last one the finish reason and the token counts."""
        yield from self._answer.add_text(_text(fields, "generation"))
        prompt_tokens = count_of(fields.get("prompt_token_count"))
        completion_tokens = count_of(fields.get("generation_token_count"))
        self._answer.prompt_tokens = prompt_tokens if prompt_tokens is not None else self._answer.prompt_tokens
        if completion_tokens is not None:
            self._answer.completion_tokens = completion_tokens
        if reason := _text(fields, "stop_reason"):
            self._answer.set_reason(reason)
        if self._answer.reason and "amazon-bedrock-invocationMetrics" in fields:
            yield from self._answer.finish()


def _count(answer: AnswerState, fresh: object, read: object, written: object) -> None:
    """Records the input tokens: the service counts tokens read from and written to the cache separately."""
    counts = [count_of(fresh), count_of(read), count_of(written)]
    answer.prompt_tokens = sum(count or 0 for count in counts) if counts[0] is not None else None
    answer.cached_tokens = counts[1]


def _inner(fields: JsonObject, *path: str) -> JsonObject:
    for key in path:
        value = fields.get(key)
        fields = value if isinstance(value, dict) else {}
    return fields


def _text(fields: JsonObject, key: str) -> str:
    value = fields.get(key)
    return value if isinstance(value, str) else ""


def _index(fields: JsonObject, key: str) -> int:
    value = fields.get(key)
    return value if isinstance(value, int) else 0
