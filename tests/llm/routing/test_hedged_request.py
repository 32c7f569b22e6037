"""One question and its endpoints, without I/O: any events in any order."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm.chat import (
    AnsweringEndpoint,
    CallInProgress,
    ChatEvent,
    EndpointTried,
    Finished,
    RequestSent,
    SlotAcquired,
    Token,
)
from llm.errors import LlmError, LlmRefused, LlmTooSlow, LlmUnreachable
from llm.routing.endpoint_selection import Endpoint, Policy, Routing
from llm.routing.hedged_request import AskEndpoint, CloseRequest, Effect, Fail, HedgedRequest, PassOn
from llm.routing.hedging import LOSER_TOKENS, UNMEASURED_DELAY_S, UNMEASURED_PATIENCE_S, HedgeBudget

POLICIES: tuple[Policy, ...] = ("latency", "ordered", "weighted")
PROMPT_TOKENS = 100

Outcome = str
"""The next step: an event of an endpoint, an error, the passage of time, or the consumer's leaving."""


def routing_of(count: int, policy: Policy, share: float, seed: int) -> Routing:
    endpoints = [Endpoint(f"e{number}", tier=1 + number // 3) for number in range(count)]
    return Routing(endpoints, policy, HedgeBudget(share), random.Random(seed).random)


def error(name: str, what: Outcome) -> LlmError:
    kind = LlmUnreachable if what == "unreachable" else LlmRefused
    return kind(name, what, spoken="", retryable=what != "wrong")


class ProgressRecorder:
    """Performs the effects and checks that they are consistent."""

    def __init__(self, hedged: HedgedRequest) -> None:
        self.hedged = hedged
        self.asked: list[int] = []
        self.running: set[int] = set()
        self.winner: int | None = None
        self.said = False
        self.broken_calls = 0
        self.failed = False
        self.passed: list[ChatEvent] = []
        self.tried: list[EndpointTried] = []

    def run_scene(self, effects: list[Effect], of: int | None = None) -> None:
        for effect in effects:
            assert not self.failed, "nothing comes after the error"
            match effect:
                case AskEndpoint(number):
                    assert self.winner is None, "no endpoint is asked after the first content"
                    assert number not in self.asked, "no endpoint is asked twice"
                    self.asked.append(number)
                    self.running.add(number)
                case CloseRequest(number):
                    assert number in self.running
                    self.running.remove(number)
                case Fail():
                    self.failed = True
                case PassOn(EndpointTried() as tried):
                    self.tried.append(tried)
                case PassOn(event):
                    self._hear(event, of)
        if self.winner is not None or self.failed:
            assert self.running <= {self.winner}, "the other requests are closed at once"
        assert len(self.running) <= 2

    def _hear(self, event: ChatEvent, of: int | None) -> None:
        if isinstance(event, Token | CallInProgress):
            assert of is not None
            assert self.winner in {None, of}, "two endpoints never speak in one answer"
            self.winner = of
            self.said = self.said or isinstance(event, Token)
            by = [said.by for said in self.passed if isinstance(said, AnsweringEndpoint)][-1]
            assert by == f"e{of}", "who answers is named before it does"
        self.passed.append(event)


STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            ["queued", "sent", "token", "calling", "finished", "ended", "unreachable", "busy", "wrong", "time", "later"]
        ),
        st.integers(0, 1),  # index among the endpoints that are asked
        st.floats(0.0, 0.4),
    ),
    max_size=25,
)


@given(
    st.sampled_from(POLICIES),
    st.integers(1, 6),
    st.sampled_from([0.0, 0.1, 0.5]),
    st.integers(0, 5),
    st.lists(STEPS, min_size=1, max_size=12),
)
def test_any_event_order_is_handled(
    policy: Policy, count: int, share: float, seed: int, questions: list[list[tuple[Outcome, int, float]]]
) -> None:
    routing, now_s = routing_of(count, policy, share, seed), 1000.0
    for steps in questions:
        now_s = hold(routing, steps, now_s) + 5.0
        budget = routing.budget
        assert budget.hedges <= max(share > 0, share * budget.questions)
        assert budget.hedges == 1 or budget.extra_tokens <= share * budget.tokens


