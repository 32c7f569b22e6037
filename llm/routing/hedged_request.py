"""State machine of one question: asks one endpoint after another, or two at once, until a first token arrives.

No I/O, no clock: events are method calls, actions are returned; times are event-loop seconds.

Events of a second endpoint are held until its first token has won. After that no other endpoint is asked: an answer
that was partly passed on is never restarted. Exception: an answer that broke off inside its first function call,
because nothing of it has taken effect.
"""

from dataclasses import dataclass, field

from llm.chat import (
    AnsweringEndpoint,
    CallInProgress,
    ChatEvent,
    EndpointTried,
    FallbackAnswers,
    FunctionCall,
    OtherSizeAnswers,
    Outcome,
    RequestSent,
    Size,
    SlotAcquired,
    Token,
    Why,
)
from llm.empty_answer import SEE_ITS_LOG
from llm.errors import SPOKEN_EMPTY, LlmBroken, LlmError, LlmRefused, LlmTooSlow, LlmUnreachable
from llm.routing.endpoint_selection import Endpoint, Routing
from llm.routing.hedging import LOSER_TOKENS, Question, hedge_delay_s, patience_s
from llm.token_deadlines import LOADING, SPOKEN_TOO_SLOW

MAX_ENDPOINTS = 4
"""Maximum number of endpoints asked for one answer, hedges included.

A request that all of them refuse is not sent to a fifth."""

RECHECK_S = 0.05
"""Interval of repeated checks while an endpoint is late."""

JITTER_S = 0.03
"""Maximum random delay after a refusal before the next endpoint is asked, so that the load does not move in a burst."""


@dataclass(frozen=True, slots=True)
class AskEndpoint:
    """Send the request to an endpoint."""

    number: int


@dataclass(frozen=True, slots=True)
class CloseRequest:
    """Close the request to an endpoint at once."""

    number: int


@dataclass(frozen=True, slots=True)
class PassOn:
    """Pass an event on to the consumer."""

    event: ChatEvent


@dataclass(frozen=True, slots=True)
class Fail:
    """Raise this error: no endpoint answers any more."""

    error: Exception


Effect = AskEndpoint | CloseRequest | PassOn | Fail


@dataclass(slots=True)
class _Request:
    """A running request to one endpoint.

    Attributes:
        is_primary: Whether its progress events are passed on; those of a second request are held until it wins.
        queued: Its SlotAcquired event.
        sent: Its RequestSent event.
    """

    number: int
    why: Why
    is_primary: bool
    asked_at_s: float
    queued: SlotAcquired | None = None
    sent: RequestSent | None = None

    @property
    def may_have_been_sent(self) -> bool:
        """Whether the request may have reached the service; assumed for a client without progress events."""
        return self.sent is not None or self.queued is None


