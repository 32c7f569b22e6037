"""A turn whose transcript would come too late, because other conversations come first. In virtual time."""

import pytest
from support.conversations.session_harness import SessionHarness

from assistant.pipeline.reply_source import RECOGNIZER_BUSY

pytestmark = [pytest.mark.virtual_time, pytest.mark.leaves_no_tasks]


async def test_refused_turn_is_told_aloud_and_shown() -> None:
    harness = SessionHarness()
    harness.recognizer.refused = 1
    async with harness.running():
        await harness.speak(until="response.done")
        await harness.pause(6000)
        await harness.speak(until="response.done", count=2)
        await harness.pause(6000)
    spoken = [response["output"][0]["content"][0]["transcript"] for response in harness.done]
    assert spoken == [RECOGNIZER_BUSY, "It is ten o'clock. Anything else?"]
    shown = [event["text"] for event in harness.events("repartee.notice")]
    assert shown == [
        "not answered, because 12 other conversations come first: ask again in a moment",
        "too many conversations waited for speech recognition",  # reported by the reply
    ]
    assert [record.outcome for record in harness.records] == ["failed", "answered"]
