"""Answers of an MCP server are limited before they are parsed."""

import asyncio
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.texts.text_cases import named_cases

from assistant.config.tool_settings import ToolServerSection
from assistant.tools import ToolError
from assistant.tools.mcp_limits import MAX_BYTES, MAX_VALUES, excess
from assistant.tools.mcp_tools import McpTools

PROGRAM = Path(__file__).parent.parent.parent / "support" / "mcp" / "mcp_flood_program.py"

TOO_MUCH = ("million parts", "many parts", "nested", "long text")


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with subprocess.Popen([sys.executable, str(PROGRAM), "http"], stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        yield int(server.stdout.readline())
        server.kill()


def section(way: str, port: int) -> ToolServerSection:
    if way == "stdio":
        return ToolServerSection(name="far", command=f"'{sys.executable}' '{PROGRAM}'")
    return ToolServerSection(name="far", url=f"http://127.0.0.1:{port}/{way}")


async def called(section: ToolServerSection, *kinds: str) -> tuple[list[str], float]:
    """Returns the result of each call, and the longest time that the event loop was blocked."""
    tools = McpTools([section], {})
    await tools.load()
    assert tools.functions, tools.troubles
    worst_s = 0.0

    async def watch() -> None:
        nonlocal worst_s
        loop = asyncio.get_running_loop()
        while True:
            before_s = loop.time()
            await asyncio.sleep(0.005)
            worst_s = max(worst_s, loop.time() - before_s - 0.005)

    said = []
    try:
        async with asyncio.timeout(100), asyncio.TaskGroup() as group:
            watching = group.create_task(watch())
            for kind in kinds:
                try:
                    said.append(await tools.call("far_flood", f'{{"kind": "{kind}"}}'))
                except ToolError as error:
                    said.append(f"refused: {error}")
            watching.cancel()
        assert tools.troubles == []
    finally:
        await tools.aclose()
    return said, worst_s


@pytest.mark.slow
@pytest.mark.real_time
@pytest.mark.parametrize("way", ["stdio", "json", "events"])
def test_results_beyond_the_limits_are_errors_that_block_nothing(way: str, port: int) -> None:
    before_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    kinds = [kind for too_much in TOO_MUCH for kind in (too_much, "few")]
    results, blocked_s = asyncio.run(called(section(way, port), *kinds, "picture"))
    for refused, after in zip(results[0:-1:2], results[1:-1:2], strict=True):
        assert refused.startswith("refused: the tool server far returned more than ")
        assert refused.endswith("which is not read; ask for less")
        assert after == "x"  # the connection was kept
    assert results[-1] == "[image]"
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kb < 100_000
    assert blocked_s < 0.25


@pytest.mark.slow
def test_compressed_result_is_refused(port: int) -> None:
    (refused, after), _ = asyncio.run(called(section("gzip", port), "few", "few"))
    assert "returned a compressed answer (Content-Encoding: gzip, gzip), which is not read" in refused
    assert after == refused


@named_cases(
    ("data", "said"),
    {
        "largest": (b"x" * MAX_BYTES, ""),
        "too large": (b"x" * (MAX_BYTES + 1), "more than 4 MB"),
        "most values": (b"," * MAX_VALUES, ""),
        "too many values": (b"," * (MAX_VALUES + 1), "more than 20000 values"),
        "too deep": (b"[" * 10_000 + b"{" * 10_001, "more than 20000 values"),
    },
)
def test_message_limits_are_checked(data: bytes, said: str) -> None:
    assert excess(data) == said
