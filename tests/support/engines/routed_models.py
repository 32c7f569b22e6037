"""Models behind a router, and questions to it, for tests on virtual time."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field

from llm.chat import (
    PLAIN,
    AnsweringEndpoint,
    ChatEvent,
    ChatOptions,
    EndpointTried,
    Finished,
    FunctionCall,
    Message,
    RequestSent,
    SlotAcquired,
    Token,
)
from llm.errors import LlmError, LlmUnreachable
from llm.routing.router import Router

HELLO = (Message("user", "what is the tallest mountain"),)
SILENT_S = 3600.0


def unreachable(name: str) -> LlmUnreachable:
    """Returns the error of an endpoint that nobody serves."""
    return LlmUnreachable(name, f"{name}: nobody there", spoken="Nobody there.", retryable=True)


@dataclass
class RoutedModel:
    """Answers after a time with a word every 20 ms, or fails.

    Attributes:
        error: What it raises.
        error_after: Number of words before the error; None: it fails before it has sent the request.
        probability: That of every word.
        call: Follows the words.
        closes_in_s: How long it takes to close a request.
        asked: The messages of each request, `asked_at_s` its time, and `options` its options.
        closed_at_s: Times at which a request was closed before its end.
        closed_in_peace: Number of such requests that were not cancelled meanwhile.
    """

    name: str
    first_token_s: float = 0.1
    words: Sequence[str] = ("It ", "is ", "Everest.")
    error: Exception | None = None
    error_after: int | None = None
    probability: float | None = None
    call: FunctionCall | None = None
    closes_in_s: float = 0.0
    detail: str = ""
    asked: list[tuple[Message, ...]] = field(default_factory=list)
    asked_at_s: list[float] = field(default_factory=list)
    options: list[ChatOptions] = field(default_factory=list)
    closed_at_s: list[float] = field(default_factory=list)
    closed_in_peace: int = 0
    loads: int = 0
    ends: int = 0

    async def load(self) -> None:
        """Counts."""
        self.loads += 1

    async def aclose(self) -> None:
        """Counts."""
        self.ends += 1

    async def stream(self, messages: Sequence[Message], options: ChatOptions = PLAIN) -> AsyncGenerator[ChatEvent]:
        """Answers."""
        loop = asyncio.get_running_loop()
        self.asked.append(tuple(messages))
        self.asked_at_s.append(loop.time())
        self.options.append(options)
        whole = False
        try:
            yield SlotAcquired()
            if self.error is not None and self.error_after is None:
                await asyncio.sleep(0.002)
                raise self.error
            yield RequestSent(0.01)
            await asyncio.sleep(self.first_token_s)
            for word in self.words[: self.error_after]:
                yield Token(word, probability=self.probability)
                await asyncio.sleep(0.02)
            if self.error is not None:
                raise self.error
            if self.call is not None:
                yield self.call
            yield Finished("stop", 10, len(self.words))
            whole = True
        finally:
            if not whole:
                self.closed_at_s.append(loop.time())
                await asyncio.sleep(self.closes_in_s)
                self.closed_in_peace += 1


@dataclass
class Question:
    """The outcome of one question; times are relative to its start."""

    events: list[ChatEvent] = field(default_factory=list)
    at_s: list[float] = field(default_factory=list)
    error: Exception | None = None

    @property
    def text(self) -> str:
        """The answer."""
        return "".join(event.text for event in self.events if isinstance(event, Token))

    @property
    def by(self) -> str:
        """The endpoint that answered."""
        return [event.by for event in self.events if isinstance(event, AnsweringEndpoint)][-1]

    @property
    def tried(self) -> list[tuple[str, str, str]]:
        """Endpoint, reason and outcome of each request."""
        return [(event.endpoint, event.why, event.outcome) for event in self.events if isinstance(event, EndpointTried)]

    @property
    def first_token_s(self) -> float:
        """The time of the first word."""
        return next(at_s for event, at_s in zip(self.events, self.at_s, strict=True) if isinstance(event, Token))


async def ask(router: Router, messages: Sequence[Message] = HELLO, options: ChatOptions = PLAIN) -> Question:
    """Asks a question, and returns its outcome."""
    loop = asyncio.get_running_loop()
    began_s, question = loop.time(), Question()
    try:
        async with aclosing(router.stream(messages, options)) as events:
            async for event in events:
                question.events.append(event)
                question.at_s.append(loop.time() - began_s)
    except LlmError as error:
        question.error = error
    return question
