"""Collects the text, the function calls and the end of one answer, for the parsers of all services."""

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass

from llm.answer_text.answer_calls import completed_calls
from llm.answer_text.answer_filter import AnswerFilter
from llm.answer_text.reasoning_habit import ReasoningHabit
from llm.answer_values import END_MARK_REASON, MAX_ANSWER_CHARS, MAX_CALLS
from llm.chat import CallInProgress, Finished, Function, FunctionCall, Token
from llm.empty_answer import CUT_SHORT, LIMIT_REASONS, SEE_ITS_LOG, EmptyAnswer, empty_answer_text, from_first_visible
from llm.errors import SPOKEN_BROKEN_OFF, SPOKEN_EMPTY, LlmBroken, LlmError, LlmFiltered
from llm.http_errors import SPOKEN_FILTER, printable
from llm.text_pieces import MoreText, Surrogates, pause_after, pieces_of, tokens_of

AnswerEvent = Token | CallInProgress | FunctionCall | Finished | MoreText

_FAILURE_REASONS = frozenset({"error", "abort", "malformed_model_output", "malformed_tool_use"})
_FILTER_REASONS = frozenset({"content_filter", "content_filtered", "guardrail_intervened", "refusal"})


@dataclass(slots=True)
class _Call:
    call_id: str
    name: str
    arguments: str = ""


