"""Tools in the background for a client of the Realtime protocol."""

import asyncio
from dataclasses import replace

import pytest
from support.conversations.session_harness import SessionHarness
from support.engines.scripted_tools import WEATHER, ScriptedTools

from llm.chat import FunctionCall

CALL = FunctionCall("call_1", "home_report", "{}")


def harness_with_tool(takes_s: float) -> tuple[SessionHarness, ScriptedTools]:
    tools = ScriptedTools(takes_s, functions=(replace(WEATHER, name="home_report", mode="background"),))
    answers = ((CALL,), "I will look into it.", "It is sunny.")
    return SessionHarness(answers, engines=lambda engines: replace(engines, tools=tools)), tools


@pytest.mark.virtual_time
async def test_client_hears_the_result_in_a_response_of_its_own() -> None:
    harness, tools = harness_with_tool(5)
    async with harness.running():
        await harness.update(output_modalities=["text"])
        await harness.type_text("Write a report.")
        await harness.send("response.create", response={"metadata": {"mine": "yes"}})
        await harness.until("response.done", 2)
        await harness.until_idle()
    first, second = harness.done
    assert first["output"][0]["content"][0]["text"] == "I will look into it."
    assert second["output"][0]["content"][0]["text"] == "It is sunny."
    assert (first["metadata"], second["metadata"]) == ({"mine": "yes"}, None)
    begun_ms = harness.at_ms("response.created")
    assert begun_ms[1] - begun_ms[0] == pytest.approx(5500, abs=300)
    assert tools.returned == 1
    assert not harness.errors


@pytest.mark.virtual_time
async def test_client_cancels_the_call() -> None:
    harness, tools = harness_with_tool(5)
    async with harness.running():
        await harness.update(output_modalities=["text"])
        await harness.ask("Write a report.")
        await harness.send("response.cancel")  # cancels responses only
        await harness.send("repartee.cancel_background")
        await asyncio.sleep(10)
    assert harness.errors == ["response_cancel_not_active"]
    assert tools.cancelled == 1
    assert len(harness.done) == 1
