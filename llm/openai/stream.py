"""Parses an OpenAI-compatible chat stream: bytes in, tokens and the end, or an error, out. No I/O.

HTTP 200 is not success: the service may still report an error, abort, filter, or simply stop.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace

from llm.answer_state import AnswerEvent, AnswerState
from llm.answer_text.reasoning_habit import ReasoningHabit
from llm.answer_values import DONE_REASON, MAX_CALLS, count_of, mean_probability
from llm.chat import CallExtra, CallInProgress, Function, FunctionCall, Token
from llm.empty_answer import CUT_SHORT, SEE_ITS_LOG, EmptyAnswer, empty_answer_text
from llm.errors import SPOKEN_BROKEN_OFF, SPOKEN_EMPTY, LlmFiltered
from llm.http_errors import SPOKEN_FILTER, SPOKEN_PROXY, ErrorReport, error_report_of, printable, refused_in_stream
from llm.openai.calls import CallAssembler, PartialCall
from llm.sse import Event, SseReader, StreamFormatError
from llm.text_pieces import MoreText

_NO_REASON = frozenset({"", "null", "None"})
"""Values of finish_reason that some services send before the end."""

_FAILURE_REASONS = frozenset({"error", "abort", "insufficient_system_resource"})
"""Finish reasons that report a failure; the last one is DeepSeek's."""

_MESSAGES = frozenset({"", "message"})
"""Names of events that carry an answer. An event with another name that is not JSON ("ping") is ignored."""

_REASONING = ("reasoning_content", "reasoning", "reasoning_details")
"""Fields in which services send reasoning that is not content."""


