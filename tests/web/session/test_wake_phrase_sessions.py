"""A client's wake phrase: speech that is not addressed to the assistant is ignored, not shown and not kept."""

import json

import pytest
from support.conversations.session_harness import SessionHarness, run_scene

from assistant.turns.settings import InterruptedBy
from audio.units import samples_of_s

pytestmark = pytest.mark.virtual_time

PHRASE = {"wake_phrase": "hey computer"}
OVERHEARD = "we could go to the beach"


def harness_of(*transcripts: str, window_s: float = 8.0) -> SessionHarness:
    harness = SessionHarness(("It is ten o'clock.",) * 3, transcripts)
    harness.session.wake_phrase.window = samples_of_s(window_s)
    return harness


async def test_only_addressed_speech_is_answered() -> None:
    async with harness_of(OVERHEARD, "hey computer what time is it").running() as harness:
        await harness.update(repartee=PHRASE)
        await harness.speak()
        await harness.sound(2000, loud=False)
        await harness.speak(until="response.done")
    assert harness.errors == []
    assert harness.events("session.updated")[0]["session"]["repartee"]["wake_phrase"] == "hey computer"
    assert [event["why"] for event in harness.events("repartee.nothing_said")] == ["overheard"]
    transcripts = harness.events("conversation.item.input_audio_transcription.completed")
    assert [event["transcript"] for event in transcripts] == ["what time is it"]
    # Not shown, not in the history, not in a request to the language model, and not in a trace.
    assert "beach" not in json.dumps([event for _, event in harness.log])
    assert "beach" not in str(harness.session.history.items)
    assert "beach" not in str([record.to_json() for record in harness.records])
    assert all("beach" not in str(messages) for messages in harness.model.asked)
    assert harness.model.asked


async def test_phrase_is_not_needed_right_after_a_reply() -> None:
    async with harness_of("hey computer what time is it", "and in Rome").running() as harness:
        await harness.update(repartee=PHRASE)
        await harness.speak(until="response.done")
        await harness.sound(2000, loud=False)
        await harness.speak(until="response.done", count=2)
    transcripts = harness.events("conversation.item.input_audio_transcription.completed")
    assert [event["transcript"] for event in transcripts] == ["what time is it", "and in Rome"]


async def test_phrase_alone_opens_the_window() -> None:
    async with harness_of("hey computer", "what time is it").running() as harness:
        await harness.update(repartee=PHRASE)
        await harness.speak()
        await harness.sound(500, loud=False)
        await harness.speak(until="response.done")
    assert [event["why"] for event in harness.events("repartee.nothing_said")] == ["called"]
    assert len(harness.done) == 1


async def test_null_switches_the_wake_phrase_off() -> None:
    async with harness_of("what time is it").running() as harness:
        await harness.update(repartee=PHRASE)
        await harness.update(repartee={"duck": True})  # fields that are left out keep their values
        assert harness.session.wake_phrase.phrase is not None
        await harness.update(repartee={"wake_phrase": None})
        assert harness.session.wake_phrase.phrase is None
        await harness.speak(until="response.done")
    assert len(harness.done) == 1


async def test_speech_of_push_to_talk_needs_no_phrase() -> None:
    async with harness_of("what time is it").running() as harness:
        await harness.update(repartee=PHRASE, audio={"input": {"turn_detection": None}})
        await harness.sound(600, loud=True)
        await harness.send("input_audio_buffer.commit")
        await harness.send("response.create")
        await harness.until("response.done")
    assert harness.session.wake_phrase.phrase is None
    assert harness.done[0]["status"] == "completed"


def test_without_a_window_only_the_phrase_interrupts() -> None:
    async def scene(harness: SessionHarness) -> None:
        await harness.update(repartee=PHRASE)

    assert run_scene(scene, harness_of(window_s=0)).session.turns.settings.interrupted_by is InterruptedBy.WAKE_PHRASE
    assert run_scene(scene, harness_of()).session.turns.settings.interrupted_by is InterruptedBy.VOICE


@pytest.mark.parametrize("phrase", ["", "hey, computer!", "a b c d e f", "x" * 61, 3])
async def test_invalid_phrase_is_refused(phrase: object) -> None:
    async with SessionHarness().running() as harness:
        await harness.update(repartee={"wake_phrase": phrase})
    assert len(harness.errors) == 1
    assert harness.session.wake_phrase.phrase is None
