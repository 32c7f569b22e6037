"""Small and large models behind one router: choice, escalation and fallback. On virtual time."""

import asyncio
import logging
from collections.abc import Sequence

import pytest
from support.clocks.virtual_time import run_virtual
from support.engines.routed_models import SILENT_S, Question, RoutedModel, ask
from support.texts.text_cases import named_cases

from llm.chat import (
    AnsweringEndpoint,
    ChatOptions,
    EndpointTried,
    Escalated,
    Finished,
    Function,
    FunctionCall,
    Message,
    OtherSizeAnswers,
    RequestSent,
    Size,
    SizeChosen,
    SlotAcquired,
    Token,
)
from llm.errors import LlmBroken, LlmUnreachable
from llm.routing.endpoint_selection import Endpoint, Routing
from llm.routing.hedging import HedgeBudget
from llm.routing.router import Router
from llm.routing.sized_answer import BRIDGE_S, GO_ON, SizeRules

EASY = (Message("user", "what is the capital of france"),)
HARD = (Message("user", "compare renting and buying a house if i move every three years"),)
DOWN = LlmUnreachable("it", "nobody there", spoken="Nobody there.", retryable=True)
REFUSAL = ("I'm", " sorry,", " but", " I", " don't", " know.")


def escalations(question: Question) -> list[Escalated]:
    return [event for event in question.events if isinstance(event, Escalated)]


def small(**given: object) -> RoutedModel:
    return RoutedModel("near", **({"words": ("It", " is", " Paris.")} | given))  # type: ignore[arg-type]


def large(**given: object) -> RoutedModel:
    return RoutedModel("far", 0.5, **({"words": ("Buy", " it.")} | given))  # type: ignore[arg-type]


def router_of(
    *models: RoutedModel, sizes: Sequence[Size | None] = ("small", "large"), rules: SizeRules | None = None
) -> Router:
    endpoints = [
        Endpoint(model.name, price_in_per_million=1.0, size=size) for model, size in zip(models, sizes, strict=True)
    ]
    routing = Routing(endpoints, "latency", HedgeBudget(0.1), lambda: 0.5)
    return Router(models, routing, first_token_timeout_s=8.0, sizes=rules)


def asked(messages: Sequence[Message], *models: RoutedModel, rules: SizeRules | None = None) -> Question:
    return run_virtual(ask(router_of(*models, rules=rules), messages))


# ---- choice ----


def test_easy_request_is_answered_by_small_model_without_delay() -> None:
    result = asked(EASY, small(), large())
    assert (result.by, result.text, result.error) == ("near", "It is Paris.", None)
    assert result.first_token_s == pytest.approx(0.1)
    assert result.tried == [("near", "first", "answered")]
    assert [type(event) for event in result.events] == [
        SizeChosen, AnsweringEndpoint, SlotAcquired, RequestSent, EndpointTried, Token, Token, Token, Finished,
    ]  # fmt: skip


def test_hard_request_goes_to_large_model_at_once() -> None:
    near, far = small(), large()
    result = asked(HARD, near, far)
    assert (result.by, result.text) == ("far", "Buy it.")
    assert result.first_token_s == pytest.approx(0.5)
    assert near.options == []
    (chosen,) = [event for event in result.events if isinstance(event, SizeChosen)]
    assert chosen.size == "large"
    assert "comparison +2" in chosen.why


def test_endpoints_without_sizes_are_routed_as_before() -> None:
    near, far = small(words=REFUSAL), large()
    result = run_virtual(ask(router_of(near, far, sizes=(None, None)), HARD))
    assert (result.by, result.text) == ("near", "I'm sorry, but I don't know.")
    assert not [event for event in result.events if isinstance(event, SizeChosen | Escalated)]


def test_endpoint_without_size_answers_either_size() -> None:
    models = (RoutedModel("any", 0.1), large())
    assert run_virtual(ask(router_of(*models, sizes=(None, "large")), EASY)).by == "any"


def test_options_can_name_the_size() -> None:
    near = small(words=REFUSAL)
    result = run_virtual(ask(router_of(near, large()), HARD, ChatOptions(size="small")))
    assert result.by == "near"
    assert escalations(result) == []  # the caller has chosen


def test_size_is_told_once_in_a_reply_with_tool_calls() -> None:
    called = FunctionCall("1", "look", "{}")
    after = (*EASY, Message("assistant", "", (called,)), Message("tool", "sunny", call_id="1"))
    assert not [event for event in asked(after, small(), large()).events if isinstance(event, SizeChosen)]


# ---- fallback to the other size ----


