"""Collects the text, the function calls and the end of one answer, for services with a stream format of their own."""

from collections.abc import Iterator
from dataclasses import dataclass

from llm.chat import CallInProgress, Finished, FunctionCall, Token
from llm.empty_answer import CUT_SHORT, SEE_ITS_LOG, TOO_LONG, Came, empty, without_blanks
from llm.errors import SPOKEN_EMPTY, SPOKEN_TORN, LlmBroken, LlmError, LlmFiltered
from llm.http_errors import SPOKEN_FILTER, shown
from llm.openai_stream import MAX_ANSWER_CHARS, MAX_CALLS
from llm.reasoning_filter import ReasoningFilter, ReasoningHabit
from llm.surrogates import Surrogates

Said = Token | CallInProgress | FunctionCall | Finished

_GIVEN_UP = frozenset({"error", "abort", "malformed_model_output", "malformed_tool_use"})
_FILTERED = frozenset({"content_filter", "content_filtered", "guardrail_intervened", "refusal"})


@dataclass(slots=True)
class _Call:
    call_id: str
    name: str
    arguments: str = ""


class AnswerState:
    """Collects one streamed answer and checks that it is complete.

    Attributes:
        begun: Whether visible text or a function call has arrived.
        came: Whether any text has arrived, reasoning included.
        reason: The service's finish reason; "" until it is known.
        over: Whether Finished was emitted.
        reasoned: Whether the service sent reasoning separately from the text.
        prompt_tokens, completion_tokens, cached_tokens: Counted by the service; None if it does not report them.
    """

    def __init__(self, endpoint: str, habit: ReasoningHabit | None = None) -> None:
        """Initializes an empty answer. `habit`: what is known about the model's reasoning; None if nothing is known."""
        self.begun = False
        self.came = False
        self.reason = ""
        self.over = False
        self.reasoned = False
        self.prompt_tokens: int | None = None
        self.completion_tokens: int | None = None
        self.cached_tokens: int | None = None
        self._endpoint = endpoint
        self._chars_left = MAX_ANSWER_CHARS
        self._surrogates = Surrogates()
        self._thoughts = ReasoningFilter(habit or ReasoningHabit())
        self._calls: dict[int, _Call] = {}
        self._blanks = False  # text without a visible character arrived

    def say(self, text: str) -> Iterator[Token]:
        """Adds text and yields what can be passed on. Raises LlmBroken if the answer is too long."""
        if text and (whole := self._surrogates.whole(text)):
            self._spend(len(whole))
            self.came = True
            yield from self._heard(self._thoughts.heard(whole))

    def call(self, index: int, call_id: str, name: str) -> Iterator[CallInProgress]:
        """Starts a function call; later pieces name the same `index`. Raises LlmBroken if there are too many calls."""
        if len(self._calls) >= MAX_CALLS:
            raise self.broken(f"called more than {MAX_CALLS} functions at once: offer fewer")
        self.begun = True
        self._calls[index] = _Call(call_id or f"call_{index}", name)
        yield CallInProgress()

    def argue(self, index: int, arguments: str) -> Iterator[CallInProgress]:
        """Adds a piece of a call's arguments. Raises LlmBroken if the answer is too long."""
        if index in self._calls:
            self._spend(len(arguments))
            self._calls[index].arguments += arguments
            yield CallInProgress()

    def stop(self, reason: str) -> None:
        """Records the finish reason. Raises LlmError if it reports a failure or a content filter."""
        self.reason = self.reason or shown(reason)[:40]
        if self.reason in _GIVEN_UP:
            raise self.broken(f"gave up its answer ({self.reason}): {SEE_ITS_LOG}")
        if self.reason in _FILTERED:
            text = f"llm endpoint {self._endpoint!r} stopped its answer ({self.reason}): see its filter's settings"
            raise LlmFiltered(self._endpoint, text, spoken=SPOKEN_FILTER, retryable=False)

    def finish(self) -> Iterator[Token | FunctionCall | Finished]:
        """Ends the answer: yields the complete function calls and Finished. Raises LlmBroken if there was no answer."""
        if self.over:
            return
        if not self.reason:
            before = "" if self.begun else " before any text"
            raise self.broken(f"ended its answer without an end mark{before}: {CUT_SHORT}")
        yield from self._heard(self._thoughts.rest(cut=self.reason in TOO_LONG))
        if not self.begun:
            raise self.broken(empty(self._what_came(), self.reason))
        self.over = True
        for _, call in sorted(self._calls.items()):
            yield FunctionCall(call.call_id, call.name, call.arguments or "{}")
        yield Finished(self.reason, self.prompt_tokens, self.completion_tokens, cached_tokens=self.cached_tokens)

    def broken(self, what: str) -> LlmError:
        """Returns the error for an invalid answer; `what` follows the endpoint's name."""
        spoken = SPOKEN_TORN if self.begun else SPOKEN_EMPTY
        return LlmBroken(self._endpoint, f"llm endpoint {self._endpoint!r} {what}", spoken=spoken, retryable=True)

    def _heard(self, text: str) -> Iterator[Token]:
        if text and (self.begun or without_blanks(text)):
            self.begun = True
            yield Token(text)
        elif text:
            self._blanks = True

    def _what_came(self) -> Came:
        return Came(
            reason=self.reason,
            reasoning=self.reasoned or self._thoughts.came,
            blanks=self._blanks,
            completion_tokens=self.completion_tokens,
        )

    def _spend(self, chars: int) -> None:
        self._chars_left -= chars
        if self._chars_left < 0:
            raise self.broken(f"went on past {MAX_ANSWER_CHARS} characters: set max_tokens")
