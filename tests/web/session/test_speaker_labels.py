"""Labels of speakers, from the pipeline to the client, the prompt and the trace."""

import asyncio

import pytest
from support.conversations.session_harness import TRANSCRIBED, SessionHarness

pytestmark = pytest.mark.virtual_time


async def spoken_by(harness: SessionHarness, *speakers: str) -> None:
    """Speaks one turn for each speaker, and hears its reply."""
    harness.session.history.speaker_of = lambda turn: speakers[turn - 1]
    for turn in range(1, len(speakers) + 1):
        await harness.speak(until="response.done", count=turn)
        await asyncio.sleep(5)


async def test_labels_reach_client_model_and_trace() -> None:
    async with SessionHarness(transcripts=("hello", "hello too", "goodbye")).running() as harness:
        await spoken_by(harness, "S1", "ann", "S1")
    labels = [{"speaker": "S1"}, {"speaker": "ann"}, {"speaker": "S1"}]
    assert [event["repartee"] for event in harness.events(TRANSCRIBED)] == labels
    added = [event["item"] for event in harness.events("conversation.item.added")]
    assert [item["repartee"] for item in added if item["role"] == "user"] == labels
    assert [message.speaker for message in harness.model.asked[-1] if message.role == "user"] == ["", "ann", "S1"]
    assert [record.speaker for record in harness.records] == ["S1", "ann", "S1"]


async def test_record_without_words_has_no_name() -> None:
    harness = SessionHarness(transcripts=("hello", "hello too"))
    harness.session.recorder.keep_words = False
    async with harness.running():
        await spoken_by(harness, "Ottilie", "S2")
    assert [record.speaker for record in harness.records] == ["enrolled", "S2"]
    assert "Ottilie" not in "".join(record.to_json() for record in harness.records)


async def test_unknown_speakers_are_absent() -> None:
    async with SessionHarness().running() as harness:
        await spoken_by(harness, "")
    assert all("repartee" not in event for event in harness.events(TRANSCRIBED))
    assert '"speaker"' not in harness.records[0].to_json()
