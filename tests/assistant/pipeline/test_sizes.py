"""Conversations with a small and a large model, and summaries of old turns, in virtual time."""

import logging
from collections.abc import Sequence
from itertools import pairwise

import pytest
from support.conversations.simulation import ScriptedModel, Simulation, SimulationResult, Utterance
from support.engines.scripted_tools import CallingModel, ScriptedTools, calls, looked_up

from assistant.history.items import AssistantMessage
from assistant.turns.settings import RecheckThresholds, TurnSettings
from llm.chat import ChatModel, Message
from llm.errors import LlmUnreachable
from llm.routing.endpoint_selection import Endpoint, Routing
from llm.routing.hedging import HedgeBudget
from llm.routing.router import Router
from llm.routing.sized_answer import SizeRules

EASY = "what is the capital of france"
HARD = "compare renting and buying a house if i move every three years"
EVERY_MS = 6000
DOWN = LlmUnreachable("far", "refuses connections", spoken="It is gone.", retryable=True)


def router_of(near: ChatModel, far: ChatModel, rules: SizeRules | None = None) -> Router:
    routing = Routing(
        [Endpoint("near", size="small"), Endpoint("far", size="large")], "latency", HedgeBudget(0.1), lambda: 0.5
    )
    return Router([near, far], routing, first_token_timeout_s=8.0, sizes=rules)


def simulation_of(*said: str, near: ScriptedModel, far: ScriptedModel) -> Simulation:
    utterances = [Utterance(turn * EVERY_MS + 200, turn * EVERY_MS + 1400, words) for turn, words in enumerate(said)]
    simulation = Simulation(
        utterances, EVERY_MS * len(said), turns=TurnSettings(hangover_ms=300, speculate_after_ms=40)
    )
    simulation.model = router_of(near, far)  # type: ignore[assignment]
    return simulation


def small(*replies: str) -> ScriptedModel:
    return ScriptedModel(replies or ("Paris.",), first_token_ms=100, name="near")


def large(*replies: str | LlmUnreachable) -> ScriptedModel:
    return ScriptedModel(replies or ("Rent it.",), first_token_ms=500, name="far")


def details(result: SimulationResult, name: str) -> list[str]:
    return [event.detail for record in result.records for event in record.events if event.name == name]


def by(result: SimulationResult) -> list[str]:
    return [record.engines["answered_by"] for record in result.records]


def test_each_turn_is_answered_by_the_size_of_its_words() -> None:
    result = simulation_of(EASY, HARD, near=small(), far=large()).run()
    assert by(result) == ["near", "far"]
    assert result.chunks == ["Paris.", "Rent it."]
    sizes = [detail.partition(": ")[2].partition(" points: ")[0] for detail in details(result, "size")]
    assert sizes == ["small, -1", "large, 3"]
    assert result.problems == []


def test_small_model_is_cancelled_when_the_final_words_are_hard() -> None:
    near, far = small("It is hard to say, as it depends on many things."), large()
    simulation = simulation_of("what is better for me renting or buying a house", near=near, far=far)
    simulation.recognizer.early_missing_words = 7
    simulation.turns = TurnSettings(hangover_ms=400, speculate_after_ms=40, rechecks=RecheckThresholds(settle_ms=160.0))
    result = simulation.run()
    assert by(result) == ["far"]
    assert [messages[-1].content for messages in near.asked] == ["what is better"]
    assert near.cancelled == 1
    assert result.chunks == ["Rent it."]
    (record,) = result.records
    assert record.response_latency_ms is not None
    assert record.response_latency_ms < 160 + 500 + 100  # the large one is asked when the words have settled


def test_large_model_asked_in_the_silence_answers_without_delay_after_it() -> None:
    (record,) = simulation_of(HARD, near=small(), far=large()).run().records
    assert record.response_latency_ms is not None
    assert record.response_latency_ms < 700  # 500 ms to the first token, most of it beside the wait of 300 ms


def test_refusal_is_never_heard_if_the_large_model_knows() -> None:
    result = simulation_of(EASY, near=small("I'm sorry, but I don't know that."), far=large("It is Paris.")).run()
    assert by(result) == ["far"]
    assert result.chunks == ["It is Paris."]
    assert set(details(result, "escalated")) == {"attempt 1: near declines"}
    assert any("near: first, escalated after" in detail and "in vain" in detail for detail in details(result, "tried"))
    (answer,) = [item.text for item in result.history.items if isinstance(item, AssistantMessage)]
    assert answer == "It is Paris."


