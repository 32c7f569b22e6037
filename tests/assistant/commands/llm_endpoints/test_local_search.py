"""Searching for servers while the engines load: it causes no delay, and no task remains."""

import asyncio
import time
from io import StringIO

import pytest
from rich.console import Console
from support.clocks.stopwatch import Stopwatch
from support.services.llm_server import Wait, serving, status

from assistant.commands.llm_endpoints.local_search import beside, with_llm_choice
from assistant.config.loading import load_settings

MODELS = {"object": "list", "data": [{"id": "m", "owned_by": "vllm"}]}


def port_of(url: str) -> int:
    return int(url.removesuffix("/v1").rpartition(":")[2])


async def test_servers_found_during_the_block_are_returned() -> None:
    async with serving() as server:
        server.models = status(200, MODELS)
        async with beside([port_of(server.url)], enabled=True) as found:
            assert found == []
            async with asyncio.timeout(20):
                await server.quiet.wait()
        assert [seen.name for seen in found] == ["vLLM"]


async def test_slow_server_does_not_delay_end_of_search() -> None:
    async with serving() as server:
        server.models = (Wait(30),)
        watch = Stopwatch()
        async with beside([port_of(server.url)], enabled=True) as found:
            await asyncio.sleep(0.05)
        assert watch.undisturbed_s < 0.3
        assert found == []
        async with asyncio.timeout(10):
            await server.quiet.wait()


async def test_hanging_server_or_busy_loop_hides_no_other_server() -> None:
    async with serving() as hangs, serving() as server:
        hangs.models, server.models = (Wait(30),), status(200, MODELS)
        async with beside([port_of(hangs.url), port_of(server.url)], enabled=True) as found:
            await asyncio.sleep(0)
            time.sleep(0.5)  # noqa: ASYNC251 - an engine that is being loaded
            async with asyncio.timeout(20):
                await server.quiet.wait()
        assert [seen.url for seen in found] == [server.url]


async def test_nothing_is_searched_unless_wanted() -> None:
    async with serving() as server:
        async with beside([port_of(server.url)], enabled=False) as found:
            await asyncio.sleep(0.05)
        assert (found, server.connections) == ([], 0)


def test_error_in_the_block_is_raised_unchanged() -> None:
    async def run() -> None:
        async with serving() as server:
            server.models = (Wait(30),)
            async with beside([port_of(server.url)], enabled=True):
                raise KeyError("engine")

    with pytest.raises(KeyError, match="engine"):
        asyncio.run(run())


def test_run_without_its_configured_endpoints_reports_it() -> None:
    loaded = load_settings(None, {}, ['llm.endpoints=[{name="far", url="http://127.0.0.1:9/v1", model="m"}]'])
    console = Console(file=StringIO(), width=200)
    asked = asyncio.run(with_llm_choice(loaded, "skills", console, ports=()))
    assert asked.settings.llm.endpoints == ()
    assert console.file.getvalue() == "no language model, as requested: the built-in skills answer\n"  # type: ignore[attr-defined]
    assert asyncio.run(with_llm_choice(loaded, None, console, ports=())).settings == loaded.settings
