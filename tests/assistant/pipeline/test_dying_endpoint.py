"""Ten turns with three LLM endpoints, the fastest of which fails in the middle."""

import random
from statistics import median

import pytest
from support.conversations.simulation import ScriptedModel, Simulation, SimulationResult, Utterance

from assistant.turns.settings import TurnSettings
from llm.errors import LlmUnreachable
from llm.routing.endpoint_selection import Endpoint, Routing
from llm.routing.hedging import HedgeBudget
from llm.routing.router import Router

pytestmark = pytest.mark.slow

TURNS = 10
EVERY_MS = 3500
ANSWER = "Mount Everest is the tallest. It stands in Asia."
FIRST_TOKENS_MS = (100.0, 150.0, 200.0)
REFUSED = LlmUnreachable("near", "refuses connections", spoken="", retryable=True)


def run_turns(gone: LlmUnreachable | None, *, dies_in_turn: int = 5) -> tuple[SimulationResult, list[ScriptedModel]]:
    """`gone`: error of the fastest endpoint from then on; None: it never answers."""
    utterances = [
        Utterance(number * EVERY_MS + 200, number * EVERY_MS + 900, "how tall is it") for number in range(TURNS)
    ]
    simulation = Simulation(utterances, length_ms=TURNS * EVERY_MS, turns=TurnSettings(hangover_ms=240))
    models = [
        ScriptedModel([ANSWER], first_token_ms=ms, name=f"e{number}") for number, ms in enumerate(FIRST_TOKENS_MS)
    ]
    endpoints = [Endpoint(model.name) for model in models]
    routing = Routing(endpoints, "latency", HedgeBudget(0.1), random.Random(1).random)
    simulation.model = Router(models, routing, first_token_timeout_s=8.0)  # type: ignore[assignment]

    def die() -> None:
        models[0].replies = [gone]

    simulation.at((dies_in_turn - 1) * EVERY_MS, die)
    return simulation.run(), models


@pytest.mark.parametrize("gone", [REFUSED, None], ids=["refuses", "silent"])
def test_dying_endpoint_loses_no_turn_and_doubles_no_latency(gone: LlmUnreachable | None) -> None:
    result, models = run_turns(gone)
    assert [record.outcome for record in result.records] == ["answered"] * TURNS
    assert result.problems == []
    latencies_ms = [record.response_latency_ms for record in result.records]
    known_ms = [ms for ms in latencies_ms if ms is not None]
    assert len(known_ms) == TURNS
    assert max(known_ms) <= 2 * median(known_ms)
    by = [record.engines["answered_by"] for record in result.records]
    assert by[:4] == ["e0"] * 4
    assert by[4:] == ["e1"] * 6
    assert len(models[0].asked) >= 5  # it was tried in the turn in which it died
