"""Looking for servers while the engines load: nothing waits for it, and nothing is left of it."""

import asyncio
import time
from io import StringIO

import pytest
from llm_server import Wait, serving, status
from rich.console import Console
from stopwatch import Stopwatch

from assistant.commands.llm_endpoints.local_search import beside, with_llm_choice
from assistant.config.loading import load_settings

MODELS = {"object": "list", "data": [{"id": "m", "owned_by": "vllm"}]}


def port_of(url: str) -> int:
    return int(url.removesuffix("/v1").rpartition(":")[2])


def test_what_is_found_meanwhile_is_there_afterwards() -> None:
    async def run() -> None:
        async with serving() as server:
            server.models = status(200, MODELS)
            async with beside([port_of(server.url)], wanted=True) as found:
                assert found == []
                async with asyncio.timeout(20):
                    await server.quiet.wait()
            assert [seen.name for seen in found] == ["vLLM"]

    asyncio.run(run())


def test_nobody_waits_for_a_slow_one() -> None:
    async def run() -> None:
        async with serving() as server:
            server.models = (Wait(30),)
            watch = Stopwatch()
            async with beside([port_of(server.url)], wanted=True) as found:
                await asyncio.sleep(0.05)
            assert watch.undisturbed_s < 0.3
            assert found == []
            async with asyncio.timeout(10):
                await server.quiet.wait()

    asyncio.run(run())


def test_one_that_hangs_hides_no_other_and_a_busy_loop_no_server_at_all() -> None:
    async def run() -> None:
        async with serving() as hangs, serving() as server:
            hangs.models, server.models = (Wait(30),), status(200, MODELS)
            async with beside([port_of(hangs.url), port_of(server.url)], wanted=True) as found:
                await asyncio.sleep(0)
                time.sleep(0.5)  # noqa: ASYNC251 - an engine that is being loaded
                async with asyncio.timeout(20):
                    await server.quiet.wait()
            assert [seen.url for seen in found] == [server.url]

    asyncio.run(run())


def test_nobody_is_asked_unless_wanted() -> None:
    async def run() -> None:
        async with serving() as server:
            async with beside([port_of(server.url)], wanted=False) as found:
                await asyncio.sleep(0.05)
            assert (found, server.connections) == ([], 0)

    asyncio.run(run())


def test_what_fails_meanwhile_fails_as_it_is() -> None:
    async def run() -> None:
        async with serving() as server:
            server.models = (Wait(30),)
            async with beside([port_of(server.url)], wanted=True):
                raise KeyError("engine")

    with pytest.raises(KeyError, match="engine"):
        asyncio.run(run())


def test_a_run_that_is_asked_not_to_use_its_endpoints_says_so() -> None:
    loaded = load_settings(None, {}, ['llm.endpoints=[{name="far", url="http://127.0.0.1:9/v1", model="m"}]'])
    console = Console(file=StringIO(), width=200)
    asked = asyncio.run(with_llm_choice(loaded, "skills", console, ports=()))
    assert asked.settings.llm.endpoints == ()
    assert console.file.getvalue() == "no language model, as asked: skills answer\n"  # type: ignore[attr-defined]
    assert asyncio.run(with_llm_choice(loaded, None, console, ports=())).settings == loaded.settings
