"""Parses Triton's generate stream: one `data:{"model_name",...,"text_output":"piece"}` per response. No I/O.

The extension has no end mark: the answer ends with the body, and Finished is emitted then. A lost connection is
different: the body is chunked, and httpx reports an error if the last chunk is missing. The first response fixes the
status; a later failure arrives as `data:{"error":...}`.

Additional outputs are used if present: `finish_reason` and token counts, which the vLLM backend sends on request.
"""

import json
from collections.abc import Iterator, Sequence

from llm.answer_state import AnswerEvent, AnswerState
from llm.answer_text.reasoning_habit import ReasoningHabit
from llm.answer_values import DONE_REASON, count_of
from llm.empty_answer import CUT_SHORT
from llm.http_errors import error_report_of, refused_in_stream
from llm.sse import Event, SseReader, StreamFormatError

TEXT_OUTPUT = "text_output"

NOT_FINISHED = frozenset({"", "None"})
"""Values of finish_reason that the vLLM backend sends before the end ("None" is Python's None as text)."""


class TritonStream:
    """Parses one response body."""

    def __init__(
        self,
        endpoint: str,
        *,
        text_output: str = TEXT_OUTPUT,
        echo: str = "",
        private: Sequence[str] = (),
        habit: ReasoningHabit | None = None,
    ) -> None:
        """Initializes the parser.

        Args:
            endpoint: The endpoint's name in the configuration.
            text_output: The name of the output with the text.
            echo: The prompt, if the backend repeats it before the answer; it is removed. An answer that does not begin
                with it is an error, because its text cannot be separated.
            private: Texts that errors must not quote.
            habit: How the model reasons, if known.
        """
        self._endpoint = endpoint
        self._text_output = text_output
        self._echo_left = echo
        self._private = private
        self._answer = AnswerState(endpoint, habit)
        self._sse = SseReader()
        self._ending = False

    @property
    def finishing(self) -> bool:
        """Whether the backend gave its finish reason; only the end of the body can follow."""
        return bool(self._answer.reason)

    def feed(self, data: bytes) -> Iterator[AnswerEvent]:
        """Yields the events in `data`, which may end anywhere; none after Finished. Raises LlmError."""
        yield from self._read(self._sse.feed(data))

    def end(self) -> Iterator[AnswerEvent]:
        """Ends the body and the answer. Raises LlmBroken if there was no answer."""
        self._ending = True
        yield from self._read(self._sse.end())
        if not self._answer.reason:
            self._answer.set_reason(DONE_REASON)
        yield from self._answer.finish()

    def _read(self, events: Iterator[Event]) -> Iterator[AnswerEvent]:
        try:
            for event in events:
                if not self._answer.finished and event.data != "[DONE]":
                    yield from self._parse_event(event)
        except StreamFormatError as error:
            text = f"does not answer as a Triton server ({error}): check its url, and any proxy in front of it"
            raise self._answer.error(text) from error

    def _parse_event(self, event: Event) -> Iterator[AnswerEvent]:
        response = self._decoded(event.data)
        if event.name == "error" or response.get("error"):
            raise refused_in_stream(self._endpoint, error_report_of(response), self._private)
        text = _first(response.get(self._text_output, ""))
        if not isinstance(text, str):
            remedy = f"check which output of its model ({self._text_output}) has the text"
            raise self._answer.error(f"sent an output that is not text: {remedy}")
        yield from self._answer.add_text(self._remove_echo(text))
        self._count(response)

    def _remove_echo(self, text: str) -> str:
        size = min(len(text), len(self._echo_left))
        if text[:size] != self._echo_left[:size]:
            raise self._answer.error(
                "does not repeat its prompt, although echo = true: set echo = false, or another template"
            )
        self._echo_left = self._echo_left[size:]
        return text[size:]

    def _count(self, response: dict[str, object]) -> None:
        prompt_tokens = count_of(_first(response.get("num_input_tokens")))
        more = count_of(_first(response.get("num_output_tokens")))
        if prompt_tokens is not None:
            self._answer.prompt_tokens = prompt_tokens
        if more is not None:  # counts of this response only
            self._answer.completion_tokens = (self._answer.completion_tokens or 0) + more
        reason = _first(response.get("finish_reason"))
        if isinstance(reason, str) and reason not in NOT_FINISHED:
            self._answer.set_reason(reason)

    def _decoded(self, data: str) -> dict[str, object]:
        try:
            response: object = json.loads(data)
        except (ValueError, RecursionError):
            if self._ending:
                raise self._answer.error(f"ended its answer inside a response: {CUT_SHORT}") from None
            # Raised without the cause: its text quotes the answer.
            raise self._answer.error(
                "sent a response that is not JSON: check its url, and any proxy in front of it"
            ) from None
        if not isinstance(response, dict):
            raise self._answer.error("sent a response that is not a JSON object: check its url")
        return response


def _first(value: object) -> object:
    """Returns the first element of an output, which belongs to the first answer."""
    while isinstance(value, list):
        value = value[0] if value else None
    return "" if value is None else value