class AnswerState:
    """Collects one streamed answer and checks that it is complete.

    Attributes:
        begun: Whether visible text or a function call has arrived.
        has_text: Whether any text has arrived, reasoning included.
        reason: The service's finish reason; "" until it is known.
        finished: Whether Finished was emitted.
        reasoned: Whether the service sent reasoning separately from the text.
        prompt_tokens, completion_tokens, cached_tokens: Counted by the service; None if it does not report them.
    """

    def __init__(self, endpoint: str, habit: ReasoningHabit | None = None, functions: Sequence[Function] = ()) -> None:
        """Initializes an empty answer.

        Args:
            endpoint: The endpoint's name in the configuration.
            habit: What is known about the model's reasoning; None if nothing is known.
            functions: Those of the request; a model may write their calls as text.
        """
        self.begun = False
        self.has_text = False
        self.reason = ""
        self.finished = False
        self.reasoned = False
        self.prompt_tokens: int | None = None
        self.completion_tokens: int | None = None
        self.cached_tokens: int | None = None
        self._endpoint = endpoint
        self._chars_left = MAX_ANSWER_CHARS
        self._surrogates = Surrogates()
        self._functions = functions
        self._answer_filter = AnswerFilter(habit or ReasoningHabit(), functions)
        self._calls: dict[int, _Call] = {}
        self._has_blanks = False  # text without a visible character arrived

    def add_text(
        self, text: str, probability: float | None = None
    ) -> Generator[Token | CallInProgress | MoreText, None, bool]:
        """Adds text and yields what can be passed on. Returns whether it had a whole character.

        Raises LlmBroken if the answer is too long. `probability`: that of its tokens, if the service reports it.
        """
        whole = self._surrogates.feed(text) if text else ""
        if whole:
            self.count_chars(len(whole))
            self.has_text = True
            for piece in pieces_of(whole):
                yield from self._emit(self._answer_filter.feed(piece), probability)
                yield from pause_after(piece)
            if self._answer_filter.calling:
                yield CallInProgress()
            if self._answer_filter.over:
                self.reason = self.reason or END_MARK_REASON
        return bool(whole)

    def add_reasoning(self) -> None:
        """Notes that the service sent reasoning separately from the text."""
        self.reasoned = True
        self._answer_filter.mark_separated()

    @property
    def thinking(self) -> bool:
        """Whether the last content was reasoning."""
        return self.reasoned or self._answer_filter.thinking

    def begin_call(self, index: int, call_id: str, name: str) -> Iterator[CallInProgress]:
        """Starts a function call; later pieces name the same `index`. Raises LlmBroken if there are too many calls."""
        if len(self._calls) >= MAX_CALLS:
            raise self.error(f"called more than {MAX_CALLS} functions at once: offer fewer tools")
        self.begun = True
        self._calls[index] = _Call(call_id, name)
        yield CallInProgress()

    def add_arguments(self, index: int, arguments: str) -> Iterator[CallInProgress]:
        """Adds a piece of a call's arguments. Raises LlmBroken if the answer is too long."""
        if index in self._calls:
            self.count_chars(len(arguments))
            self._calls[index].arguments += arguments
            yield CallInProgress()

    def set_reason(self, reason: str) -> None:
        """Records the finish reason. Raises LlmError if it reports a failure or a content filter."""
        known = self.reason if self.reason != END_MARK_REASON else ""
        self.reason = known or printable(reason)[:40]
        if self.reason in _FAILURE_REASONS:
            raise self.error(f"stopped its answer early ({self.reason}): {SEE_ITS_LOG}")
        if self.reason in _FILTER_REASONS:
            text = f"llm endpoint {self._endpoint!r} stopped its answer ({self.reason}): check its filter's settings"
            raise LlmFiltered(self._endpoint, text, spoken=SPOKEN_FILTER, retryable=False)

    def finish(self) -> Iterator[Token | FunctionCall | Finished | MoreText]:
        """Ends the answer: yields the complete function calls and Finished. Raises LlmBroken if there was no answer."""
        if self.finished:
            return
        if not self.reason:
            before = "" if self.begun else " before any text"
            raise self.error(f"ended its answer without an end mark{before}: {CUT_SHORT}")
        yield from self.rest(cut=self.reason in LIMIT_REASONS)
        if self.is_empty:
            raise self.error(empty_answer_text(self.empty_answer(), self.reason))
        calls = [FunctionCall(call.call_id, call.name, call.arguments) for _, call in sorted(self._calls.items())]
        yield from self.complete(calls)

    def rest(self, *, cut: bool) -> Iterator[Token | MoreText]:
        """Yields the text that was held back, at the end of the answer. `cut`: a limit ended it."""
        yield from self._emit(self._answer_filter.rest(cut=cut))

    @property
    def is_empty(self) -> bool:
        """Whether there was no answer, after `rest`."""
        return not self.begun and not self._answer_filter.calls

    def complete(self, calls: Sequence[FunctionCall]) -> Iterator[FunctionCall | Finished]:
        """Yields the function calls, including those written as text, and Finished."""
        self.finished = True
        yield from completed_calls(calls, self._answer_filter.calls, self._functions)
        yield Finished(
            self.reason,
            self.prompt_tokens,
            self.completion_tokens,
            cached_tokens=self.cached_tokens,
            unread_calls=self._answer_filter.unread_calls,
        )

    def error(self, what: str, spoken: str | None = None) -> LlmError:
        """Returns the error for an invalid answer; `what` follows the endpoint's name. `spoken`: None: the usual."""
        spoken = spoken or (SPOKEN_BROKEN_OFF if self.begun else SPOKEN_EMPTY)
        return LlmBroken(self._endpoint, f"llm endpoint {self._endpoint!r} {what}", spoken=spoken, retryable=True)

    def _emit(self, text: str, probability: float | None = None) -> Iterator[Token | MoreText]:
        if text and (self.begun or from_first_visible(text)):
            self.begun = True
            yield from tokens_of(text, probability)
        elif text:
            self._has_blanks = True

    def empty_answer(self) -> EmptyAnswer:
        """Returns what arrived in an answer without text."""
        return EmptyAnswer(
            reason=self.reason,
            reasoning=self.reasoned or self._answer_filter.seen,
            blanks=self._has_blanks,
            unread_call=self._answer_filter.unread_calls > 0,
            completion_tokens=self.completion_tokens,
        )

    def count_chars(self, chars: int) -> None:
        """Counts received characters. Raises LlmBroken if the answer is too long."""
        self._chars_left -= chars
        if self._chars_left < 0:
            raise self.error(f"sent more than {MAX_ANSWER_CHARS} characters: set max_tokens")
