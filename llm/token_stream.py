"""Parses the token lines of TGI and LMI, as server-sent events or as JSON lines. No I/O.

{"token": {"id", "text", "special"}, "generated_text": null | the whole text, "details": {"finish_reason", ...}}
{"outputs": ["text"]}                            LMI with dynamic batches; the end of the body is the end mark
{"error": "...", "error_type" | "code": ...}     also under HTTP 200
"""

import json
from collections.abc import Iterator, Sequence

from llm.answer_state import AnswerEvent, AnswerState
from llm.answer_text.reasoning_habit import ReasoningHabit
from llm.answer_values import DONE_REASON, count_of, probability_of
from llm.chat import Function
from llm.empty_answer import CUT_SHORT, SEE_ITS_LOG
from llm.http_errors import error_report_of, quoted, refused_in_stream
from llm.sse import Event, SseReader, StreamFormatError


class TokenStream:
    """Parses one response body."""

    def __init__(
        self,
        endpoint: str,
        *,
        private: Sequence[str] = (),
        suspect: str = "its payload",
        habit: ReasoningHabit | None = None,
        functions: Sequence[Function] = (),
    ) -> None:
        """Initializes the parser.

        Args:
            private: Texts that errors must not quote.
            suspect: What to check if the lines have another format, for errors.
            habit: How the model reasons, if known.
            functions: Those of the request.
        """
        self._endpoint = endpoint
        self._private = private
        self._suspect = suspect
        self._answer = AnswerState(endpoint, habit, functions)
        self._sse = SseReader()
        self._ends_with_body = False
        self._ending = False

    @property
    def finishing(self) -> bool:
        """Whether the text is complete."""
        return bool(self._answer.reason)

    def feed(self, data: bytes) -> Iterator[AnswerEvent]:
        """Yields the events in `data`, which may end anywhere; none after Finished. Raises LlmError."""
        yield from self._read(self._sse.feed(data))

    def end(self) -> Iterator[AnswerEvent]:
        """Ends the body. Raises LlmError if the answer is incomplete."""
        self._ending = True
        yield from self._read(self._sse.end())
        if self._ends_with_body and not self._answer.reason:
            self._answer.set_reason(DONE_REASON)
        yield from self._answer.finish()

    def _read(self, events: Iterator[Event]) -> Iterator[AnswerEvent]:
        try:
            for event in events:
                if not self._answer.finished:
                    yield from self._parse_event(event)
        except StreamFormatError as error:
            if not self._answer.finished:
                text = f"does not answer as a language model ({error}): check its url and {self._suspect}"
                raise self._answer.error(text) from error

    def _parse_event(self, event: Event) -> Iterator[AnswerEvent]:
        if event.data == "[DONE]":
            self._answer.set_reason(DONE_REASON)
            yield from self._answer.finish()
            return
        line = self._decoded(event.data)
        if event.name == "error" or line.get("error"):
            report = error_report_of(line)
            if report.kind == "incomplete_generation":  # TGI lost the rest of the answer
                raise self._answer.error(f"broke off its answer (incomplete_generation): {SEE_ITS_LOG}")
            raise refused_in_stream(self._endpoint, report, self._private)
        token, whole, outputs = line.get("token"), line.get("generated_text"), line.get("outputs")
        if isinstance(token, dict):
            yield from self._token(token)
        elif outputs is not None:
            self._ends_with_body = True
            for text in outputs if isinstance(outputs, list) else [outputs]:
                yield from self._answer.add_text(self._text(text))
        if isinstance(whole, str):
            if not self._answer.has_text:  # a server that does not stream sends the whole text here
                yield from self._answer.add_text(whole)
            yield from self._last(token, line.get("details"))

    def _token(self, token: dict[str, object]) -> Iterator[AnswerEvent]:
        if token.get("special") or token.get("special_token"):
            return
        probability = probability_of(token.get("logprob", token.get("log_prob")))
        yield from self._answer.add_text(self._text(token.get("text")), probability)

    def _last(self, token: object, details: object) -> Iterator[AnswerEvent]:
        details = details if isinstance(details, dict) else {}
        self._answer.prompt_tokens = _prompt_tokens_of(details)
        self._answer.completion_tokens = count_of(details.get("generated_tokens"))
        reason = str(details.get("finish_reason") or DONE_REASON)
        message = token.get("error_msg") if isinstance(token, dict) else None
        if reason == "error" and isinstance(message, str):
            raise self._answer.error(f"stopped its answer early: {SEE_ITS_LOG}{quoted(message, self._private)}")
        self._answer.set_reason(reason)
        yield from self._answer.finish()

    def _text(self, value: object) -> str:
        if value is not None and not isinstance(value, str):
            raise self._answer.error(f"sent a token whose text is not text: check {self._suspect}")
        return value or ""

    def _decoded(self, data: str) -> dict[str, object]:
        try:
            line: object = json.loads(data)
        except (ValueError, RecursionError):
            if self._ending:
                raise self._answer.error(f"ended its answer inside a line: {CUT_SHORT}") from None
            # Raised without the cause: its text quotes the answer.
            raise self._answer.error(f"sent a line that is not JSON: check {self._suspect}") from None
        if isinstance(line, list) and len(line) == 1:
            line = line[0]
        if not isinstance(line, dict):
            raise self._answer.error(f"sent a line that is not a JSON object: check {self._suspect}")
        return line


def _prompt_tokens_of(details: dict[str, object]) -> int | None:
    """Returns the prompt's token count. Older servers list the prompt's tokens instead, and only on request."""
    prefill = details.get("prefill")
    return count_of(details.get("input_length")) or (len(prefill) if isinstance(prefill, list) and prefill else None)