def hold(routing: Routing, steps: list[tuple[Outcome, int, float]], now_s: float) -> float:
    hedged = HedgedRequest(routing, PROMPT_TOKENS, now_s + 8.0)
    listener = ProgressRecorder(hedged)
    listener.run_scene(hedged.begin(now_s))
    for what, which, later_s in steps:
        if listener.failed or (not listener.running and hedged.wake_s is None):
            break
        if what in {"time", "later"} or not listener.running:
            now_s = now_s + later_s if what == "later" or hedged.wake_s is None else max(now_s, hedged.wake_s)
            listener.run_scene(hedged.tick(now_s))
            continue
        now_s += later_s / 20
        number = sorted(listener.running)[which % len(listener.running)]
        if what in {"unreachable", "busy", "wrong"}:
            listener.running.remove(number)
            if number == listener.winner and not listener.said:
                listener.winner = None
                listener.broken_calls += 1
            listener.run_scene(hedged.failed(number, error(f"e{number}", what), now_s))
        elif what == "ended":
            effects = hedged.ended(number, now_s)
            listener.running.discard(number)
            if effects is None:
                assert number == listener.winner
                break
            listener.run_scene(effects)
        else:
            events: dict[Outcome, ChatEvent] = {
                "queued": SlotAcquired(),
                "sent": RequestSent(0.01),
                "token": Token("a"),
                "calling": CallInProgress(),
            }
            listener.run_scene(hedged.on_event(number, events.get(what, Finished("stop")), now_s), number)
            if what == "finished":
                listener.winner, listener.said = number, True
    hedged.close(now_s)
    assert sum(tried.outcome == "answered" for tried in listener.tried) <= 1 + listener.broken_calls
    return now_s


def question(share: float = 0.5) -> tuple[HedgedRequest, Routing]:
    routing = routing_of(3, "ordered", share, 1)
    for _ in range(20):
        routing.budget.ask(1000)
    return HedgedRequest(routing, PROMPT_TOKENS, 1008.0), routing


def test_lost_hedge_costs_prompt_and_some_tokens() -> None:
    hedged, routing = question()
    hedged.begin(1000.0)
    hedged.tick(1000.5)
    hedged.on_event(1, RequestSent(None), 1000.51)
    hedged.on_event(0, Token("a"), 1000.6)
    assert (routing.budget.hedges, routing.budget.extra_tokens) == (1, PROMPT_TOKENS + LOSER_TOKENS)


def test_winning_over_unsent_request_is_no_hedge() -> None:
    hedged, routing = question()
    hedged.begin(1000.0)
    hedged.on_event(0, SlotAcquired(), 1000.0)
    hedged.tick(1000.5)
    hedged.on_event(1, RequestSent(None), 1000.51)
    hedged.on_event(1, Token("a"), 1000.6)
    assert (routing.budget.hedges, routing.budget.extra_tokens) == (0, 0)


def test_two_consecutive_winning_hedges_open_breaker() -> None:
    _, routing = question()
    for turn in range(2):
        hedged = HedgedRequest(routing, PROMPT_TOKENS, 2000.0)
        at_s = 1000.0 + 10 * turn
        hedged.begin(at_s)
        assert hedged.wake_s is not None
        hedged_at_s = hedged.wake_s
        hedged.tick(hedged_at_s)
        hedged.on_event(1, Token("a"), hedged_at_s + 0.1)
        assert routing.breakers[0].closed(hedged_at_s + 0.1) == (turn == 0)


def test_leaving_early_counts_no_failure() -> None:
    hedged, routing = question()
    hedged.begin(1000.0)
    hedged.tick(1000.5)
    hedged.close(1000.6)
    assert all(breaker.closed(1000.6) for breaker in routing.breakers)
    assert [health.samples for health in routing.healths] == [0, 0, 0]


def test_leaving_early_permits_another_probe() -> None:
    _, routing = question()
    routing.breakers[0].failed(990.0, 0.001, certain=True)
    hedged = HedgedRequest(routing, PROMPT_TOKENS, 1008.0)
    assert AskEndpoint(0) in hedged.begin(1000.0)
    assert not routing.breakers[0].wants_probe(1000.1)
    hedged.close(1000.1)
    assert routing.breakers[0].wants_probe(1000.1)


WRONG = [LlmRefused("e1", "takes no tools", spoken="", retryable=False), KeyError("a defect of its client")]


@pytest.mark.parametrize("wrong", WRONG, ids=["final refusal", "programming error"])
def test_final_refusal_of_hedge_does_not_end_first(wrong: Exception) -> None:
    hedged, routing = question()
    hedged.begin(1000.0)
    assert AskEndpoint(1) in hedged.tick(1000.5)
    effects = hedged.failed(1, wrong, 1000.51)
    assert [effect for effect in effects if not isinstance(effect, PassOn)] == []
    assert not routing.breakers[1].closed(1000.51), "and it is not looked at again so soon"
    assert PassOn(Token("a")) in hedged.on_event(0, Token("a"), 1000.6)


