"""Conversations with every kind of LLM endpoint, from the configuration text to the words heard."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

import grpc
import pytest
from support.conversations import simulation
from support.conversations.real_time_conversation import scripted
from support.conversations.simulation import SimulationResult, Utterance, check_stages
from support.services import grpc_server, llm_server
from support.services.aws_server import own_environment, refusal, serving_aws
from support.services.endpoint_services import ALL_KINDS, routed, serving_kind, table_of
from support.services.llm_server import status

from assistant.config.loading import load_settings
from assistant.setup.engine_loader import EngineLoader
from assistant.turns.settings import TurnSettings

pytestmark = pytest.mark.slow

ASKS = Utterance(200, 600, "what is the tallest mountain")
TURNS = TurnSettings(hangover_ms=200)
ANSWER = ("Mount", " Everest.")


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    own_environment(monkeypatch, tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(simulation, "WORD_MS", 60)


def engine_loader(tables: str) -> EngineLoader:
    file = Path("given.toml")
    file.write_text(tables, encoding="utf-8")
    return EngineLoader(load_settings(file, {}, ()).settings, {})


async def run_turn(tables: str) -> SimulationResult:
    """Runs one turn with a model built from the configuration."""
    async with AsyncExitStack() as stack:
        model = routed(engine_loader(tables).settings, {})
        stack.push_async_callback(model.aclose)
        await model.load()
        return await scripted([ASKS], 1600, model, TURNS).run_on_loop()


def check_answer(result: SimulationResult, by: str) -> None:
    """Checks that the answer was heard, without errors and with a complete latency breakdown."""
    assert result.chunks == ["Mount Everest."]
    assert result.problems == []
    (record,) = result.records
    assert (record.outcome, record.error) == ("answered", None)
    assert record.engines["answered_by"] == by
    assert record.response_latency_ms is not None
    check_stages(record)


def requests_made(result: SimulationResult) -> list[str]:
    """Returns the trace's description of each request."""
    (record,) = result.records
    return [event.detail for event in record.events if event.name == "tried"]


async def failed_over(first: str, second: str) -> SimulationResult:
    """The first endpoint returns its service's rate-limit error; the second one answers."""
    async with AsyncExitStack() as stack:
        if first == "grpc":
            grpc_fault = grpc_server.Fail(grpc.StatusCode.UNAVAILABLE, "busy")
            url = (await stack.enter_async_context(grpc_server.serving((grpc_fault,)))).url
        elif first in {"sagemaker", "bedrock"}:
            limit = refusal(429, "ThrottlingException", message="Too many requests")
            url = (await stack.enter_async_context(serving_aws(limit))).url
        else:
            busy = status(503, {"error": "overloaded"})
            url = (await stack.enter_async_context(llm_server.serving(busy))).url
        service = await stack.enter_async_context(serving_kind(second, *ANSWER))
        url = url if first == "openai" else url.removesuffix("/v1")
        return await run_turn('[llm]\npolicy = "ordered"\n' + table_of(first, url, name="first") + service.table)


PAIRS: tuple[tuple[str, str], ...] = (
    ("openai", "bedrock"),
    ("bedrock", "tgi"),
    ("tgi", "grpc"),
    ("grpc", "sagemaker"),
    ("sagemaker", "triton"),
    ("triton", "openai"),
)


def test_every_endpoint_kind_is_audible_and_replaces_another() -> None:
    assert {second for _, second in PAIRS} == set(ALL_KINDS)

    async def all_of_them() -> list[SimulationResult]:
        async with asyncio.TaskGroup() as tasks:
            holding = [tasks.create_task(failed_over(*pair)) for pair in PAIRS]
        return [task.result() for task in holding]

    for (first, second), result in zip(PAIRS, asyncio.run(all_of_them()), strict=True):
        check_answer(result, second)
        asked = requests_made(result)
        assert ": first: " in asked[0], first
        assert "failed" in asked[0]
        assert f": {second}: " in asked[-1]
        assert "answered" in asked[-1]
