"""The deadlines of an answer: on its first content token and between content tokens, whatever else comes meanwhile.

httpx's own read timeout is between bytes, so that keep-alive comments of a stalled service would renew it for ever.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import aclosing, suppress
from dataclasses import dataclass
from typing import Protocol, Self, TypedDict, runtime_checkable

from llm.chat import ChatEvent, Finished, RequestSent, SlotAcquired
from llm.errors import SPOKEN_EMPTY, SPOKEN_TORN, LlmError, LlmTooSlow

USAGE_TIMEOUT_S = 0.5
"""From the model's last word to the token counts and the end mark, which are due at once; no answer hangs on them."""

DRAIN_TIMEOUT_S = 0.05
"""From the end mark to the end of the body, after which the connection can be used again."""

THINKING_OFF = "by its parameters, as chat_template_kwargs = { enable_thinking = false } or reasoning_effort"
"""How: the model's maker says which."""

LOADING = "if it is still loading its model, wait for that or load it there first; else "
"""In an error's remedy."""

NEXT = "next content token"
"""What is waited for once something was said."""

SPOKEN_TOO_SLOW = "My language model did not answer in time."
SPOKEN_STALLED = "My language model stopped in the middle of its answer."


class StreamParser(Protocol):
    """The meaning of one answer's bytes, as a service writes them. No I/O."""

    @property
    def finishing(self) -> bool:
        """Whether the text is complete, and only counts and end marks are still to come."""
        ...

    def feed(self, data: bytes) -> Iterable[ChatEvent]:
        """Take the next bytes, cut anywhere. Raises LlmError."""
        ...

    def end(self) -> Iterable[ChatEvent]:
        """The body has ended, or is given up after `finishing`: Finished, unless it was given. Raises LlmError."""
        ...


@runtime_checkable
class ReasoningParser(Protocol):
    """A Reading that knows thoughts."""

    @property
    def thinking(self) -> bool:
        """Whether the last that came were thoughts, which nobody hears."""
        ...


Arriving = AsyncGenerator[SlotAcquired | RequestSent | bytes]
"""What comes of a request, as from `HttpStream.post`."""


class DeadlineOptions(TypedDict, total=False):
    """The deadlines of answers, as `Pace` has them; all may be left out: 8 s and 5 s."""

    first_token_timeout_s: float
    token_gap_timeout_s: float


@dataclass(frozen=True, slots=True)
class TokenDeadlines:
    """How long the parts of an answer may take.

    Attributes:
        endpoint: Its name in the configuration.
        where: Its address for people.
        first_token_timeout_s: From the call to the first content token, waiting for a connection included.
        token_gap_timeout_s: From when one content token was taken to the next.
    """

    endpoint: str
    where: str
    first_token_timeout_s: float
    token_gap_timeout_s: float

    def __post_init__(self) -> None:
        """Raises ValueError, naming the endpoint and the setting, for what can never work."""
        for setting in ("first_token_timeout_s", "token_gap_timeout_s"):
            if not (value_s := getattr(self, setting)) > 0:
                raise ValueError(f"llm endpoint {self.endpoint!r}: {setting} must be greater than 0, not {value_s}")

    @classmethod
    def of(cls, endpoint: str, where: str, limits: DeadlineOptions) -> Self:
        """Those of an endpoint. Raises ValueError as the class does."""
        return cls(endpoint, where, limits.get("first_token_timeout_s", 8.0), limits.get("token_gap_timeout_s", 5.0))

    def too_slow(self, waiting_for: str, *, thinking: bool = False) -> LlmTooSlow:
        """The error for a wait that took too long. `thinking`: all that came were thoughts."""
        gap = waiting_for == NEXT
        limit = "token_gap_timeout_s" if gap else "first_token_timeout_s"
        value_s = self.token_gap_timeout_s if gap else self.first_token_timeout_s
        text = f"llm endpoint {self.endpoint!r} at {self.where} gave no {waiting_for} within {value_s:g} s"
        load = f"{LOADING if waiting_for == 'first content token' else ''}see the server's load"
        remedy = f"it is still thinking: turn that off ({THINKING_OFF})" if thinking else load
        return LlmTooSlow(
            self.endpoint,
            f"{text}: {remedy}, or raise {limit}",
            spoken=SPOKEN_STALLED if gap else SPOKEN_TOO_SLOW,
            retryable=True,
        )


async def paced(ask: Callable[[], tuple[Arriving, StreamParser]], pace: TokenDeadlines) -> AsyncGenerator[ChatEvent]:
    """The events of an answer, in time.

    Args:
        ask: Called at the first pull, so that whatever it raises reaches whoever listens: what arrives, which is
            closed here, and what its bytes mean. Read to its end: leaving at Finished, too, costs the connection.
        pace: The deadlines; that on the first token counts from the first pull.

    Raises:
        LlmError: What `ask`, the arriving or the reading raises, and LlmTooSlow.
    """
    loop = asyncio.get_running_loop()
    deadline_s = loop.time() + pace.first_token_timeout_s
    waiting_for = "connection"
    arriving, reading = ask()
    async with aclosing(arriving):
        while True:
            try:
                async with asyncio.timeout_at(deadline_s):
                    item = await anext(arriving, None)
            except TimeoutError as error:
                if not reading.finishing:
                    thinking = isinstance(reading, ReasoningParser) and reading.thinking
                    raise pace.too_slow(waiting_for, thinking=thinking) from error
                item = None
            except LlmError as error:
                if not reading.finishing:
                    if error.spoken == SPOKEN_TORN and waiting_for != NEXT:
                        error.spoken = SPOKEN_EMPTY  # who reads the connection does not know words
                    raise
                item = None  # the text is whole; what its connection still owed were counts
            if isinstance(item, SlotAcquired | RequestSent):
                yield item
                waiting_for = "first content token"
                continue
            was_finishing = reading.finishing
            for event in reading.end() if item is None else reading.feed(item):
                yield event
                if isinstance(event, Finished):
                    await _drain(arriving)
                    return
                # Counted from when the listener comes back: its own time is not the service's.
                deadline_s = loop.time() + pace.token_gap_timeout_s
                waiting_for = NEXT
            if reading.finishing and not was_finishing:
                deadline_s = min(deadline_s, loop.time() + USAGE_TIMEOUT_S)


async def _drain(arriving: Arriving) -> None:
    with suppress(LlmError, TimeoutError):
        async with asyncio.timeout(DRAIN_TIMEOUT_S):
            async for _ in arriving:
                pass
