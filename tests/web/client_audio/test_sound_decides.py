"""Turns of `server_vad` with a silence of its own: sound alone begins and ends them, in virtual time.

The scripted detector opens and closes with the sound, so that events are due within one frame.
"""

from collections.abc import Sequence
from typing import Any

import pytest
from support.conversations.session_harness import TRANSCRIBED, SessionHarness

from assistant.history.items import UserMessage

pytestmark = pytest.mark.virtual_time

STARTED = "input_audio_buffer.speech_started"
STOPPED = "input_audio_buffer.speech_stopped"
COMMITTED = "input_audio_buffer.committed"
ADDED = "conversation.item.added"
FAILED = "conversation.item.input_audio_transcription.failed"
NEVER_MS = 1e9
FRAME_MS = 20


async def detect(harness: SessionHarness, silence_ms: int = 500, kind: str = "realtime", **detection: Any) -> None:
    fixed = {"type": "server_vad", "silence_duration_ms": silence_ms, **detection}
    await harness.send("session.update", session={"type": kind, "audio": {"input": {"turn_detection": fixed}}})


async def talk(harness: SessionHarness, spans_ms: Sequence[tuple[int, int]]) -> None:
    """Speaks and pauses; each span is the length of the speech and of the silence after it."""
    for speech_ms, pause_ms in spans_ms:
        await harness.sound(speech_ms, loud=True)
        await harness.sound(pause_ms, loud=False)


def turns_of(harness: SessionHarness) -> list[list[str]]:
    """Returns the kinds of the events of each spoken item, in order."""
    kinds: dict[str, list[str]] = {}
    for _, event in harness.log:
        item = event.get("item_id") or event.get("item", {}).get("id")
        if event["type"].startswith(("input_audio_buffer.", "conversation.item.")) and item is not None:
            kinds.setdefault(item, []).append(event["type"].rpartition(".")[2])
    return [of_item for of_item in kinds.values() if of_item[0] == "speech_started"]


@pytest.mark.parametrize("silence_ms", [200, 300, 500, 800, 1200])
@pytest.mark.parametrize("delay_ms", [10.0, 2000.0, NEVER_MS], ids=["fast", "slow", "dead"])
async def test_turn_ends_after_fixed_silence_whatever_the_recognizer_does(silence_ms: int, delay_ms: float) -> None:
    harness = SessionHarness()
    harness.recognizer.delay_ms = delay_ms
    async with harness.running():
        await detect(harness, silence_ms)
        await talk(harness, [(600, silence_ms + 200)])
    (end_ms,) = [event["audio_end_ms"] for event in harness.events(STOPPED)]
    assert end_ms == pytest.approx(600, abs=FRAME_MS)
    assert harness.at_ms(STOPPED)[0] - end_ms == pytest.approx(silence_ms, abs=2 * FRAME_MS)
    assert harness.at_ms(COMMITTED) == harness.at_ms(STOPPED) == harness.at_ms(ADDED)[:1]


@pytest.mark.parametrize("kind", ["realtime", "transcription"])
@pytest.mark.parametrize("interrupts", [True, False], ids=["interrupts", "does not interrupt"])
@pytest.mark.parametrize("answers", [True, False], ids=["answered", "not answered"])
async def test_dead_recognizer_delays_no_turn_after_the_first(kind: str, answers: bool, interrupts: bool) -> None:
    harness = SessionHarness()
    harness.recognizer.delay_ms = NEVER_MS
    async with harness.running():
        await detect(harness, 300, kind, create_response=answers, interrupt_response=interrupts)
        await harness.sound(1000, loud=False)
        await talk(harness, [(400, 600)] * 5)
    assert harness.at_ms(STARTED) == pytest.approx([1000 * turn for turn in range(1, 6)], abs=8 * FRAME_MS)
    assert harness.at_ms(STOPPED) == pytest.approx([1000 * turn + 700 for turn in range(1, 6)], abs=2 * FRAME_MS)
    assert [event["audio_end_ms"] for event in harness.events(STOPPED)] == pytest.approx(
        [1000 * turn + 400 for turn in range(1, 6)], abs=FRAME_MS
    )
    assert harness.at_ms(COMMITTED) == harness.at_ms(STOPPED)
    order = ["speech_started", "speech_stopped", "committed", "added", "done"]
    assert [kinds[:5] for kinds in turns_of(harness)] == [order] * 5


async def test_late_transcripts_follow_in_the_order_of_their_items() -> None:
    harness = SessionHarness(transcripts=("one apple", "two pears", "three plums"))
    harness.recognizer.delay_ms = 2000.0
    async with harness.running():
        await detect(harness, 300, create_response=False)
        await harness.sound(1000, loud=False)
        await talk(harness, [(400, 600)] * 3)
        await harness.sound(6000, loud=False)
    items = [event["item_id"] for event in harness.events(COMMITTED)]
    told = [(event["item_id"], event["transcript"]) for event in harness.events(TRANSCRIBED)]
    assert told == list(zip(items, ("one apple", "two pears", "three plums"), strict=True))
    texts = [item.text for item in harness.session.history.items if isinstance(item, UserMessage)]
    assert texts == ["one apple", "two pears", "three plums"]


async def test_lost_transcript_fails_after_its_item_and_an_apology_answers() -> None:
    harness = SessionHarness()
    harness.recognizer.delay_ms = NEVER_MS
    async with harness.running():
        await detect(harness, 300)
        await talk(harness, [(600, 500)])
        for _ in range(100):
            await harness.sound(200, loud=False)
            if harness.done:
                break
    kinds = harness.kinds
    assert kinds.index(COMMITTED) < kinds.index(FAILED) < kinds.index("response.created")
    assert [event["item_id"] for event in harness.events(FAILED)] == [harness.events(COMMITTED)[0]["item_id"]]