@pytest.mark.parametrize(("messages", "wanted", "by"), [(EASY, "small", "far"), (HARD, "large", "near")])
def test_other_size_answers_if_wanted_one_fails(
    messages: Sequence[Message], wanted: Size, by: str, caplog: pytest.LogCaptureFixture
) -> None:
    down = {"words": (), "error": DOWN}
    near, far = (small(**down), large()) if wanted == "small" else (small(), large(**down))

    async def three_questions() -> list[Question]:
        router = router_of(near, far)
        return [await ask(router, messages) for _ in range(3)]

    with caplog.at_level(logging.WARNING):
        results = run_virtual(three_questions())
    assert [result.by for result in results] == [by] * 3
    for result in results:
        assert [event for event in result.events if isinstance(event, OtherSizeAnswers)] == [
            OtherSizeAnswers(by, wanted)
        ]
    assert [record.getMessage() for record in caplog.records] == [
        f"no {wanted} llm endpoint can answer, so {by!r} does"  # once
    ]


def test_recovered_size_is_reported(caplog: pytest.LogCaptureFixture) -> None:
    far = large(words=(), error=DOWN)

    async def down_and_up() -> Question:
        router = router_of(small(), far)
        await ask(router, HARD)
        far.words, far.error = ("Buy.",), None
        await asyncio.sleep(60)
        return await ask(router, HARD)

    with caplog.at_level(logging.WARNING):
        assert run_virtual(down_and_up()).by == "far"
    assert caplog.records[-1].getMessage() == "a large llm endpoint answers again: 'far'"


def test_late_large_model_is_not_hedged_with_small_one() -> None:
    near, far = small(), large()

    async def slow_one() -> Question:
        router = router_of(near, far)
        for _ in range(30):
            await ask(router, HARD)
        far.first_token_s = 1.2
        return await ask(router, HARD)

    assert run_virtual(slow_one()).by == "far"
    assert near.options == []


def test_silent_large_model_is_replaced_by_small_one() -> None:
    result = asked(HARD, small(), RoutedModel("far", SILENT_S))
    assert result.by == "near"
    assert result.first_token_s < 3.0


# ---- escalation ----


def test_refusal_of_small_model_is_answered_by_large_one() -> None:
    near, far = small(words=[*REFUSAL, *[" Really."] * 80]), large()
    result = asked(EASY, near, far)
    assert (result.by, result.text) == ("far", "Buy it.")
    assert escalations(result) == [Escalated("declines")]
    assert sorted(result.tried) == [("far", "escalation", "answered"), ("near", "first", "escalated")]
    (wasted,) = [event for event in result.events if isinstance(event, EndpointTried) and event.extra_tokens]
    assert wasted.extra_cost > 0
    assert len(near.closed_at_s) == 1  # when the large model answered
    assert result.first_token_s == pytest.approx(0.1 + 5 * 0.02 + 0.5, abs=0.03)


def test_unsure_small_model_is_followed_by_large_one() -> None:
    near, far = small(words=("It", " may", " be", " Lyon."), probability=0.4), large()
    result = asked(EASY, near, far, rules=SizeRules(min_probability=0.6))
    assert (result.by, result.text) == ("far", "Buy it.")
    assert escalations(result) == [Escalated("is unsure (mean probability 0.40)")]
    assert near.options[0].probabilities
    assert not far.options[0].probabilities


def test_sure_small_model_answers() -> None:
    result = asked(EASY, small(probability=0.9), large(), rules=SizeRules(min_probability=0.6))
    assert (result.by, result.text) == ("near", "It is Paris.")


def test_large_model_that_declines_too_is_heard() -> None:
    result = asked(EASY, small(words=REFUSAL), large(words=REFUSAL))
    assert (result.by, result.text) == ("far", "I'm sorry, but I don't know.")
    assert len(escalations(result)) == 1


@pytest.mark.parametrize("spoils_s", [0.0, 30.0])
def test_words_of_small_model_are_used_if_no_large_one_answers(
    spoils_s: float, caplog: pytest.LogCaptureFixture
) -> None:
    near, far = small(words=(*REFUSAL, " Ask", " me", " later.")), large(words=(), error=DOWN)
    if spoils_s:
        far = RoutedModel("far", spoils_s)
    with caplog.at_level(logging.WARNING):
        result = asked(EASY, near, far)
    assert (result.by, result.text, result.error) == ("near", "I'm sorry, but I don't know. Ask me later.", None)
    assert [event.failed for event in escalations(result)] == [False, True]
    assert "(it declines)" in caplog.records[-1].getMessage()
    assert len(near.options) == 1  # asked once


