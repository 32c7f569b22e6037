"""Answers a question with a small or a large model, and asks the large one if the small one declines or is unsure.

    score of the request ─▶ small ─▶ first words ─▶ an answer: passed on
                         │                       └▶ a refusal, or low probability ─▶ large, once
                         └▶ large (with `bridge`: the small model's first sentence, then the large model goes on)

The small model's request stays open until the first token of the large one: if that never comes, its words are used.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing, suppress
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


BRIDGE_S = 0.7
"""Longest wait for the small model's first sentence. After it the large model is asked alone."""

MAX_BRIDGE_PIECES = 40
"""Pieces of text after which a sentence without an end is no bridge."""

SENTENCE_ENDS = "\n\n"
"""After a bridge, as after the answer of a skill: it is spoken without waiting for the next word."""

BRIDGES = "says the first sentence"

GO_ON = Message("user", "(Go on from there. Do not repeat what you have said.)")
"""Asks the large model to go on after a bridge; it does not enter the history."""


@dataclass(frozen=True, slots=True)
class SizeRules:
    """Rules by which endpoints of two sizes share the questions.

    Attributes:
        language: Language tag of the conversations, for the score of a request.
        escalate: Whether the large model is asked when the small one declines.
        min_probability: Mean probability of the small model's first tokens below which the large one is asked; 0: it
            does not count.
        bridge: Whether the small model says the first sentence of the large model's answer.
    """

    language: str = "en"
    escalate: bool = True
    min_probability: float = 0.0
    bridge: bool = False


@dataclass(frozen=True, slots=True)
class SizedRequest:
    """A request to the endpoints of one size.

    Attributes:
        size: The size; None: any.
        deadline_s: Deadline for the first token, of all requests of the question together.
        prompt_tokens: Estimate of the messages' tokens.
        only: Ask no endpoint without this size.
        why: Reason for the first request.
        images: Ask no endpoint that takes no images.
    """

    messages: Sequence[Message]
    options: ChatOptions
    deadline_s: float
    prompt_tokens: int
    size: Size | None = None
    only: bool = False
    why: Why = "first"
    images: bool = False


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
        requested_size, messages = self._question.options.size, self._question.messages
        size = requested_size
        if size is None:
            scored = request_size(messages, self._rules.language)
            size = scored.size
            if messages and messages[-1].role == "user":  # not after tool calls: it was told before
                yield SizeChosen(size, scored.why)
        judged = size == "small" and requested_size is None and self._rules.escalate and self._has_large
        if judged:
            events = self._small()
        elif size == "large" and self._may_bridge():
            events = self._bridged()
        else:
            events = self._ask(replace(self._question, size=size))
        async with aclosing(events):
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
                    for held_event in held.release() if verdict is Verdict.ANSWER else ():
                        yield held_event
            except LlmError:
                for held_event in held.release():
                    yield held_event
                raise
            if verdict in {Verdict.DECLINES, Verdict.UNSURE}:
                why = _reason(verdict, judge)
                async with aclosing(self._escalated(small, held, why, self._question)) as events:
                    async for event in events:
                        yield event

    # ---- the first sentence of a small model, then the large one ----

    def _may_bridge(self) -> bool:
        options, messages, now_s = self._question.options, self._question.messages, _now_s()
        asked = not options.functions and options.size is None and bool(messages) and messages[-1].role == "user"
        healthy = self._routing.has_healthy("small", now_s) and self._routing.has_healthy("large", now_s)
        return self._rules.bridge and asked and healthy

    async def _bridged(self) -> AsyncGenerator[ChatEvent]:
        """Lets the small model say its first sentence. Without one in time, the large model is asked alone."""
        judge, held, deadline_s = FirstSentence(), _Held(), _now_s() + BRIDGE_S
        async with aclosing(self._ask(replace(self._question, size="small", only=True))) as small:
            with suppress(LlmError, TimeoutError):
                while (event := await _next_before(small, deadline_s)) is not None:
                    if held.passes(event):
                        yield event
                        continue
                    held.events.append(event)
                    if judge.hear_sentence(event, MAX_BRIDGE_PIECES):
                        break
            if judge.sentence:
                question = replace(self._question, messages=self._continued(judge.sentence))
                for event in held.cut(judge.sentence, judge.text):
                    yield event
                events = self._escalated(small, held, BRIDGES, question)
            else:
                await small.aclose()
                events = self._ask(replace(self._question, size="large"))
            async with aclosing(events):
                async for event in events:
                    yield event

    def _continued(self, sentence: str) -> tuple[Message, ...]:
        return (*self._question.messages, Message("assistant", sentence), GO_ON)

    # ---- the large model after the small one ----

    async def _escalated(
        self, small: AsyncGenerator[ChatEvent], held: "_Held", why: str, question: SizedRequest
    ) -> AsyncGenerator[ChatEvent]:
        """Asks the large model, once. If none answers, goes on with the small one's words."""
        decided_s, taken = _now_s(), False
        if self._routing.has_healthy("large", decided_s):
            yield Escalated(why)
            try:
                async with aclosing(self._ask(replace(question, size="large", only=True, why="escalation"))) as large:
                    async for event in large:
                        if not taken and isinstance(event, Token | CallInProgress | FunctionCall):
                            taken = True
                            await small.aclose()
                            for tried in held.wasted(decided_s, self._routing, question.prompt_tokens):
                                yield tried
                            if why == BRIDGES and isinstance(event, Token):  # a blank was said already
                                event = replace(event, text=event.text.lstrip() or " ")  # noqa: PLW2901
                        yield event
            except LlmError:
                if taken:
                    raise
        if taken:
            return
        log.warning("no large llm endpoint answers, so the words of the small one are used (it %s)", why)
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

    def cut(self, sentence: str, text: str) -> list[ChatEvent]:
        """Returns the held events up to the end of the sentence. Holds the rest of the text, and what followed it."""
        tried = [event for event in self.events if isinstance(event, EndpointTried)]
        later = [event for event in self.events if not isinstance(event, EndpointTried | Token)]
        rest = text[len(sentence) :].lstrip()
        self.events = [*([Token(rest)] if rest else []), *later]
        return [*tried, Token(sentence + SENTENCE_ENDS)]

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


async def _next_before(events: AsyncGenerator[ChatEvent], deadline_s: float) -> ChatEvent | None:
    async with asyncio.timeout_at(deadline_s):
        return await anext(events, None)


def _now_s() -> float:
    return asyncio.get_running_loop().time()
