"""Explains why an answer has no text, with a remedy. Pure: no I/O.

A service may end its answer properly without any text. The other parts of the answer tell why.
"""

import re
from dataclasses import dataclass

from llm.token_deadlines import THINKING_OFF

SEE_ITS_LOG = "see the log of its model server"
"""The remedy if only the service knows more. It does not say "the server's log", which would be Repartee's own."""

CUT_SHORT = f"its model server, or a proxy in front of it, closed the stream early; {SEE_ITS_LOG}"

LIMIT_REASONS = frozenset({"length", "max_tokens", "model_context_window_exceeded"})
"""Finish reasons that report a limit."""

_CALL_REASONS = frozenset({"tool_calls", "function_call", "tool_use"})
"""Finish reasons that announce a function call."""

_INVISIBLE = re.compile(
    "[\\s\x00-\x1f\x7f-\xa0\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffc\U000e0000-\U000e0fff]*"
)
"""Invisible characters: whitespace, zero-width and control characters, and fillers."""


@dataclass(frozen=True, slots=True)
class EmptyAnswer:
    """Parts that arrived in an answer without text.

    Attributes:
        reason: The service's finish reason; "" if it gave none.
        events: Whether any event arrived.
        choices: Whether a choice, or its equivalent in other protocols, arrived.
        reasoning: Whether reasoning arrived.
        blanks: Whether text arrived that has only invisible characters.
        unnamed_call: Whether a function call without a name arrived.
        unread_call: Whether the model wrote a function call as text that could not be read.
        completion_tokens: Counted by the service; None if it does not report them.
    """

    reason: str
    events: bool = True
    choices: bool = True
    reasoning: bool = False
    blanks: bool = False
    unnamed_call: bool = False
    unread_call: bool = False
    completion_tokens: int | None = None


def from_first_visible(text: str) -> str:
    """Returns the text from its first visible character on; "" if there is none."""
    match = _INVISIBLE.match(text)
    return text[match.end() :] if match else text


def cause_of_empty_answer(answer: EmptyAnswer) -> str:
    """Returns the first cause that matches the answer, a colon, and the remedy."""
    off = f"turn its thinking off ({THINKING_OFF})"
    parser = "check its server's tool-call parser and chat template"
    at_limit = answer.reason in LIMIT_REASONS
    full = answer.reason == "model_context_window_exceeded"
    count = "" if answer.completion_tokens is None else f" after {_tokens(answer.completion_tokens)}"
    causes = (
        (answer.reasoning and at_limit, f"its reasoning used all its tokens: raise llm.max_tokens, or {off}"),
        (full, "the prompt fills its context window: give its server a longer one, or shorten the instructions"),
        (at_limit, "its token limit came before its first word: raise llm.max_tokens, or its server's context length"),
        (answer.unnamed_call, f"it called a function without naming it: {parser}"),
        (answer.unread_call, f"it wrote a function call as text that could not be read: {parser}"),
        (answer.reason in _CALL_REASONS, f"it announced a function call and sent none: {parser}"),
        (answer.reasoning, f"it sent its reasoning only: {off}, or check its server's reasoning parser"),
        (answer.blanks, "it sent only blanks: check its server's chat template, or choose another model"),
        (not answer.events, f"it sent nothing at all: check its url and any proxy in front of it, or {SEE_ITS_LOG}"),
        (not answer.choices, f"it sent no choice: check the name of its model, or {SEE_ITS_LOG}"),
    )
    at_once = f"its model stopped at once{count}: check its server's chat template, or choose another model"
    return next((cause for fits, cause in causes if fits), at_once)


def empty_answer_text(answer: EmptyAnswer, reason: str) -> str:
    """Returns the error text after the endpoint's name. `reason`: how the service ended its answer."""
    return f"ended its answer without any text ({reason}), {cause_of_empty_answer(answer)}"


def _tokens(count: int) -> str:
    return "1 token" if count == 1 else f"{count} tokens"
