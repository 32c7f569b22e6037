"""Tools in the background for a client of the Realtime protocol: in virtual time, and once in real time."""

import asyncio
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from support.conversations.session_harness import SessionHarness, run_scene
from support.engines.scripted_tools import WEATHER, ScriptedTools
from support.servers.session_server import connected_client, real_engines, session_server
from support.services.llm_server import DONE, HEAD, LAST_CHUNK, answer, chunk, event
from support.services.llm_server import Server as LlmServer

from llm.chat import FunctionCall

CALL = FunctionCall("call_1", "home_report", "{}")
PROGRAM = Path(__file__).parents[2] / "support" / "mcp" / "mcp_program.py"


def harness(takes_s: float) -> tuple[SessionHarness, ScriptedTools]:
    tools = ScriptedTools(takes_s, functions=(replace(WEATHER, name="home_report", mode="background"),))
    answers = ((CALL,), "I will look into it.", "It is sunny.")
    return SessionHarness(answers, engines=lambda engines: replace(engines, tools=tools)), tools


def test_client_hears_the_result_in_a_response_of_its_own() -> None:
    async def scene(harness: SessionHarness) -> None:
        await harness.update(output_modalities=["text"])
        await harness.type_text("Write a report.")
        await harness.send("response.create", response={"metadata": {"mine": "yes"}})
        await harness.until("response.done", 2)
        await harness.until_idle()

    talk, tools = harness(5)
    run_scene(scene, talk)
    first, second = talk.done
    assert first["output"][0]["content"][0]["text"] == "I will look into it."
    assert second["output"][0]["content"][0]["text"] == "It is sunny."
    assert (first["metadata"], second["metadata"]) == ({"mine": "yes"}, None)
    begun_ms = talk.at_ms("response.created")
    assert begun_ms[1] - begun_ms[0] == pytest.approx(5500, abs=300)
    assert tools.returned == 1
    assert not talk.errors


def test_client_cancels_the_call() -> None:
    async def scene(harness: SessionHarness) -> None:
        await harness.update(output_modalities=["text"])
        await harness.type_text("Write a report.")
        await harness.send("response.create")
        await harness.until("response.done")
        await harness.send("response.cancel")  # cancels responses only
        await harness.send("repartee.cancel_background")
        await asyncio.sleep(10)

    talk, tools = harness(5)
    run_scene(scene, talk)
    assert talk.errors == ["response_cancel_not_active"]
    assert tools.cancelled == 1
    assert len(talk.done) == 1


@pytest.mark.slow
def test_real_server_runs_a_tool_in_the_background(tmp_path: Path) -> None:
    """The tool takes 3 s; the user is answered meanwhile."""
    call = {"index": 0, "id": "call_1", "type": "function",
            "function": {"name": "home_wait", "arguments": '{"seconds": 3}'}}  # fmt: skip
    calls = (HEAD, chunk(event(role="assistant", tool_calls=[call]) + event(finish="tool_calls") + DONE), LAST_CHUNK)
    servers = f"""tools.servers=[{{name = "home", command = "'{sys.executable}' '{PROGRAM}'", background = "wait"}}]"""

    async def test() -> None:
        llm = LlmServer([calls, answer("I am on it."), answer("Two."), answer("It has waited.")])
        listener = await asyncio.start_server(llm.handle, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}/v1"
        loop = asyncio.get_running_loop()
        try:
            async with (
                session_server(real_engines(tmp_path, url, servers, "skills.before_llm=false")) as server,
                connected_client(server) as caller,
            ):
                await caller.send("session.update", session={"type": "realtime", "output_modalities": ["text"]})
                began_s = loop.time()
                await caller.request_reply("Please wait for three seconds.")
                await caller.until("response.done")
                first_s = loop.time() - began_s
                await caller.request_reply("What is one and one?")
                await caller.until("response.done", 2)
                second_s = loop.time() - began_s
                last = await caller.until("response.done", 3)
                assert first_s < second_s < 3 < loop.time() - began_s
                assert last["response"]["output"][0]["content"][0]["text"] == "It has waited."
        finally:
            listener.close()
            await llm.hang_up()

    asyncio.run(test())
