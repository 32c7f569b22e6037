"""Answers a question with a small or a large model, and asks the large one if the small one declines or is unsure.

    score of the request ─▶ small ─▶ first words ─▶ an answer: passed on
                         │                       └▶ a refusal, or low probability ─▶ large, once
                         └▶ large

The small model's request stays open until the first token of the large one: if that never comes, its words are used.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace

from llm.chat import (
    AnsweringEndpoint,
    CallInProgress,
    ChatEvent,
    ChatOptions,
    EndpointTried,
    Escalated,
    Finished,
    FunctionCall,
    Message,
    RequestSent,
    Size,
    SizeChosen,
    SlotAcquired,
    Token,
    Why,
)
from llm.errors import LlmError
from llm.routing.endpoint_selection import Routing
from llm.routing.first_sentence import FirstSentence, Verdict
from llm.routing.request_size import request_size

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SizeRules:
    """How endpoints of two sizes share the questions.

    Attributes:
        language: Language tag of the conversations, for the score of a request.
        escalate: Whether the large model is asked when the small one declines.
        min_probability: Mean probability of the small model's first tokens below which the large one is asked; 0: it
            does not count.
    """

    language: str = "en"
    escalate: bool = True
    min_probability: float = 0.0


@dataclass(frozen=True, slots=True)
class SizedRequest:
    """A request to the endpoints of one size.

    Attributes:
        size: The size; None: any.
        deadline_s: Deadline for the first token, of all requests of the question together.
        prompt_tokens: Estimate of the messages' tokens.
        only: Ask no endpoint without this size.
        why: Reason for the first request.
    """

    messages: Sequence[Message]
    options: ChatOptions
    deadline_s: float
    prompt_tokens: int
    size: Size | None = None
    only: bool = False
    why: Why = "first"


Ask = Callable[[SizedRequest], AsyncGenerator[ChatEvent]]


class SizedAnswer:
    """One question to endpoints of two sizes."""

    def __init__(self, ask: Ask, routing: Routing, rules: SizeRules, question: SizedRequest) -> None:
        """`ask`: sends a request. `question`: its size is chosen here, unless its options have one."""
        self._ask = ask
        self._routing = routing
        self._rules = rules
        self._question = question

    async def stream(self) -> AsyncGenerator[ChatEvent]:
        """Yields the events of the answer. Raises LlmError."""
        wanted, messages = self._question.options.size, self._question.messages
        size = wanted
        if size is None:
            scored = request_size(messages, self._rules.language)
            size = scored.size
            if messages and messages[-1].role == "user":  # not after tool calls: it was told before
                yield SizeChosen(size, scored.why)
        judged = size == "small" and wanted is None and self._rules.escalate and self._has_large
        async with aclosing(self._small() if judged else self._ask(replace(self._question, size=size))) as events:
            async for event in events:
                yield event

    @property
    def _has_large(self) -> bool:
        return any(endpoint.size == "large" for endpoint in self._routing.endpoints)

    async def _small(self) -> AsyncGenerator[ChatEvent]:
        """Asks the small model, holds its first words, and passes them on unless they decline."""
        judge, held, verdict = FirstSentence(self._rules.min_probability), _Held(), Verdict.UNDECIDED
        options = replace(self._question.options, probabilities=self._rules.min_probability > 0)
        async with aclosing(self._ask(replace(self._question, size="small", options=options))) as small:
            try:
                async for event in small:
                    if verdict is Verdict.ANSWER or held.passes(event):
                        yield event
                        continue
                    held.events.append(event)
                    verdict = _verdict_after(event, judge)
                    if verdict in {Verdict.DECLINES, Verdict.UNSURE}:
                        break
                    for one in held.release() if verdict is Verdict.ANSWER else ():
                        yield one
            except LlmError:
                for one in held.release():
                    yield one
                raise
            if verdict in {Verdict.DECLINES, Verdict.UNSURE}:
                async with aclosing(self._escalated(small, held, _reason(verdict, judge))) as events:
                    async for event in events:
                        yield event

    async def _escalated(self, small: AsyncGenerator[ChatEvent], held: "_Held", why: str) -> AsyncGenerator[ChatEvent]:
        """Asks the large model, once. If none answers, goes on with the small one's words."""
        decided_s, taken = _now_s(), False
        if self._routing.has_healthy("large", decided_s):
            yield Escalated(why)
            try:
                large = self._ask(replace(self._question, size="large", only=True, why="escalation"))
                async with aclosing(large):
                    async for event in large:
                        if not taken and isinstance(event, Token | CallInProgress | FunctionCall):
                            taken = True
                            await small.aclose()
                            for tried in held.wasted(decided_s, self._routing, self._question.prompt_tokens):
                                yield tried
                        yield event
            except LlmError:
                if taken:
                    raise
        if taken:
            return
        log.warning("no large llm endpoint answers, so the small one's words are used although it %s", why)
        yield AnsweringEndpoint(held.by)
        yield Escalated(why, failed=True)
        for event in held.release():
            yield event
        async for event in small:
            yield event


@dataclass(slots=True)
class _Held:
    """Events of the small model that are held until its first words are judged.

    Attributes:
        by: The endpoint that answers.
        events: The held events, in order.
    """

    by: str = ""
    events: list[ChatEvent] = field(default_factory=list)

    def passes(self, event: ChatEvent) -> bool:
        """Returns whether an event is passed on at once: it has no words, and does not depend on the verdict."""
        if isinstance(event, AnsweringEndpoint):
            self.by = event.by
        if isinstance(event, EndpointTried):
            return event.outcome != "answered"
        return isinstance(event, AnsweringEndpoint | SlotAcquired | RequestSent)

    def release(self) -> list[ChatEvent]:
        """Returns the held events, which are no longer held."""
        events, self.events = self.events, []
        return events

    def wasted(self, decided_s: float, routing: Routing, prompt_tokens: int) -> list[EndpointTried]:
        """Returns the outcome of the request whose words were not used."""
        tokens = prompt_tokens + sum(isinstance(event, Token) for event in self.events)
        return [
            replace(
                event,
                outcome="escalated",
                took_s=decided_s - event.asked_at_s,
                extra_tokens=tokens,
                extra_cost=sum(
                    endpoint.price(prompt_tokens, tokens - prompt_tokens)
                    for endpoint in routing.endpoints
                    if endpoint.name == event.endpoint
                ),
            )
            for event in self.events
            if isinstance(event, EndpointTried)
        ]


def _verdict_after(event: ChatEvent, judge: FirstSentence) -> Verdict:
    """Returns the verdict after a held event. A function call, and words of another size, are not judged."""
    if isinstance(event, Token):
        return judge.feed(event)
    if isinstance(event, Finished):
        return judge.finish()
    return Verdict.UNDECIDED if isinstance(event, EndpointTried) else Verdict.ANSWER


def _reason(verdict: Verdict, judge: FirstSentence) -> str:
    if verdict is Verdict.DECLINES:
        return "declines"
    return f"is unsure (mean probability {judge.probability or 0.0:.2f})"


def _now_s() -> float:
    return asyncio.get_running_loop().time()
