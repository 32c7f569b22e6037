"""Conversations with an answer cache: what is stored, what is given again, and how soon it is heard."""

from collections.abc import Sequence

from support.conversations.simulation import ScriptedModel, Simulation, SimulationResult, Utterance
from support.engines.cache_parts import MemoryStore, inline_cache

from assistant.turns.settings import TurnSettings
from llm.cache.answer_cache import PROBLEM
from llm.cache.cached_chat import CachedChat

FRANCE = "What is the capital of France"
AGAIN = "Tell me the capital of France"
ANSWER = "The capital of France is Paris."
EVERY_MS = 8000


def utterances_of(words: Sequence[str]) -> list[Utterance]:
    return [Utterance(turn * EVERY_MS + 200, turn * EVERY_MS + 1200, text) for turn, text in enumerate(words)]


def run_conversation(
    *words: str,
    store: MemoryStore | None = None,
    first_token_ms: float = 600.0,
    more: Sequence[Utterance] = (),
    answer: str = ANSWER,
) -> tuple[SimulationResult, ScriptedModel, MemoryStore]:
    simulation = Simulation(
        sorted([*utterances_of(words), *more], key=lambda one: one.start_ms),
        length_ms=len(words) * EVERY_MS,
        turns=TurnSettings(hangover_ms=240),
    )
    store = store or MemoryStore()
    model = ScriptedModel([answer], first_token_ms=first_token_ms, name="near")
    chat = CachedChat(model, inline_cache(store), "near m")
    simulation.model = chat  # type: ignore[assignment]
    simulation.on_answer_heard = chat.heard
    return simulation.run(), model, store


def test_second_asking_is_answered_from_the_cache() -> None:
    result, model, store = run_conversation(FRANCE, AGAIN)
    assert len(model.asked) == 1
    assert result.chunks == [ANSWER, ANSWER]
    assert [record.engines["answered_by"] for record in result.records] == ["near", "cache"]
    events = [[event.detail for event in record.events if event.name == "cache"] for record in result.records]
    assert events[0] == ["attempt 1: miss"]
    assert events[1][-1].startswith("attempt 1: similar: 0.")
    assert [entry.hits for entry in store.kept] == [1]
    assert result.problems == []


def test_stored_answer_is_ready_within_50_ms_of_the_transcript() -> None:
    result, _, _ = run_conversation(FRANCE, FRANCE)
    first, second = result.records
    spans = {span.name: span for span in second.spans if not span.dropped}
    assert spans["tts"].end_ms - spans["stt"].end_ms <= 50
    assert first.response_latency_ms is not None
    assert second.response_latency_ms is not None
    assert second.response_latency_ms < first.response_latency_ms
    assert second.answers[-1].by == "cache"


def test_stored_answer_holds_in_a_later_conversation() -> None:
    _, _, store = run_conversation(FRANCE)
    result, model, _ = run_conversation(AGAIN, store=store)
    assert model.asked == []
    assert result.chunks == [ANSWER]


def test_interrupted_reply_is_not_stored() -> None:
    result, _, store = run_conversation(
        FRANCE, more=[Utterance(3900, 4700, "stop it please")], answer=" ".join([ANSWER] * 4)
    )
    assert "interrupted" in [record.outcome for record in result.records]
    assert FRANCE not in [entry.request for entry in store.kept]


def test_retracted_reply_is_not_stored() -> None:
    """The user goes on before a word of the reply was heard: only the answer to the complete request is stored."""
    result, _, store = run_conversation(FRANCE, first_token_ms=20, more=[Utterance(1560, 2160, "and its largest city")])
    assert any(event.name == "retracted" for event in result.records[0].events)
    assert [entry.request for entry in store.kept] == [f"{FRANCE} and its largest city"]


def test_request_with_context_is_asked() -> None:
    result, model, _ = run_conversation(FRANCE, "how many people live there", "i am a child", FRANCE)
    assert len(model.asked) == 4
    details = [event.detail for record in result.records for event in record.events if event.name == "cache"]
    assert "attempt 1: excluded: refers back" in details
    assert details[-1] == "attempt 1: excluded: conversation has context"


def test_failing_store_is_shown_once_and_the_model_answers() -> None:
    store = MemoryStore(fails=True)
    words = [FRANCE, AGAIN, FRANCE, AGAIN, FRANCE, AGAIN, FRANCE]
    result, model, _ = run_conversation(*words, store=store)
    assert len(model.asked) == len(words)
    assert result.problems == [PROBLEM]
    outcomes = [event.detail for record in result.records for event in record.events if event.name == "cache"]
    assert outcomes.count("attempt 1: paused") >= 3
    assert all(record.error is None for record in result.records)
