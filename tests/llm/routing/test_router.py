"""Several endpoints as one model: answers, closed requests, and events for the trace. On virtual time."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

import pytest
from support.clocks.event_loop import in_virtual_time
from support.clocks.virtual_time import run_virtual
from support.engines.routed_models import HELLO, SILENT_S, Question, RoutedModel, ask, unreachable

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
from llm.errors import LlmBroken, LlmError, LlmRefused, LlmTooSlow, LlmUnreachable
from llm.routing.endpoint_selection import Endpoint, Policy, Routing
from llm.routing.hedging import HedgeBudget
from llm.routing.router import MAX_QUEUED, Router, prompt_tokens


def refused(name: str, *, retryable: bool = True) -> LlmRefused:
    return LlmRefused(name, f"{name}: refused", spoken="No.", retryable=retryable)


def router_of(*models: RoutedModel, share: float = 1.0, policy: Policy = "ordered", timeout_s: float = 8.0) -> Router:
    endpoints = [Endpoint(model.name, price_in_per_million=2.0) for model in models]
    budget = HedgeBudget(share)
    budget.ask(10_000)  # earlier questions that earned enough budget
    routing = Routing(endpoints, policy, budget, lambda: 0.5)
    return Router(models, routing, first_token_timeout_s=timeout_s)


def asked_once(*models: RoutedModel, share: float = 1.0) -> Question:
    return run_virtual(ask(router_of(*models, share=share)))


def test_first_endpoint_answers_and_is_named() -> None:
    asked = asked_once(RoutedModel("near"), RoutedModel("far"))
    kinds = [type(event) for event in asked.events]
    assert kinds == [AnsweringEndpoint, SlotAcquired, RequestSent, EndpointTried, Token, Token, Token, Finished]
    assert (asked.by, asked.text, asked.error) == ("near", "It is Everest.", None)
    assert asked.tried == [("near", "first", "answered")]
    assert asked.first_token_s == pytest.approx(0.1)


def test_function_call_wins_like_a_token() -> None:
    class Calling(RoutedModel):
        async def stream(self, messages: Sequence[Message], options: ChatOptions = PLAIN) -> AsyncGenerator[ChatEvent]:
            yield FunctionCall("1", "lamp", "{}")
            yield Finished("tool_calls")

    asked = asked_once(Calling("near"), RoutedModel("far"))
    assert [type(event) for event in asked.events] == [AnsweringEndpoint, EndpointTried, FunctionCall, Finished]


@pytest.mark.parametrize(
    "error",
    [unreachable("near"), refused("near"), LlmBroken("near", "", spoken="", retryable=True)],
    ids=["unreachable", "refused", "broken"],
)
def test_failure_before_first_token_fails_over(error: LlmError) -> None:
    near, far = RoutedModel("near", error=error), RoutedModel("far")
    asked = asked_once(near, far, share=0.0)
    assert (asked.by, asked.text, asked.error) == ("far", "It is Everest.", None)
    assert asked.tried == [("near", "first", "failed"), ("far", "failover", "answered")]
    assert asked.first_token_s < 0.15


def test_failover_after_refusal_is_jittered() -> None:
    near, far = RoutedModel("near", error=refused("near")), RoutedModel("far")
    run_virtual(ask(router_of(near, far)))
    assert far.asked_at_s[0] - near.asked_at_s[0] == pytest.approx(0.002 + 0.015)


def test_first_refusal_is_reported_with_the_last() -> None:
    near, far = RoutedModel("near", error=refused("near")), RoutedModel("far", error=unreachable("far"))
    asked = run_virtual(ask(router_of(near, far)))
    assert isinstance(asked.error, LlmUnreachable)
    assert str(asked.error) == "far: nobody there; earlier, near: refused"
    assert asked.error.spoken == "Nobody there."


def test_every_endpoint_that_failed_is_named_once() -> None:
    near = RoutedModel("near", error=refused("near"))
    asked = run_virtual(ask(router_of(near, *(RoutedModel(name, error=unreachable(name)) for name in ("far", "off")))))
    assert str(asked.error) == "off: nobody there; earlier, near: refused; 'far' failed, too"


def test_content_filter_refusal_is_not_retried() -> None:
    near, far = RoutedModel("near", error=refused("near", retryable=False)), RoutedModel("far")
    router = router_of(near, far)
    asked = run_virtual(ask(router))
    assert str(asked.error) == "near: refused"
    assert far.asked_at_s == []
    assert router.routing.breakers[0].closed(1e9)  # the question was at fault, not the endpoint


def test_at_most_four_endpoints_are_asked() -> None:
    models = [RoutedModel(f"m{number}", error=unreachable(f"m{number}")) for number in range(6)]
    asked = run_virtual(ask(router_of(*models)))
    assert str(asked.error) == "m3: nobody there; 'm0', 'm1', 'm2' failed, too"
    assert [len(model.asked_at_s) for model in models] == [1, 1, 1, 1, 0, 0]
    assert [outcome for _, _, outcome in asked.tried] == ["failed"] * 4


def test_programming_error_is_raised_unchanged() -> None:
    with pytest.raises(ZeroDivisionError):
        asked_once(RoutedModel("near", error=ZeroDivisionError()), RoutedModel("far"))


def test_error_after_first_token_is_raised() -> None:
    near, far = RoutedModel("near", error=refused("near"), error_after=2), RoutedModel("far")
    asked = asked_once(near, far)
    assert (asked.text, str(asked.error)) == ("It is ", "near: refused")
    assert far.asked_at_s == []


def test_silent_endpoint_is_hedged_and_closed() -> None:
    near, far = RoutedModel("near", first_token_s=SILENT_S), RoutedModel("far", first_token_s=0.1)

    async def scene() -> tuple[Question, float]:
        asked = await ask(router_of(near, far))
        return asked, asyncio.get_running_loop().time()

    asked, ended_s = run_virtual(scene())
    assert asked.by == "far"
    assert asked.first_token_s == pytest.approx(0.4 + 0.1)
    assert near.closed_at_s[0] - near.asked_at_s[0] == pytest.approx(asked.first_token_s)
    assert ended_s - near.asked_at_s[0] < 0.7
    assert asked.tried == [("near", "first", "overtaken"), ("far", "hedge", "answered")]
    (lost,) = [event for event in asked.events if isinstance(event, EndpointTried) and event.outcome == "overtaken"]
    assert lost.extra_tokens == prompt_tokens(HELLO) + 8
    assert lost.extra_cost == pytest.approx(prompt_tokens(HELLO) * 2e-6)


def test_progress_of_winner_has_its_own_times() -> None:
    asked = asked_once(RoutedModel("near", first_token_s=SILENT_S), RoutedModel("far", first_token_s=0.1))
    kinds = [type(event) for event in asked.events]
    begin = [AnsweringEndpoint, SlotAcquired, RequestSent, EndpointTried, EndpointTried]
    assert kinds[: len(begin)] == begin
    assert kinds[len(begin) : len(begin) + 4] == [AnsweringEndpoint, SlotAcquired, RequestSent, Token]
    *_, queued = [event for event in asked.events if isinstance(event, SlotAcquired)]
    *_, sent = [event for event in asked.events if isinstance(event, RequestSent)]
    assert queued.at_s == sent.at_s == pytest.approx(1000.0 + 0.4)
    assert sent.round_trip_s == 0.01


def test_first_endpoint_can_win_against_hedge() -> None:
    near, far = RoutedModel("near", first_token_s=0.45), RoutedModel("far", first_token_s=0.1)
    asked = asked_once(near, far)
    assert asked.by == "near"
    assert asked.tried == [("far", "hedge", "overtaken"), ("near", "first", "answered")]
    assert len(far.closed_at_s) == 1


def test_silent_endpoint_is_given_up_without_budget() -> None:
    near, far = RoutedModel("near", first_token_s=SILENT_S), RoutedModel("far")
    asked = asked_once(near, far, share=0.0)
    assert asked.by == "far"
    assert asked.first_token_s == pytest.approx(2.0 + 0.1)
    assert near.closed_at_s[0] == far.asked_at_s[0]
    assert asked.tried[0] == ("near", "first", "given up")


def test_failed_hedge_does_not_affect_first() -> None:
    near, far = RoutedModel("near", first_token_s=0.5), RoutedModel("far", error=unreachable("far"))
    router = router_of(near, far)
    asked = run_virtual(ask(router))
    assert (asked.by, asked.error) == ("near", None)
    assert router.routing.budget.hedges == 0  # the request never reached a service


def test_first_may_fail_while_hedge_is_running() -> None:
    class Late(RoutedModel):
        async def stream(self, messages: Sequence[Message], options: ChatOptions = PLAIN) -> AsyncGenerator[ChatEvent]:
            yield RequestSent(None)
            await asyncio.sleep(0.45)
            raise refused(self.name)

    asked = asked_once(Late("near"), RoutedModel("far", first_token_s=0.2))
    assert (asked.by, asked.error) == ("far", None)
    assert asked.tried == [("near", "first", "failed"), ("far", "hedge", "answered")]


def test_silence_of_all_ends_at_deadline() -> None:
    models = [RoutedModel(name, first_token_s=SILENT_S) for name in ("a", "b")]
    asked = run_virtual(ask(router_of(*models, timeout_s=3.0)))
    assert isinstance(asked.error, LlmTooSlow)
    assert "first_token_timeout_s" in str(asked.error)
    assert [len(model.closed_at_s) for model in models] == [1, 1]


def test_leaving_closes_all_requests() -> None:
    near, far = RoutedModel("near", first_token_s=SILENT_S), RoutedModel("far", first_token_s=SILENT_S)

    async def scene() -> float:
        loop = asyncio.get_running_loop()
        router = router_of(near, far)
        try:
            async with asyncio.timeout(0.6), aclosing(router.stream(HELLO)) as events:
                async for _ in events:
                    pass
        except TimeoutError:
            return loop.time()
        raise AssertionError("nobody answers")

    left_s = run_virtual(scene())
    assert near.closed_at_s == far.closed_at_s == [pytest.approx(left_s)]


def test_closing_stream_between_tokens_closes_request() -> None:
    near = RoutedModel("near", words=["word "] * 100)

    async def scene() -> float:
        loop = asyncio.get_running_loop()
        events = router_of(near, RoutedModel("far")).stream(HELLO)
        async for event in events:
            if isinstance(event, Token):
                break
        await events.aclose()
        return loop.time()

    left_s = run_virtual(scene())
    assert near.closed_at_s == [left_s]


def test_slow_closing_loser_delays_no_token() -> None:
    near = RoutedModel("near", first_token_s=SILENT_S, closes_in_s=5.0)
    asked = asked_once(near, RoutedModel("far", first_token_s=0.1))
    last_token_s = [at_s for event, at_s in zip(asked.events, asked.at_s, strict=True) if isinstance(event, Token)][-1]
    assert last_token_s == pytest.approx(0.5 + 0.04)


@pytest.mark.parametrize("cancelled", [False, True], ids=["to the end", "cancelled after the first token"])
def test_slow_closing_loser_is_cancelled_once(cancelled: bool) -> None:
    slow = RoutedModel("slow", SILENT_S, closes_in_s=1.0)
    router = router_of(slow, RoutedModel("quick"))

    async def play() -> None:
        async with asyncio.TaskGroup() as group:
            asking = group.create_task(ask(router))
            if cancelled:
                await asyncio.sleep(0.53)  # hedged after 0.4 s, closed after 0.1 more
                asking.cancel()
        assert asking.cancelled() == cancelled

    run_virtual(play())
    assert slow.closed_in_peace == 1


@in_virtual_time
async def test_error_while_closing_does_not_block() -> None:
    class Rude(RoutedModel):
        async def stream(self, messages: Sequence[Message], options: ChatOptions = PLAIN) -> AsyncGenerator[ChatEvent]:
            try:
                for _ in range(3 * MAX_QUEUED):
                    yield Token("on ")
            finally:
                raise refused(self.name)

    async with asyncio.timeout(5), aclosing(router_of(Rude("rude")).stream(HELLO)) as events:
        async for event in events:
            if isinstance(event, Token):
                await asyncio.sleep(1)  # its events fill the queue meanwhile
                break


def test_measurements_are_shared_between_conversations() -> None:
    near, far = RoutedModel("near", error=unreachable("near")), RoutedModel("far")
    router = router_of(near, far)

    async def scene() -> list[Question]:
        return [await ask(router), await ask(router)]

    _, second = run_virtual(scene())
    assert second.tried == [("far", "first", "answered")]
    assert len(near.asked_at_s) == 1


def test_only_next_endpoints_are_kept_warm() -> None:
    models = [RoutedModel(f"m{number}") for number in range(5)]
    models[0].error = unreachable("m0")
    router = router_of(*models)

    async def scene() -> None:
        await ask(router)
        for model in models:
            model.loads = 0
        await router.load()
        await router.aclose()

    run_virtual(scene())
    assert [model.loads for model in models] == [0, 1, 1, 1, 0]
    assert [model.ends for model in models] == [1] * 5


def test_detail_names_policy_and_endpoints() -> None:
    assert router_of(RoutedModel("near"), RoutedModel("far")).detail == "2 endpoints, ordered: near, far"


def test_each_endpoint_needs_a_model() -> None:
    routing = Routing((Endpoint("near"),), "ordered", HedgeBudget(0.1), lambda: 0.0)
    with pytest.raises(ValueError, match="2 models for 1 endpoints"):
        Router((RoutedModel("near"), RoutedModel("far")), routing, first_token_timeout_s=8.0)