@dataclass(slots=True)
class HedgedRequest:
    """One question. Call `begin`, report events, and call `close` at the end.

    Attributes:
        size: Size of the model to ask; None if endpoints have no sizes.
        why: Reason for the first request.
        only: Ask no endpoint without this size.
        images: Ask no endpoint that takes no images.
        wake_s: When to call `tick`; None: never.
    """

    routing: Routing
    prompt_tokens: int
    deadline_s: float
    size: Size | None = None
    why: Why = "first"
    only: bool = False
    images: bool = False
    wake_s: float | None = None
    question: Question = field(init=False)
    _running: dict[int, _Request] = field(default_factory=dict)
    _asked: list[int] = field(default_factory=list)
    _winner: int | None = None
    _passed_on: bool = False  # the winner sent more than CallInProgress
    _hedged: int | None = None
    _error: Exception | None = None
    _first_error: Exception | None = None
    _retry_at_s: float | None = None
    _again: int | None = None  # the endpoint that is asked a second time
    _without: frozenset[int] = frozenset()  # endpoints that are not to be asked

    def __post_init__(self) -> None:
        self.question = self.routing.budget.ask(self.prompt_tokens)
        if self.only or self.images:
            self._without = self.routing.unfit(self.size if self.only else None, images=self.images)

    @property
    def _extra_tokens(self) -> int:
        return self.prompt_tokens + LOSER_TOKENS

    @property
    def _asked_or_barred(self) -> set[int]:
        return {*self._asked, *self._without}

    def begin(self, now_s: float) -> list[Effect]:
        """Starts the first request."""
        plan = self.routing.plan(now_s, self.question, self._extra_tokens, self.size, self._without)
        effects = self._ask(plan.first, self.why if plan.why == "first" else plan.why, now_s)
        if plan.parallel is not None:
            effects += self._hedge(plan.parallel, "look", now_s)
        self._set_alarm(now_s)
        return effects

    def on_event(self, number: int, event: ChatEvent, now_s: float) -> list[Effect]:
        """Handles an event of an endpoint."""
        request = self._running.get(number)
        if request is None or isinstance(event, AnsweringEndpoint | EndpointTried | FallbackAnswers):
            return []
        if number == self._winner:
            self._count(event)
            return [PassOn(event)]
        if isinstance(event, SlotAcquired | RequestSent):
            return self._progress(request, event, now_s)
        effects = self._win(request, now_s)
        self._count(event)
        self._set_alarm(now_s)
        return [*effects, PassOn(event)]

    def failed(self, number: int, error: Exception, now_s: float) -> list[Effect]:
        """Handles an endpoint's error."""
        request = self._running.pop(number, None)
        if request is None:
            return []
        final = not isinstance(error, LlmError) or not error.retryable
        # A refusal by a hedge or a probe may be caused by that endpoint, not by the question.
        secondary = request.why == "look" or (self._running and not request.is_primary)
        ends_question = final and (number == self._winner or not secondary)
        self._record_failure(request, error, now_s, ends_question=ends_question)
        if number == self._winner:
            if self._passed_on or final:
                return [Fail(error)]
            self._winner = None
        self._error = error
        self._first_error = self._first_error or error
        effects: list[Effect] = [self._record_outcome(request, "failed", now_s)]
        if ends_question:
            return [*effects, *self._close_all(now_s), Fail(error)]
        if not self._running:
            if not self._may_ask_again(now_s):
                return effects if self._waits_for(number, error, now_s) else [*effects, self._fail(number, error)]
            waits = isinstance(error, LlmRefused) and not final
            self._retry_at_s = now_s + (JITTER_S * self.routing.random_fraction() if waits else 0.0)
            effects += self._ask_again(now_s)
        self._set_alarm(now_s)
        return effects

    def _fail(self, number: int, error: Exception) -> Fail:
        return Fail(self._with_other_failures(number, error))

    def _waits_for(self, number: int, error: Exception, now_s: float) -> bool:
        """Returns whether the last endpoint is asked again, once, after the wait that it asks for."""
        wait_s = error.retry_after_s if isinstance(error, LlmError) and error.retryable else None
        if wait_s is None or self._again is not None or now_s + wait_s >= self.deadline_s:
            return False
        self._again, self._retry_at_s = number, now_s + wait_s
        self._set_alarm(now_s)
        return True

    def ended(self, number: int, now_s: float) -> list[Effect] | None:
        """Handles the end of an endpoint's stream without an error. Returns None if the answer has ended with it."""
        if number == self._winner:
            return None
        name = self.routing.endpoints[number].name
        text = f"llm endpoint {name!r} ended its answer without any text, and without a reason: {SEE_ITS_LOG}"
        return self.failed(number, LlmBroken(name, text, spoken=SPOKEN_EMPTY, retryable=True), now_s)

    def tick(self, now_s: float) -> list[Effect]:
        """Handles the passage of time."""
        effects: list[Effect] = []
        if self._winner is None:
            if now_s >= self.deadline_s:
                return [*self._close_all(now_s), Fail(self._too_slow())]
            effects = self._ask_again(now_s) or self._hedge_or_switch(now_s)
        self._set_alarm(now_s)
        return effects

    def close(self, now_s: float) -> None:
        """Ends the question: the answer has ended or the consumer has left. Running requests are written off."""
        for request in list(self._running.values()):
            if request.number != self._winner:
                self.routing.breakers[request.number].cancelled(request.asked_at_s)
                self._record_outcome(request, "overtaken", now_s)
        self._running.clear()

    # ---- requests ----

    def _ask(self, number: int, why: Why, now_s: float) -> list[Effect]:
        self._asked.append(number)
        is_primary = not any(request.is_primary for request in self._running.values())
        self._running[number] = _Request(number, why, is_primary, now_s)
        self.routing.breakers[number].asked(now_s)
        if not is_primary:
            return [AskEndpoint(number)]
        self._retry_at_s = None
        return [AskEndpoint(number), PassOn(AnsweringEndpoint(self._endpoint(number).name))]

    def _hedge(self, number: int, why: Why, now_s: float) -> list[Effect]:
        self.routing.budget.hedge(self.question, self._extra_tokens, exploring=why == "look")
        self._hedged = number
        return self._ask(number, why, now_s)

    def _may_ask_again(self, now_s: float) -> bool:
        may_ask_more = len(self._asked) < min(MAX_ENDPOINTS, len(self.routing.endpoints) - len(self._without))
        return may_ask_more and now_s < self.deadline_s

    def _ask_again(self, now_s: float) -> list[Effect]:
        """After a failure: asks the next endpoint once its delay has passed."""
        if self._retry_at_s is None or now_s < self._retry_at_s:
            return []
        if self._again is not None and not self._running and not self._may_ask_again(now_s):
            return self._ask(self._again, "failover", now_s)
        return self._ask(self.routing.order(now_s, self._asked_or_barred, self.size)[0], "failover", now_s)

    def _hedge_or_switch(self, now_s: float) -> list[Effect]:
        """If an endpoint is silent: asks the next one in addition, or instead of it after the longest wait."""
        next_one = self.routing.usable(now_s, self._asked_or_barred, self.size)
        if next_one is None or not self._may_ask_again(now_s):
            return []
        endpoint = self._endpoint(next_one)
        may_hedge = len(self._running) == 1 and not endpoint.fallback and endpoint.fits(self.size)
        may_hedge = may_hedge and self.routing.budget.may_hedge(self.question, self._extra_tokens)
        for request in list(self._running.values()):
            hedge_at_s, switch_at_s = self._alarms(request)
            if may_hedge and now_s >= hedge_at_s:
                return self._hedge(next_one, "hedge", now_s)
            if now_s >= switch_at_s:
                return self._switch(request, next_one, now_s)
        return []

    def _switch(self, request: _Request, next_one: int, now_s: float) -> list[Effect]:
        """Replaces a request by one to another endpoint."""
        del self._running[request.number]
        waited_s = now_s - request.asked_at_s
        # Not recorded as a time: the wait depends on those times and would grow from one question to the next.
        self.routing.breakers[request.number].failed(now_s, waited_s, certain=True)
        closing: list[Effect] = [CloseRequest(request.number), self._record_outcome(request, "given up", now_s)]
        return [*closing, *self._ask(next_one, "failover", now_s)]

    def _alarms(self, request: _Request) -> tuple[float, float]:
        """Returns when the request has been silent for long enough to hedge, and to be replaced."""
        health = self.routing.healths[request.number]
        min_s = self._endpoint(request.number).patience_s
        hedge_s = hedge_delay_s(health, min_s)
        # A probe without another request is replaced as soon as a hedge would be due, by an endpoint of its size.
        brief = request.why == "look" and len(self._running) == 1 and self._has_equal
        switch_s = hedge_s if brief else patience_s(health, min_s)
        return request.asked_at_s + hedge_s, request.asked_at_s + switch_s

    @property
    def _has_equal(self) -> bool:
        """Whether another endpoint fits the size and was not asked yet."""
        barred, endpoints = self._asked_or_barred, enumerate(self.routing.endpoints)
        return self.size is None or any(
            endpoint.fits(self.size) for number, endpoint in endpoints if number not in barred
        )

    def _set_alarm(self, now_s: float) -> None:
        if self._winner is not None:
            self.wake_s = None
            return
        alarms = [self.deadline_s]
        if self._retry_at_s is not None:
            alarms.append(self._retry_at_s)
        if self._may_ask_again(now_s):
            for request in self._running.values():
                # When a request is late, the budget may still grow by other conversations, or a breaker may close.
                alarms += [at_s if at_s > now_s else now_s + RECHECK_S for at_s in self._alarms(request)]
        self.wake_s = min(alarms)

    # ---- results ----

    def _progress(self, request: _Request, event: SlotAcquired | RequestSent, now_s: float) -> list[Effect]:
        if isinstance(event, SlotAcquired):
            request.queued = SlotAcquired(now_s)
        else:
            request.sent = RequestSent(event.round_trip_s, now_s)
            self.routing.healths[request.number].round_trip_s = event.round_trip_s
        return [PassOn(event)] if request.is_primary else []

    def _win(self, request: _Request, now_s: float) -> list[Effect]:
        """Handles the first token: closes all other requests."""
        took_s = now_s - request.asked_at_s
        health, breaker = self.routing.healths[request.number], self.routing.breakers[request.number]
        if request.why == "look" or not breaker.closed(now_s):
            health.restart(now_s, took_s)
        else:
            health.first_token(now_s, took_s)
        breaker.succeeded(request.asked_at_s)
        self._winner = request.number
        effects: list[Effect] = [*self._close_all(now_s), self._record_outcome(request, "answered", now_s)]
        if not request.is_primary:
            effects.append(PassOn(AnsweringEndpoint(self._endpoint(request.number).name)))
            effects += [PassOn(event) for event in (request.queued, request.sent) if event is not None]
        endpoint = self._endpoint(request.number)
        if endpoint.fallback:
            effects.append(PassOn(FallbackAnswers(endpoint.name)))
        elif self.size is not None and not endpoint.fits(self.size):
            effects.append(PassOn(OtherSizeAnswers(endpoint.name, self.size)))
        return effects

    def _close_all(self, now_s: float) -> list[Effect]:
        """Closes all requests but the winner's."""
        effects: list[Effect] = []
        for request in [request for number, request in self._running.items() if number != self._winner]:
            del self._running[request.number]
            if self._winner is None and now_s < self.deadline_s:
                self.routing.breakers[request.number].cancelled(request.asked_at_s)  # the question itself was invalid
            else:
                self._record_loss(request, now_s)
            effects += [CloseRequest(request.number), self._record_outcome(request, "overtaken", now_s)]
        return effects

    def _record_loss(self, request: _Request, now_s: float) -> None:
        """Records a lost request. One that was silent beyond the hedge delay may be dead; others are only slower."""
        health, breaker = self.routing.healths[request.number], self.routing.breakers[request.number]
        waited_s, late = now_s - request.asked_at_s, now_s >= self._alarms(request)[0]
        health.overtaken(now_s, waited_s)
        if late:
            breaker.failed(now_s, waited_s, certain=self._winner is None)
        else:
            breaker.cancelled(request.asked_at_s)

    def _record_failure(self, request: _Request, error: Exception, now_s: float, *, ends_question: bool) -> None:
        """Records an error against the endpoint. Errors of the question, such as a content filter's, do not count."""
        breaker = self.routing.breakers[request.number]
        if ends_question:
            breaker.cancelled(request.asked_at_s)
            return
        doubtful = isinstance(error, LlmBroken) or (isinstance(error, LlmRefused) and error.retryable)
        certain = request.number != self._winner and not doubtful
        pause_s = error.retry_after_s if isinstance(error, LlmError) else None
        breaker.failed(now_s, now_s - request.asked_at_s, certain=certain, pause_s=pause_s)

    def _record_outcome(self, request: _Request, outcome: Outcome, now_s: float) -> PassOn:
        """Records the outcome of a request and the tokens it cost without use."""
        unreachable = outcome == "failed" and isinstance(self._error, LlmUnreachable)
        tokens = self._extra_tokens if outcome != "answered" and request.may_have_been_sent and not unreachable else 0
        # The cost of a hedge is the losing request of the two, whichever it is.
        if self._hedged is not None and outcome != "answered" and self._hedged in {request.number, self._winner}:
            self.routing.budget.settle(self.question, tokens)
        endpoint = self._endpoint(request.number)
        cost = endpoint.price(self.prompt_tokens, LOSER_TOKENS) if tokens else 0.0
        took_s = now_s - request.asked_at_s
        return PassOn(EndpointTried(endpoint.name, request.why, outcome, request.asked_at_s, took_s, tokens, cost))

    def _count(self, event: ChatEvent) -> None:
        self._passed_on = self._passed_on or not isinstance(event, CallInProgress)
        if isinstance(event, Token | CallInProgress | FunctionCall):
            self.routing.budget.answered(self.question, 1)

    def _endpoint(self, number: int) -> Endpoint:
        return self.routing.endpoints[number]

    def _with_other_failures(self, number: int, last: Exception) -> Exception:
        """Returns the last error, extended by the first refusal and by the names of the others that were asked.

        Endpoints describe an invalid question differently, so that the first refusal is quoted.
        """
        others = [repr(self._endpoint(other).name) for other in self._asked if other != number]
        first = self._first_error
        if not others or not isinstance(last, LlmError):
            return last
        text = str(last)
        if first is not last and isinstance(first, LlmRefused):
            text += f"; earlier, {first}"
            others = [name for name in others if name != repr(first.endpoint)]
        if others:
            text += f"; {', '.join(others)} failed, too"
        return type(last)(last.endpoint, text, spoken=last.spoken, retryable=last.retryable)

    def _too_slow(self) -> LlmError:
        names = ", ".join(repr(self._endpoint(number).name) for number in self._asked)
        text = f"llm endpoints {names} gave no first content token in time"
        return LlmTooSlow(
            self._endpoint(self._asked[0]).name,
            f"{text}: {LOADING}check their load, or raise first_token_timeout_s",
            spoken=SPOKEN_TOO_SLOW,
            retryable=True,
        )
