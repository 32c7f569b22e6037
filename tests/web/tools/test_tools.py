"""Whole conversations with tool calls: a real MCP server, the real server and the real demo."""

import asyncio
import io
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from support.engines.scripted_engines import script_recognizer
from support.servers.session_server import WHAT_TIME, connected_client, real_engines, session_server
from support.services.llm_server import answer, calling, serving

from assistant.commands.demo import demo
from assistant.config.loading import load_settings
from assistant.history.untrusted_results import as_data
from assistant.tools.timers.timer_tools import FUNCTIONS as TIMER_FUNCTIONS

pytestmark = pytest.mark.slow

PROGRAM = Path(__file__).parents[2] / "support" / "mcp" / "mcp_program.py"
SERVERS = f"""tools.servers=[{{name = "home", command = "'{sys.executable}' '{PROGRAM}'", only = "weather wait"}}]"""


async def test_client_hears_the_tool_result(tmp_path: Path) -> None:
    async with (
        serving(calling("home_weather", '{"place": "Rome"}'), answer("It is sunny in Rome.")) as llm,
        session_server(real_engines(tmp_path, llm.url, SERVERS, "skills.before_llm=false")) as server,
        connected_client(server) as caller,
    ):
        await caller.request_reply("What is the weather in Rome?")
        done = await caller.until("response.done")
        assert done["response"]["status"] == "completed"
        (item,) = done["response"]["output"]  # the client does not see the call
        assert item["content"][0]["transcript"] == "It is sunny in Rome."
        assert caller.sound_ms > 500

        first, second = (json.loads(post.body) for post in llm.posts)
        names = [tool["function"]["name"] for tool in first["tools"]]
        assert names == ["home_wait", "home_weather", *(function.name for function in TIMER_FUNCTIONS)]
        assert second["tools"] == first["tools"]
        assert second["messages"][: len(first["messages"])] == first["messages"]
        assert second["messages"][-1] == {
            "role": "tool",
            "tool_call_id": "call_1",
            "content": as_data("home", "In Rome it is sunny."),
        }


def test_recording_with_slow_tool_has_correct_latency(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tool takes two seconds: the user is asked to wait, and the latency is that of the reply."""
    screen = io.StringIO()
    script_recognizer(monkeypatch, "what time is it")

    async def test() -> list[dict[str, Any]]:
        async with serving(calling("home_wait", '{"seconds": 2}'), answer("It has waited.")) as llm:
            endpoint = f'llm.endpoints=[{{name = "near", url = "{llm.url}", model = "m"}}]'
            overrides = [f"trace.dir={tmp_path}", "tts.engine=espeak-ng", endpoint, SERVERS]
            loaded = load_settings(Path(os.devnull), {}, [*overrides, "skills.before_llm=false"])
            await demo(WHAT_TIME, tmp_path, loaded, os.environ, Console(file=screen, width=200), verbose=True)
        return [json.loads(line) for line in (tmp_path / "trace.jsonl").read_text().splitlines()]

    (record,) = asyncio.run(test())
    assert "2 tools: home (2)" in screen.getvalue()
    assert record["outcome"] == "answered"
    names = [found["name"] for found in record["events"]]
    assert names.count("tool") == names.count("moment") == 1
    assert sum(stage["ms"] for stage in record["stages"].values()) == pytest.approx(
        record["response_latency_ms"], abs=0.1
    )
    assert record["response_latency_ms"] > 2000
    assert record["stages"]["queue"]["ms"] > 1900
