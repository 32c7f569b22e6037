"""Answers of an MCP server are limited before they are parsed."""

import asyncio
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from assistant.config.tool_settings import ToolServerSection
from assistant.tools import ToolError
from assistant.tools.mcp_limits import MAX_BYTES, MAX_VALUES, excess
from assistant.tools.mcp_tools import McpTools

PROGRAM = Path(__file__).parent.parent.parent / "support" / "mcp" / "mcp_flood_program.py"

TOO_MUCH = {
    "million parts": "more than (4 MB|20000 values)",
    "many parts": "more than 1000 parts",
    "nested": "more than 20000 values",
    "long text": "more than (4 MB|20000 values)",
}


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
@pytest.mark.parametrize("way", ["stdio", "json", "events"])
@pytest.mark.parametrize("kind", list(TOO_MUCH))
def test_result_beyond_the_limits_is_an_error_naming_them(way: str, kind: str, port: int) -> None:
    before_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    (refused, after), _ = asyncio.run(called(section(way, port), kind, "few"))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kb < 100_000
    assert refused.startswith("refused: the tool server far returned more than ")
    assert refused.endswith("which is not read; ask for less")
    assert after == "x"  # the connection was kept


@pytest.mark.slow
@pytest.mark.real_time
@pytest.mark.parametrize("way", ["stdio", "json", "events"])
def test_huge_results_do_not_block_the_event_loop(way: str, port: int) -> None:
    _, worst_s = asyncio.run(called(section(way, port), *TOO_MUCH))
    assert worst_s < 0.25


@pytest.mark.slow
@pytest.mark.parametrize("way", ["stdio", "json", "events"])
def test_large_picture_is_accepted(way: str, port: int) -> None:
    assert asyncio.run(called(section(way, port), "picture"))[0] == ["[image]"]


@pytest.mark.slow
def test_compressed_result_is_refused(port: int) -> None:
    (refused, after), _ = asyncio.run(called(section("gzip", port), "few", "few"))
    assert "returned a compressed answer (Content-Encoding: gzip, gzip), which is not read" in refused
    assert after == refused


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"x" * MAX_BYTES, ""),
        (b"x" * (MAX_BYTES + 1), "more than 4 MB"),
        (b"," * MAX_VALUES, ""),
        (b"," * (MAX_VALUES + 1), "more than 20000 values"),
        (b"[" * 10_000 + b"{" * 10_001, "more than 20000 values"),
    ],
    ids=["largest", "too large", "most values", "too many values", "too deep"],
)
def test_message_limits_are_checked(data: bytes, said: str) -> None:
    assert excess(data) == said