class OpenAIStream:
    """Parses one response body."""

    def __init__(
        self,
        endpoint: str,
        *,
        private: Sequence[str] = (),
        habit: ReasoningHabit | None = None,
        functions: Sequence[Function] = (),
    ) -> None:
        """Initializes the parser.

        Args:
            endpoint: The endpoint's name in the configuration.
            private: Texts that errors must not quote.
            habit: How the model reasons, known from earlier answers.
            functions: Those of the request; a model may write their calls as text.
        """
        self._endpoint = endpoint
        self._private = private
        self._sse = SseReader()
        self._answer = AnswerState(endpoint, habit, functions)
        self._unknown_format = False
        self._events = False
        self._choices = False
        self._ending = False
        self._calls = CallAssembler()

    @property
    def finishing(self) -> bool:
        """Whether the service gave its finish_reason; only token counts and the end mark can follow."""
        return bool(self._answer.reason)

    @property
    def thinking(self) -> bool:
        """Whether the last content was reasoning."""
        return self._answer.thinking

    def feed(self, data: bytes) -> Iterator[AnswerEvent]:
        """Yields the events in `data`, which may end anywhere; none after Finished. Iterate it to its end.

        Raises LlmError, after all events before the fault.
        """
        yield from self._read(self._sse.feed(data))

    def end(self) -> Iterator[AnswerEvent]:
        """Ends the body, or gives up waiting for its rest. Raises LlmError if the answer is incomplete."""
        self._ending = True
        yield from self._read(self._sse.end())
        if not self._answer.finished:
            if not self._answer.reason and self._unknown_format and not self._answer.begun:
                raise self._answer.error("answers, but not with chat completions: check its url, and its kind")
            if not self._answer.reason and not self._events:
                raise self._answer.error(empty_answer_text(self._empty_answer(), "an empty body"))
            if not self._answer.reason:
                raise self._answer.error(f"ended its answer without an end mark{self._before_text}: {CUT_SHORT}")
            yield from self._finish()

    def _read(self, events: Iterator[Event]) -> Iterator[AnswerEvent]:
        try:
            for event in events:
                if not self._answer.finished:
                    yield from self._parse_event(event)
        except StreamFormatError as error:
            if self._answer.finished:
                return
            spoken = SPOKEN_PROXY if not self._answer.begun else SPOKEN_BROKEN_OFF
            text = f"does not answer as a language model ({error}): check its url, and any proxy in front of it"
            raise self._answer.error(text, spoken) from error

    def _parse_event(self, event: Event) -> Iterator[AnswerEvent]:
        self._events = True
        if event.data == "[DONE]":
            self._answer.reason = self._answer.reason or DONE_REASON
            yield from self._finish()
            return
        chunk = self._decoded(event)
        if event.name == "error" or chunk.get("error") or chunk.get("object") == "error":
            raise refused_in_stream(self._endpoint, error_report_of(chunk), self._private)
        self._count(chunk.get("usage"))
        self._unknown_format = self._unknown_format or not {"choices", "usage", "object"} & chunk.keys()
        choices = chunk.get("choices")
        for choice in choices if isinstance(choices, list) else ():
            if isinstance(choice, dict) and not choice.get("index"):
                self._choices = True
                yield from self._choice(choice)

    def _decoded(self, event: Event) -> dict[str, object]:
        try:
            chunk: object = json.loads(event.data)
        except (ValueError, RecursionError):
            if self._ending and self.finishing:
                return {}  # truncated token counts
            if self._ending:
                raise self._answer.error(f"ended its answer in the middle of an event: {CUT_SHORT}") from None
            if event.name == "error":
                report = ErrorReport(event.data, "", None)
                raise refused_in_stream(self._endpoint, report, self._private) from None
            if event.name not in _MESSAGES:
                return {}
            # Raised without the cause: its text quotes the answer.
            raise self._answer.error(
                "sent an event that is not JSON: check its url, and any proxy in front of it"
            ) from None
        if isinstance(chunk, list) and len(chunk) == 1:  # Gemini's errors
            chunk = chunk[0]
        if not isinstance(chunk, dict):
            raise self._answer.error("sent an event that is not a JSON object: check its url")
        return chunk

    def _choice(self, choice: dict[str, object]) -> Iterator[Token | CallInProgress | MoreText]:
        # A service that cannot stream sends the whole answer in `message`. Some services repeat it there after they
        # streamed it.
        delta = choice.get("delta") or (None if self._answer.begun or self._answer.has_text else choice.get("message"))
        # OpenAI sends the text of a refusal in a separate field.
        content = self._text_of(delta.get("content") or delta.get("refusal")) if isinstance(delta, dict) else ""
        if (yield from self._answer.add_text(content, mean_probability(choice.get("logprobs")))):
            self._answer.reasoned = False
        elif isinstance(delta, dict) and any(delta.get(field) for field in _REASONING):
            self._answer.add_reasoning()
        calls = delta.get("tool_calls") if isinstance(delta, dict) else None
        for number, call in enumerate(calls if isinstance(calls, list) else ()):
            if isinstance(call, dict):
                self._call(call, number)
                yield CallInProgress()
        reason = printable(str(choice.get("finish_reason") or ""))[:40]
        if reason not in _NO_REASON:
            self._answer.reason = reason
            self._check_reason()

    def _text_of(self, content: object) -> str:
        """Returns the text of content, which may be a list of parts. Parts of other types are reasoning."""
        if isinstance(content, list):
            self._answer.add_reasoning()  # reset by the caller if there is text
            texts = [part.get("text") for part in content if isinstance(part, dict) and part.get("type") == "text"]
            return "".join(text for text in texts if isinstance(text, str))
        if content is not None and not isinstance(content, str):
            raise self._answer.error("sent content that is not text: check that its model writes text only")
        return content or ""

    def _call(self, part: dict[str, object], number: int) -> None:
        index = part.get("index")
        too_many = isinstance(index, int) and not 0 <= index < MAX_CALLS
        self._answer.count_chars(self._calls.add_part(part, number))
        if too_many or len(self._calls.calls) > MAX_CALLS:
            raise self._answer.error(f"called more than {MAX_CALLS} functions at once: check its model's template")
        self._answer.begun = self._answer.begun or any(call.name or call.arguments for call in self._calls.calls)

    def _check_reason(self) -> None:
        if self._answer.reason in _FAILURE_REASONS:
            raise self._answer.error(f"stopped its answer early (finish_reason {self._answer.reason}): {SEE_ITS_LOG}")
        if self._answer.reason == "content_filter":
            text = "stopped its answer (finish_reason content_filter): check its filter's settings"
            text = f"llm endpoint {self._endpoint!r} {text}"
            raise LlmFiltered(self._endpoint, text, spoken=SPOKEN_FILTER, retryable=False)

    def _count(self, usage: object) -> None:
        if isinstance(usage, dict):
            self._answer.prompt_tokens = count_of(usage.get("prompt_tokens"))
            self._answer.completion_tokens = count_of(usage.get("completion_tokens"))
            details = usage.get("prompt_tokens_details")
            self._answer.cached_tokens = count_of(details.get("cached_tokens")) if isinstance(details, dict) else None

    def _finish(self) -> Iterator[AnswerEvent]:
        yield from self._answer.rest(cut=self._answer.reason == "length")
        if self._answer.is_empty:
            done = self._answer.reason == DONE_REASON
            reason = "[DONE]" if done else f"finish_reason {self._answer.reason}"
            raise self._answer.error(empty_answer_text(self._empty_answer(), reason), SPOKEN_EMPTY)
        if any(call.arguments and not call.name for call in self._calls.calls):
            raise self._answer.error("called a function without naming it: check its model's template")
        # Some services send an empty call with every answer.
        yield from self._answer.complete(
            [
                FunctionCall(call.call_id, call.name, call.arguments, self._extra_of(call))
                for call in self._calls.calls
                if call.name
            ]
        )

    def _extra_of(self, call: PartialCall) -> CallExtra | None:
        return CallExtra(self._endpoint, json.dumps(call.extra)) if call.extra else None

    def _empty_answer(self) -> EmptyAnswer:
        return replace(
            self._answer.empty_answer(),
            events=self._events,
            choices=self._choices,
            unnamed_call=bool(self._calls.calls),
        )

    @property
    def _before_text(self) -> str:
        if self._answer.begun:
            return ""
        return " while it was still reasoning" if self.thinking else " before any text"