@pytest.mark.parametrize("wrong", WRONG, ids=["final refusal", "programming error"])
def test_final_refusal_of_probe_is_followed_by_another(wrong: Exception) -> None:
    _, routing = question()
    routing.breakers[0].failed(990.0, 0.001, certain=True)
    hedged = HedgedRequest(routing, PROMPT_TOKENS, 1008.0)
    assert AskEndpoint(0) in hedged.begin(1000.0)
    assert AskEndpoint(1) in hedged.failed(0, wrong, 1000.01)
    assert Fail(wrong) in hedged.failed(1, wrong, 1000.02)


def test_content_filter_does_not_count_as_failure() -> None:
    _, routing = question()
    routing.breakers[0].failed(990.0, 0.001, certain=True)
    hedged = HedgedRequest(routing, PROMPT_TOKENS, 1008.0)
    hedged.begin(1000.0)
    hedged.on_event(0, Token("a"), 1000.1)
    assert hedged.failed(0, WRONG[0], 1000.2) == [Fail(WRONG[0])]
    assert routing.breakers[0].closed(1000.2)


def test_final_refusal_is_not_sent_to_others() -> None:
    hedged, routing = question()
    hedged.begin(1000.0)
    hedged.tick(1000.5)
    effects = hedged.failed(0, WRONG[0], 1000.6)
    assert CloseRequest(1) in effects
    assert effects[-1] == Fail(WRONG[0])
    assert all(breaker.closed(1000.6) for breaker in routing.breakers)


def pass_time(hedged: HedgedRequest, now_s: float, number: int) -> float:
    """Returns when `number` is asked if no endpoint sends anything."""
    for _ in range(200):
        assert hedged.wake_s is not None
        now_s = hedged.wake_s
        if AskEndpoint(number) in hedged.tick(now_s):
            return now_s
    raise AssertionError(f"{number} was never asked")


def test_silent_endpoint_is_given_up_and_breaker_opens() -> None:
    hedged, routing = question(share=0.0)
    hedged.begin(1000.0)
    assert pass_time(hedged, 1000.0, 1) == 1000.0 + UNMEASURED_PATIENCE_S
    assert not routing.breakers[0].closed(1002.1)


@pytest.mark.parametrize("share", [0.0, 0.1], ids=["no hedging", "hedging"])
def test_configured_patience_is_respected(share: float) -> None:
    """A slow endpoint that is asked first on purpose would otherwise never be measured."""
    endpoints = [Endpoint("slow", patience_s=5.0), Endpoint("quick", tier=2)]
    routing = Routing(endpoints, "latency", HedgeBudget(share), random.Random(1).random)
    hedged = HedgedRequest(routing, PROMPT_TOKENS, 1008.0)
    hedged.begin(1000.0)
    assert pass_time(hedged, 1000.0, 1) == 1005.0
    routing.breakers[0].succeeded(1001.0)
    for asked_at_s in (1010.0, 1020.0):
        hedged = HedgedRequest(routing, PROMPT_TOKENS, asked_at_s + 8)
        assert AskEndpoint(0) in hedged.begin(asked_at_s)
        assert PassOn(Token("a")) in hedged.on_event(0, Token("a"), asked_at_s + 3)
        hedged.close(asked_at_s + 4)


@pytest.mark.parametrize("winner", [1, 2], ids=["second endpoint answers", "third endpoint answers"])
def test_two_silent_endpoints_are_replaced(winner: int) -> None:
    hedged, _ = question()
    hedged.begin(1000.0)
    hedged_at_s = pass_time(hedged, 1000.0, 1)
    switched_at_s = pass_time(hedged, hedged_at_s, 2)
    assert switched_at_s == 1000.0 + UNMEASURED_PATIENCE_S
    effects = hedged.on_event(winner, Token("a"), 1003.0)
    assert CloseRequest(3 - winner) in effects
    assert PassOn(Token("a")) in effects


def test_probe_is_hedged_only_once() -> None:
    _, routing = question()
    routing.breakers[0].failed(990.0, 0.001, certain=True)
    hedged = HedgedRequest(routing, PROMPT_TOKENS, 1008.0)
    assert AskEndpoint(0) in hedged.begin(1000.0)
    assert pass_time(hedged, 1000.0, 1) == 1000.0 + UNMEASURED_DELAY_S
    assert pass_time(hedged, 1000.4, 2) == 1000.0 + UNMEASURED_PATIENCE_S


def test_late_request_is_not_counted_at_deadline() -> None:
    _, routing = question(share=0.0)
    hedged = HedgedRequest(routing, PROMPT_TOKENS, 1000.0 + UNMEASURED_PATIENCE_S + 0.1)
    hedged.begin(1000.0)
    pass_time(hedged, 1000.0, 1)
    assert isinstance(hedged.tick(hedged.deadline_s)[-1], Fail)
    assert [breaker.closed(hedged.deadline_s) for breaker in routing.breakers] == [False, True, True]


