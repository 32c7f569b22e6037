"""Enforces the deadlines of an answer: for its first content token and between content tokens.

httpx's read timeout applies between bytes; keep-alive comments of a stalled service would renew it forever.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import aclosing, suppress
from dataclasses import dataclass
from typing import Protocol, Self, TypedDict, runtime_checkable

from llm.answer_length import AnswerLength
from llm.chat import TOKEN_GAP_TIMEOUT_S, ChatEvent, Finished, RequestSent, SlotAcquired, Token
from llm.errors import SPOKEN_BROKEN_OFF, SPOKEN_EMPTY, LlmError, LlmTooSlow
from llm.text_pieces import MoreText

USAGE_TIMEOUT_S = 0.5
"""Deadline for token counts and the end mark after the text. The answer does not depend on them."""

DRAIN_TIMEOUT_S = 0.05
"""Deadline from the end mark to the end of the body, after which the connection can be reused."""

THINKING_OFF = "by its parameters, as chat_template_kwargs = { enable_thinking = false } or reasoning_effort"
"""Advice on turning reasoning off; the model's documentation says which parameter applies."""

LOADING = "if the model is still being loaded, wait, or load it there first; otherwise "
"""Part of an error's remedy."""

NEXT_CONTENT = "next content token"
"""Name of the awaited piece after the first content."""

SPOKEN_TOO_SLOW = "My language model did not answer in time."
SPOKEN_STALLED = "My language model stopped in the middle of its answer."


class StreamParser(Protocol):
    """Parses the bytes of one answer in a service's format. No I/O."""

    @property
    def finishing(self) -> bool:
        """Whether the text is complete; only token counts and end marks can follow."""
        ...

    def feed(self, data: bytes) -> Iterable[ChatEvent | MoreText]:
        """Returns the events in `data`, which may end anywhere. Raises LlmError."""
        ...

    def end(self) -> Iterable[ChatEvent | MoreText]:
        """Ends the body, or gives up waiting for its rest. Yields Finished unless that was done. Raises LlmError."""
        ...


@runtime_checkable
class ReasoningParser(Protocol):
    """A StreamParser that recognizes reasoning."""

    @property
    def thinking(self) -> bool:
        """Whether the last content was reasoning, which is not spoken."""
        ...


IncomingStream = AsyncGenerator[SlotAcquired | RequestSent | bytes]
"""Events and bytes of a request, as from `HttpStream.post`."""


class DeadlineOptions(TypedDict, total=False):
    """The deadlines of `TokenDeadlines`; defaults are 8 s and 5 s."""

    first_token_timeout_s: float
    token_gap_timeout_s: float


@dataclass(frozen=True, slots=True)
class TokenDeadlines:
    """The deadlines of an answer.

    Attributes:
        endpoint: The endpoint's name in the configuration.
        where: Its address, for messages.
        first_token_timeout_s: From the call to the first content token, the wait for a connection included.
        token_gap_timeout_s: From the consumption of one content token to the next token.
    """

    endpoint: str
    where: str
    first_token_timeout_s: float
    token_gap_timeout_s: float

    def __post_init__(self) -> None:
        """Raises ValueError for an invalid deadline; the text names the endpoint and the setting."""
        for setting in ("first_token_timeout_s", "token_gap_timeout_s"):
            if not (value_s := getattr(self, setting)) > 0:
                raise ValueError(f"llm endpoint {self.endpoint!r}: {setting} must be greater than 0, not {value_s}")

    @classmethod
    def of(cls, endpoint: str, where: str, limits: DeadlineOptions) -> Self:
        """Returns the deadlines of an endpoint. Raises ValueError as the class does."""
        gap_s = limits.get("token_gap_timeout_s", TOKEN_GAP_TIMEOUT_S)
        return cls(endpoint, where, limits.get("first_token_timeout_s", 8.0), gap_s)

    def too_slow(self, waiting_for: str, *, thinking: bool = False) -> LlmTooSlow:
        """Returns the error for a missed deadline. `thinking`: only reasoning arrived."""
        gap = waiting_for == NEXT_CONTENT
        limit = "token_gap_timeout_s" if gap else "first_token_timeout_s"
        value_s = self.token_gap_timeout_s if gap else self.first_token_timeout_s
        text = f"llm endpoint {self.endpoint!r} at {self.where} gave no {waiting_for} within {value_s:g} s"
        load = f"{LOADING if waiting_for == 'first content token' else ''}check the server's load"
        remedy = f"it is still thinking: turn that off ({THINKING_OFF})" if thinking else load
        return LlmTooSlow(
            self.endpoint,
            f"{text}: {remedy}, or raise {limit}",
            spoken=SPOKEN_STALLED if gap else SPOKEN_TOO_SLOW,
            retryable=True,
        )


async def with_deadlines(
    ask: Callable[[], tuple[IncomingStream, StreamParser]], deadlines: TokenDeadlines, max_tokens: int | None = None
) -> AsyncGenerator[ChatEvent]:
    """Yields the events of an answer and enforces its deadlines.

    Args:
        ask: Called at the first iteration, so that its errors reach the consumer. Returns the incoming bytes, which are
            closed here, and their parser. Read to its end: leaving earlier, even at Finished, closes the connection.
        deadlines: The deadlines; the one for the first token starts at the first iteration.
        max_tokens: The tokens to which the request limits the answer; None: to none.

    Raises:
        LlmTooSlow: A deadline passed.
        LlmBroken: The answer is much longer than was asked for.
        LlmError: As `ask`, the incoming stream and the parser raise it.
    """
    loop = asyncio.get_running_loop()
    deadline_s = loop.time() + deadlines.first_token_timeout_s
    waiting_for = "connection"
    length = AnswerLength(deadlines.endpoint, max_tokens)
    incoming, parser = ask()
    async with aclosing(incoming):
        while True:
            try:
                async with asyncio.timeout_at(deadline_s):
                    item = await anext(incoming, None)
            except TimeoutError as error:
                if not parser.finishing:
                    thinking = isinstance(parser, ReasoningParser) and parser.thinking
                    raise deadlines.too_slow(waiting_for, thinking=thinking) from error
                item = None
            except LlmError as error:
                if not parser.finishing:
                    _correct_spoken(error, waiting_for)
                    raise
                item = None  # the text is complete; only token counts are missing
            if isinstance(item, SlotAcquired | RequestSent):
                yield item
                waiting_for = "first content token"
                continue
            was_finishing = parser.finishing
            for event in parser.end() if item is None else parser.feed(item):
                if isinstance(event, MoreText):
                    await asyncio.sleep(0)
                    continue
                if isinstance(event, Token):
                    length.add_text(event.text)
                yield event
                if isinstance(event, Finished):
                    await _drain(incoming)
                    return
                # Starts when the consumer asks for more: its own time does not count against the service.
                deadline_s = loop.time() + deadlines.token_gap_timeout_s
                waiting_for = NEXT_CONTENT
            if parser.finishing and not was_finishing:
                deadline_s = min(deadline_s, loop.time() + USAGE_TIMEOUT_S)


def _correct_spoken(error: LlmError, waiting_for: str) -> None:
    """Corrects what is said about a lost connection, which cannot tell whether content arrived."""
    if error.spoken == SPOKEN_BROKEN_OFF and waiting_for != NEXT_CONTENT:
        error.spoken = SPOKEN_EMPTY


async def _drain(incoming: IncomingStream) -> None:
    with suppress(LlmError, TimeoutError):
        async with asyncio.timeout(DRAIN_TIMEOUT_S):
            async for _ in incoming:
                pass