def test_refusal_is_heard_if_no_large_model_answers(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        result = simulation_of(EASY, near=small("I don't know that."), far=large(DOWN)).run()
    assert by(result) == ["near"]
    assert result.chunks == ["I don't know that."]
    assert details(result, "escalated")[-1] == (
        "attempt 1: near declines, no large endpoint answers, so its words are used"
    )
    assert result.problems == []
    assert any("no large llm endpoint answers" in record.getMessage() for record in caplog.records)


def test_other_size_is_traced() -> None:
    result = simulation_of(HARD, near=small("Buy it."), far=large(DOWN)).run()
    assert by(result) == ["near"]
    assert details(result, "other_size") == ["attempt 1: near answers, because no large endpoint can"]


def test_large_model_keeps_the_reply_after_its_tool_calls() -> None:
    near = CallingModel((), rule=lambda _messages, _options: "I don't know that.", name="near")
    far = CallingModel(
        (), rule=lambda messages, _options: "It is sunny." if looked_up(messages) else calls(), name="far"
    )
    simulation = simulation_of("how is the weather today", near=near, far=far)
    simulation.tools = ScriptedTools()
    result = simulation.run()
    assert result.chunks == ["It is sunny."]
    assert len(far.asked) == 2 * len(near.asked) or len(far.asked) == len(near.asked) + 1


def test_bridge_is_part_of_the_reply_and_of_the_history() -> None:
    near, far = small("It depends on how long you stay in one place. Or so."), large("If you stay long, buy.")
    simulation = simulation_of(HARD, near=near, far=far)
    simulation.model = router_of(near, far, SizeRules(bridge=True))  # type: ignore[assignment]
    result = simulation.run()
    assert result.chunks == ["It depends on how long you stay in one place.", "If you stay long, buy."]
    (answer,) = [item.text for item in result.history.items if isinstance(item, AssistantMessage)]
    assert answer == "It depends on how long you stay in one place. If you stay long, buy."
    assert details(result, "escalated") == ["attempt 1: near says the first sentence"]
    (record,) = result.records
    assert record.response_latency_ms is not None
    assert record.response_latency_ms < 450


# ---- the prompt ----


def starts_with(messages: Sequence[Message], beginning: Sequence[Message]) -> bool:
    return tuple(messages[: len(beginning)]) == tuple(beginning)


def long_conversation(
    turns: int, summarizer: ScriptedModel | None
) -> tuple[SimulationResult, list[tuple[Message, ...]]]:
    utterances = [
        Utterance(turn * 3000 + 200, turn * 3000 + 800, f"what comes after number {turn}") for turn in range(turns)
    ]
    simulation = Simulation(utterances, turns * 3000, ("It is the next one.",), TurnSettings(hangover_ms=300))
    simulation.summarizer = summarizer
    result = simulation.run()
    asked: dict[str, tuple[Message, ...]] = {}
    for messages in simulation.model.asked:  # the last request of each turn
        asked[messages[-1].content] = messages
    return result, list(asked.values())


def test_request_of_each_turn_begins_with_that_of_the_turn_before() -> None:
    result, asked = long_conversation(10, None)
    assert len(asked) == len(result.records) == 10
    assert all(starts_with(after, before) for before, after in pairwise(asked))


def test_old_turns_are_summarized_beside_the_conversation() -> None:
    summarizer = ScriptedModel(["They count."], first_token_ms=300)
    result, asked = long_conversation(24, summarizer)
    assert result.problems == []
    assert len(result.records) == 24
    summed = [any("They count." in message.content for message in messages) for messages in asked]
    assert summed.index(True) > 12
    assert all(summed[summed.index(True) :])
    breaks = [at for at, (before, after) in enumerate(pairwise(asked), 1) if not starts_with(after, before)]
    replaced = details(result, "summarized")
    assert len(breaks) == len(replaced) == len(summarizer.asked)
    assert len(breaks) >= 2
    latencies = [record.response_latency_ms for record in result.records if record.response_latency_ms is not None]
    assert max(latencies) - min(latencies) < 50


def test_slow_summary_is_cancelled_by_the_next_reply() -> None:
    summarizer = ScriptedModel([None])
    result, _ = long_conversation(18, summarizer)
    assert result.problems == []
    assert len(summarizer.asked) > 1
    assert summarizer.cancelled == len(summarizer.asked)


def test_failing_summary_is_logged_and_given_up(caplog: pytest.LogCaptureFixture) -> None:
    summarizer = ScriptedModel([DOWN])
    with caplog.at_level(logging.WARNING):
        result, asked = long_conversation(24, summarizer)
    assert result.problems == []
    assert len(asked) == 24
    logged = [record.getMessage() for record in caplog.records if "not summarized" in record.getMessage()]
    assert len(logged) == len(summarizer.asked) == 3
    assert logged[-1].endswith("it is not tried again in this conversation")