def test_silence_until_deadline_counts_as_failure() -> None:
    routing = routing_of(1, "ordered", 0.0, 1)
    hedged = HedgedRequest(routing, PROMPT_TOKENS, 1008.0)
    hedged.begin(1000.0)
    hedged.tick(1008.0)
    assert not routing.breakers[0].closed(1008.0)


def test_no_request_after_deadline() -> None:
    hedged, _ = question()
    hedged.begin(1000.0)
    failure = error("e0", "unreachable")
    assert hedged.failed(0, failure, 1008.0)[-1] == Fail(failure)


def test_stalled_answer_is_a_doubtful_failure() -> None:
    hedged, routing = question()
    hedged.begin(1000.0)
    hedged.on_event(0, Token("a"), 1000.1)
    stalled = LlmTooSlow("e0", "stalled", spoken="", retryable=True)
    assert hedged.failed(0, stalled, 1005.1) == [Fail(stalled)]
    assert routing.breakers[0].closed(1005.1)


def test_started_call_wins_before_it_is_complete() -> None:
    hedged, routing = question()
    hedged.begin(1000.0)
    hedged.tick(1000.5)
    effects = hedged.on_event(0, CallInProgress(), 1000.6)
    assert CloseRequest(1) in effects
    assert hedged.wake_s is None
    assert routing.healths[0].usual_s == pytest.approx(0.6)


def test_broken_first_call_is_retried_elsewhere() -> None:
    hedged, _ = question()
    hedged.begin(1000.0)
    hedged.on_event(0, CallInProgress(), 1000.1)
    assert AskEndpoint(1) in hedged.failed(0, error("e0", "unreachable"), 1000.2)
    assert PassOn(Token("a")) in hedged.on_event(1, Token("a"), 1000.3)


def test_broken_call_after_text_is_not_retried() -> None:
    hedged, _ = question()
    hedged.begin(1000.0)
    hedged.on_event(0, Token("Let me see."), 1000.1)
    hedged.on_event(0, CallInProgress(), 1000.1)
    failure = error("e0", "unreachable")
    assert hedged.failed(0, failure, 1000.2) == [Fail(failure)]


def test_empty_stream_is_a_failure() -> None:
    hedged, _ = question()
    hedged.begin(1000.0)
    effects = hedged.ended(0, 1000.1)
    assert effects is not None
    assert AskEndpoint(1) in effects


@pytest.mark.parametrize("hedge_allowed", [True, False], ids=["budget left", "budget spent"])
def test_budget_is_checked_again(hedge_allowed: bool) -> None:
    routing = routing_of(2, "ordered", 0.1, 1)
    routing.budget.hedge(routing.budget.ask(10), 10)  # the advance
    hedged = HedgedRequest(routing, PROMPT_TOKENS, 1008.0)
    hedged.begin(1000.0)
    assert hedged.tick(1000.41) == []
    assert hedged.wake_s == pytest.approx(1000.46)
    if hedge_allowed:
        for _ in range(20):
            routing.budget.ask(1000)
    assert (AskEndpoint(1) in hedged.tick(1000.46)) == hedge_allowed


def busy(wait_s: float) -> LlmRefused:
    refused = LlmRefused("e0", "busy", spoken="", retryable=True)
    refused.retry_after_s = wait_s
    return refused


def test_busy_endpoint_is_asked_again_after_its_wait_if_none_is_left() -> None:
    hedged = HedgedRequest(routing_of(1, "ordered", 0.0, 1), PROMPT_TOKENS, deadline_s=5.0)
    hedged.begin(0.0)
    assert AskEndpoint(0) not in hedged.failed(0, busy(2.0), 0.1)
    assert hedged.wake_s == pytest.approx(2.1)
    assert AskEndpoint(0) in hedged.tick(2.1)
    assert isinstance(hedged.failed(0, busy(1.0), 2.2)[-1], Fail), "once only"


def test_wait_beyond_the_deadline_is_an_error_at_once() -> None:
    hedged = HedgedRequest(routing_of(1, "ordered", 0.0, 1), PROMPT_TOKENS, deadline_s=5.0)
    hedged.begin(0.0)
    assert isinstance(hedged.failed(0, busy(10.0), 0.1)[-1], Fail)


def test_endpoint_that_asks_for_a_wait_is_not_chosen_before() -> None:
    routing = routing_of(2, "ordered", 0.0, 1)
    hedged = HedgedRequest(routing, PROMPT_TOKENS, deadline_s=5.0)
    hedged.begin(0.0)
    hedged.failed(0, busy(20.0), 0.1)
    assert AskEndpoint(1) in hedged.tick(0.2), "another endpoint is asked meanwhile"
    assert routing.order(19.0)[0] == 1
    assert routing.breakers[0].state(19.0) == "open"
    assert routing.breakers[0].state(20.2) == "half-open"