def test_large_model_with_open_breaker_is_not_asked() -> None:
    near, far = small(words=REFUSAL), large(words=(), error=DOWN)

    async def twice() -> Question:
        router = router_of(near, far)
        await ask(router, EASY)
        return await ask(router, EASY)

    result = run_virtual(twice())
    assert result.text == "I'm sorry, but I don't know."
    assert escalations(result) == [Escalated("declines", failed=True)]
    assert len(far.options) == 1


def test_escalation_can_be_turned_off() -> None:
    result = asked(EASY, small(words=REFUSAL), large(), rules=SizeRules(escalate=False))
    assert result.text == "I'm sorry, but I don't know."


def test_function_call_is_no_refusal() -> None:
    result = asked(EASY, small(words=(), call=FunctionCall("1", "look", "{}")), large())
    assert result.by == "near"
    assert [event.name for event in result.events if isinstance(event, FunctionCall)] == ["look"]


def test_small_answer_that_breaks_off_while_held_is_passed_on() -> None:
    broken = LlmBroken("near", "broke off", spoken="It broke off.", retryable=True)
    result = asked(EASY, small(words=("I'm", " sorry"), error=broken, error_after=2), large())
    assert (result.text, result.error) == ("I'm sorry", broken)


def test_large_answer_that_breaks_off_is_an_error() -> None:
    broken = LlmBroken("far", "broke off", spoken="It broke off.", retryable=True)
    result = asked(EASY, small(words=REFUSAL), large(error=broken, error_after=2))
    assert (result.text, result.error) == ("Buy it.", broken)


def test_consumer_that_leaves_closes_both_models() -> None:
    near, far = small(words=REFUSAL), large()

    async def leave() -> None:
        stream = router_of(near, far).stream(EASY)
        async for event in stream:
            if isinstance(event, Escalated):
                break
        await anext(stream)
        await stream.aclose()

    run_virtual(leave())
    assert len(near.closed_at_s) == 1
    assert len(far.closed_at_s) <= 1


# ---- bridge ----

BRIDGE = SizeRules(bridge=True)
WORDY = ("It", " depends.", " Firstly,", *[" really"] * 60, ".")


def test_small_model_says_the_first_sentence_of_the_large_one() -> None:
    near, far = small(words=WORDY), large(words=("If", " you", " stay", " long,", " buy."))
    result = asked(HARD, near, far, rules=BRIDGE)
    assert result.text == "It depends.\n\nIf you stay long, buy."
    assert result.by == "far"
    assert result.first_token_s < 0.2
    assert escalations(result) == [Escalated("says the first sentence")]
    assert far.asked == [(*HARD, Message("assistant", "It depends."), GO_ON)]
    assert len(near.closed_at_s) == 1
    assert sorted(result.tried) == [("far", "escalation", "answered"), ("near", "first", "answered")]


def test_answer_of_one_sentence_is_a_bridge() -> None:
    result = asked(HARD, small(words=("It", " depends.")), large(), rules=BRIDGE)
    assert result.text == "It depends.\n\nBuy it."


@named_cases(
    "near",
    {
        "declines": small(words=REFUSAL),
        "down": small(words=(), error=DOWN),
        "slow": small(words=WORDY, first_token_s=2.0),
        "endless sentence": small(words=["word"] * 80),
        "function call": small(words=(), call=FunctionCall("1", "look", "{}")),
        "breaks off": small(words=("It",), error=DOWN, error_after=1),
    },
)
def test_large_model_answers_alone_if_there_is_no_first_sentence(near: RoutedModel) -> None:
    result = asked(HARD, near, large(), rules=BRIDGE)
    assert (result.by, result.text, result.error) == ("far", "Buy it.", None)
    assert escalations(result) == []
    assert result.first_token_s <= BRIDGE_S + 0.51


def test_small_model_goes_on_if_the_large_one_fails_after_the_bridge() -> None:
    near = small(words=("It", " depends.", " Ask", " me", " later."))
    result = asked(HARD, near, large(words=(), error=DOWN), rules=BRIDGE)
    assert (result.by, result.text, result.error) == ("near", "It depends.\n\nAsk me later.", None)
    assert [event.failed for event in escalations(result)] == [False, True]


def test_easy_request_and_one_with_functions_have_no_bridge() -> None:
    assert asked(EASY, small(), large(), rules=BRIDGE).by == "near"
    options = ChatOptions(functions=(Function("look", "", "{}"),))
    result = run_virtual(ask(router_of(small(words=WORDY), large(), rules=BRIDGE), HARD, options))
    assert (result.text, escalations(result)) == ("Buy it.", [])
